// Sorting: against std::stable_sort, NaN, ties, edge cases, errors, threads.
#include "tandem/autograd/ops/reduce/sort.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/tests/ops/op_testing.h"

using namespace tandem;
using namespace tandem::testing;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The stable order of x with NaN last (first if descending).
std::vector<int64_t> order_of(const std::vector<double>& x, bool descending) {
  std::vector<int64_t> order(x.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    const double a = x[static_cast<std::size_t>(descending ? j : i)],
                 b = x[static_cast<std::size_t>(descending ? i : j)];
    return a < b || (std::isnan(b) && !std::isnan(a));
  });
  return order;
}

// Few distinct values, to produce ties, including NaN and both zeros if the type has them.
Tensor mixed(int64_t rows, int64_t n, ScalarType type) {
  Tensor x = make_inputs({.cases = {{integers({rows, n}, type == kByte ? 0 : -40, 40)}}}, 0, kDouble)[0].to(kDouble);
  if (is_floating_point(type))
    for (int64_t i = 0; i < x.numel(); i += 7) x.data_ptr<double>()[i] = i % 2 == 0 ? kNan : -0.0;
  return x.to(type);
}

}  // namespace

TEST_CASE("sort, topk, kthvalue match std::stable_sort") {
  for (ScalarType type : {kFloat, kDouble, kByte, kChar, kShort, kInt, kLong, kBool})
    for (int64_t n : {1, 2, 9, 100, 511, 512, 3000})
      for (bool descending : {false, true})
        for (bool columns : {false, true}) {
          const Tensor x = mixed(3, n, type), laid = columns ? x.transpose(0, 1) : x;
          const int64_t dim = columns ? 0 : 1;
          const auto rows = [&](const Tensor& t) { return (columns ? t.transpose(0, 1) : t).to(kDouble).contiguous(); };
          const auto [values, indices] = sort(laid, dim, descending);
          const int64_t k = std::min<int64_t>(n, 5);
          const Tensor top = rows(std::get<1>(topk(laid, k, dim, descending)));
          const Tensor v = rows(values), at = rows(indices), in = x.to(kDouble);
          for (int64_t r = 0; r < 3; ++r) {
            const double* row = in.data_ptr<double>() + r * n;
            const auto order = order_of({row, row + n}, descending);
            for (int64_t i = 0; i < n; ++i) {
              REQUIRE(at.data_ptr<double>()[r * n + i] == static_cast<double>(order[static_cast<std::size_t>(i)]));
              const double wanted = row[order[static_cast<std::size_t>(i)]], got = v.data_ptr<double>()[r * n + i];
              REQUIRE((got == wanted || (std::isnan(got) && std::isnan(wanted))));
              if (i < k)
                REQUIRE(top.data_ptr<double>()[r * k + i] == static_cast<double>(order[static_cast<std::size_t>(i)]));
            }
            if (!descending)
              REQUIRE(rows(std::get<1>(kthvalue(laid, (n + 1) / 2, dim, true))).data_ptr<double>()[r] ==
                      static_cast<double>(order[static_cast<std::size_t>((n + 1) / 2 - 1)]));
          }
        }
}

TEST_CASE("median: the lower one; NaN if any element is NaN") {
  const Tensor x = arange(4, kDouble);
  CHECK(median(x).item<double>() == 1);
  CHECK(median(arange(5, kInt)).item<int64_t>() == 2);
  Tensor y = arange(5, kDouble);
  y.data_ptr<double>()[3] = kNan;
  CHECK(std::isnan(median(y).item<double>()));
  const Tensor nothing = empty({0}, TensorOptions(kDouble).requires_grad(true));
  median(nothing).backward();
  CHECK(nothing.grad().numel() == 0);
  CHECK(std::get<1>(median(y, 0)).item<int64_t>() == 3);
  CHECK(std::isnan(median(empty({0}, kDouble)).item<double>()));
}

TEST_CASE("bincount") {
  const Tensor counts = bincount(arange(4, kInt).remainder(3), {}, 5);
  CHECK(counts.sizes() == IntArrayRef{5});
  CHECK(counts.data_ptr<int64_t>()[0] == 2);
  CHECK(counts.data_ptr<int64_t>()[4] == 0);
  CHECK(bincount(arange(3, kLong), full({3}, 0.5, kDouble)).data_ptr<double>()[2] == 0.5);
  CHECK(bincount(empty({0}, kLong), {}, 2).numel() == 2);
  CHECK_THROWS_WITH_AS(bincount(arange(-1, 2, kLong)), doctest::Contains("negative"), Error);
}

TEST_CASE("edge cases, errors, threads") {
  CHECK(std::get<0>(sort(empty({0, 3}), 0)).sizes() == IntArrayRef{0, 3});
  CHECK(std::get<0>(sort(full({}, 2, kFloat), 0)).item<float>() == 2);
  CHECK(std::get<0>(topk(ones({3}), 0)).numel() == 0);
  CHECK(argsort(arange(3, kInt), 0, true).data_ptr<int64_t>()[0] == 2);
  CHECK_THROWS_WITH_AS(topk(ones({3}), 4), doctest::Contains("topk: k = 4 is out of range for dimension 0 of [3]"),
                       Error);
  CHECK_THROWS_WITH_AS(kthvalue(ones({3}), 0), doctest::Contains("kthvalue: k = 0"), Error);
  CHECK_THROWS_AS(sort(ones({3}), 1), IndexError);
  const Tensor x = make_inputs({.cases = {{constant({60, 700})}}}, 0, kFloat)[0];
  same_bits_on_any_threads([&] {
    const auto [values, indices] = sort(x, 1);
    return Tensors{values, indices, std::get<1>(topk(x, 9, 0)), std::get<1>(median(x, 0))};
  });
}

TEST_CASE("topk of a 0-dim tensor is the tensor itself, whatever k") {
  const auto [value, index] = topk(full({}, 3), 0);
  CHECK(value.item<int64_t>() == 3);
  CHECK(index.item<int64_t>() == 0);
}

TEST_CASE("bincount sums weights as float32 or float64") {
  CHECK((bincount(zeros({2}, kLong), ones({2})).dtype() == kFloat));
  CHECK((bincount(zeros({2}, kLong), ones({2}, kInt)).dtype() == kDouble));
  CHECK(bincount(zeros({2}, kLong), ones({2}, kBool))[0].item<double>() == 2);
}
