// Compares the first row of a batch with the same row alone, for every description that computes its rows apart: values
// and gradients have the same bits.
#include <cstdio>

#include "tandem/tests/ops/cases.h"

namespace tandem::testing {
namespace {

// Which inputs have a row for each of the batch.
using Rows = std::vector<bool>;

// The first row, and behind it others: the same numbers in another order, so that they are in the domain, too.
Tensor batch_of(const Tensor& x, int64_t size) {
  const Tensor row = x.detach().narrow(0, 0, 1);
  Tensors rows{row};
  for (int64_t i = 1; i < size; ++i) {
    const Tensor other = x.detach().narrow(0, i % x.size(0), 1);
    rows.push_back(i % 2 == 0 || x.dim() < 2 ? other : other.flip(-1));
  }
  return cat(rows).requires_grad_(x.requires_grad());
}

struct Result {
  Tensors outputs, gradients;  // gradients of the inputs with rows
};

Result computed(const OpTest& test, const Tensors& inputs, const Rows& rows, int64_t size) {
  Tensors given, wanted;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    given.push_back(rows[i] ? batch_of(inputs[i], size) : inputs[i]);
    if (rows[i] && given[i].requires_grad()) wanted.push_back(given[i]);
  }
  manual_seed(1);
  Result result{.outputs = test.fn(given)};
  if (!test.first_order || wanted.empty()) return result;
  Tensor loss;
  for (const Tensor& out : result.outputs)
    if (out.requires_grad()) {
      const Tensor part = (out * out.detach().to(kDouble).cos().to(out.dtype())).sum();
      loss = loss.defined() ? loss + part : part;
    }
  if (loss.defined()) result.gradients = autograd::grad({loss}, wanted, {}, nullopt, false, /*allow_unused=*/true);
  return result;
}

// The order of the products follows the sizes of the matrices.
bool follows_sizes(const std::string& name) { return name == "linalg_multi_dot" || name == "chain_matmul"; }

enum class Found { kApart, kTogether, kDiffers };

// kTogether: the rows of the batch are not results for its rows. Numbers that are close are meant to be the same.
Found compare(const Tensors& alone, const Tensors& among, int64_t size, std::string& why) {
  Found found = alone.empty() || alone.size() != among.size() ? Found::kTogether : Found::kApart;
  for (std::size_t i = 0; i < alone.size() && found != Found::kTogether; ++i) {
    const Tensor &one = alone[i], &all = among[i];
    if (one.defined() != all.defined()) return Found::kTogether;
    if (!one.defined()) continue;
    if (one.dim() < 1 || all.dim() != one.dim() || one.size(0) != 1 || all.size(0) != size) return Found::kTogether;
    const Tensor row = all.narrow(0, 0, 1).contiguous();
    if (row.sizes() != one.sizes()) return Found::kTogether;
    const double tolerance = isReducedFloatingType(one.scalar_type()) ? 0.05 : 1e-4;
    if (one.is_complex() ? !row.allclose(one, tolerance, tolerance, true) : !close(row, one, tolerance))
      return Found::kTogether;
    if (identical(row, one.contiguous())) continue;
    why = concat("output ", i, " of ", one);
    found = Found::kDiffers;
  }
  return found;
}

Found check_batch(const OpTest& test, const Tensors& inputs, const Rows& rows, int64_t size, std::string& why) {
  try {
    const Result alone = computed(test, inputs, rows, 1), among = computed(test, inputs, rows, size);
    const Found values = compare(alone.outputs, among.outputs, size, why);
    if (values != Found::kApart || alone.gradients.empty()) return values;
    const Found gradients = compare(alone.gradients, among.gradients, size, why);
    if (gradients == Found::kDiffers) why = "gradient: " + why;
    return gradients;
  } catch (const Error&) {  // the shapes do not fit
    return Found::kTogether;
  }
}

// The ways in which the inputs may form a batch: the first alone, or all that have as many rows.
std::vector<Rows> ways(const Tensors& inputs) {
  Rows first(inputs.size(), false), all = first;
  if (inputs.empty() || inputs[0].dim() < 1 || inputs[0].size(0) < 1) return {};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    all[i] = inputs[i].dim() > 0 && inputs[i].size(0) == inputs[0].size(0);
  first[0] = true;
  return first == all ? std::vector<Rows>{all} : std::vector<Rows>{first, all};
}

}  // namespace

int check_batches() {
  int apart = 0, failed = 0, others = 0;
  for (const OpTest& test : all_cases()) {
    if (follows_sizes(test.name)) continue;
    Found worst = Found::kTogether;
    for (std::size_t k = 0; k < test.cases.size(); ++k)
      for (const ScalarType type : {kFloat, kDouble, kBFloat16, kHalf}) {
        if (isReducedFloatingType(type) && test.half_units == 0) continue;
        const Tensors inputs = make_inputs(test, k, type);
        for (const Rows& rows : ways(inputs))
          for (const int64_t size : {2, 3, 7, 64}) {
            std::string why;
            const Found found = check_batch(test, inputs, rows, size, why);
            if (found == Found::kTogether) break;
            if (worst != Found::kDiffers) worst = found;
            if (found == Found::kDiffers)
              std::printf("FAILED %s/%zu/%s: a row among %d differs: %s\n", test.name.c_str(), k, name(type),
                          static_cast<int>(size), why.c_str());
          }
      }
    (worst == Found::kApart ? apart : worst == Found::kDiffers ? failed : others) += 1;
  }
  constexpr int kLeast = 650;  // one that computes wrong rows would count among the others
  if (apart < kLeast) std::printf("FAILED: only %d operations compute rows apart, expected %d\n", apart, kLeast);
  failed += apart < kLeast;
  std::printf("%d operations do not compute rows apart\n%d passed, %d failed\n", others, apart, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace tandem::testing
