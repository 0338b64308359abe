// einsum: contracts operands pairwise from left to right, each pair as one bmm of [batch, left, summed] x
// [batch, summed, right]. Differentiable through the operations it is composed of.
#include "tandem/autograd/ops/linalg/einsum.h"

#include <algorithm>
#include <vector>

#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/view/view.h"

namespace tandem {
namespace {

// Letters are 0 … 51; dimension k from the end of "..." is kEllipsis + k.
constexpr int kEllipsis = 52;
using Labels = std::vector<int>;

struct Operand {
  Tensor t;
  Labels labels;
};

bool holds(const Labels& labels, int label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }

int letter(char c, std::string_view equation) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  check(c >= 'a' && c <= 'z', "einsum: bad character '", c, "' in \"", equation, "\"");
  return 26 + c - 'a';
}

// Parses the labels of one term; "..." becomes `dots` dimensions.
Labels parse_term(std::string_view term, int64_t dots, bool& has_dots, std::string_view equation) {
  Labels labels;
  has_dots = false;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term[i] == ' ') continue;
    if (term[i] != '.') {
      labels.push_back(letter(term[i], equation));
      continue;
    }
    check(!has_dots && term.substr(i, 3) == "...", "einsum: bad '.' in \"", equation, "\"");
    has_dots = true;
    for (int64_t k = dots; k-- > 0;) labels.push_back(kEllipsis + static_cast<int>(k));
    i += 2;
  }
  return labels;
}

// Replaces dimensions with repeated labels by their diagonal.
void take_diagonals(Operand& x, std::string_view equation) {
  for (std::size_t i = 0; i < x.labels.size(); ++i) {
    for (std::size_t j = i + 1; j < x.labels.size();) {
      if (x.labels[j] != x.labels[i]) {
        ++j;
        continue;
      }
      const auto a = static_cast<int64_t>(i), b = static_cast<int64_t>(j);
      check(x.t.size(a) == x.t.size(b), "einsum: a repeated letter has sizes ", x.t.size(a), " and ", x.t.size(b),
            " in one operand ", x.t, " of \"", equation, "\"");
      x.t = x.t.diagonal(0, a, b).movedim(-1, a);
      x.labels.erase(x.labels.begin() + b);
    }
  }
}

Operand parse_operand(const Tensor& t, std::string_view term, std::string_view equation) {
  bool has_dots = false;
  const auto named = static_cast<int64_t>(parse_term(term, 0, has_dots, equation).size());
  check(has_dots ? t.dim() >= named : t.dim() == named, "einsum: \"", term, "\" names ", named,
        " dimensions, but the operand is ", t);
  Operand x{t, parse_term(term, t.dim() - named, has_dots, equation)};
  take_diagonals(x, equation);
  return x;
}

// Sums over the dimensions with labels that are no longer needed.
void sum_unneeded(Operand& x, const Labels& needed) {
  Dims dims;
  Labels kept;
  for (std::size_t d = 0; d < x.labels.size(); ++d) {
    if (holds(needed, x.labels[d]))
      kept.push_back(x.labels[d]);
    else
      dims.push_back(static_cast<int64_t>(d));
  }
  if (!dims.empty()) x.t = x.t.sum(dims);
  x.labels = kept;
}

// x with its dimensions permuted to the order of `labels`.
Tensor arranged(const Operand& x, const Labels& labels) {
  Dims order;
  for (int label : labels) order.push_back(std::find(x.labels.begin(), x.labels.end(), label) - x.labels.begin());
  return x.t.permute(order);
}

struct Group {
  Labels labels;
  Dims sizes;
  void add(int label, int64_t size) {
    labels.push_back(label);
    sizes.push_back(size);
  }
};

// The operand as [batch, second, third], with size-1 dimensions expanded to the sizes of the groups.
Tensor as_matrices(const Operand& x, const Group& batch, const Group& second, const Group& third) {
  Labels order;
  Dims sizes;
  for (const Group* g : {&batch, &second, &third}) {
    order.insert(order.end(), g->labels.begin(), g->labels.end());
    for (int64_t size : g->sizes) sizes.push_back(size);
  }
  return arranged(x, order).expand(sizes).reshape(
      {checked_numel(batch.sizes), checked_numel(second.sizes), checked_numel(third.sizes)});
}

Operand contract(const Operand& a, const Operand& b, const Labels& needed, std::string_view equation) {
  Group batch, left, right, summed;
  for (std::size_t d = 0; d < a.labels.size(); ++d) {
    const int label = a.labels[d];
    const int64_t size = a.t.size(static_cast<int64_t>(d));
    const auto at = std::find(b.labels.begin(), b.labels.end(), label) - b.labels.begin();
    if (at == static_cast<std::ptrdiff_t>(b.labels.size())) {
      left.add(label, size);
      continue;
    }
    const int64_t other = b.t.size(at);
    check(size == other || size == 1 || other == 1, "einsum: sizes ", size, " and ", other,
          " of the same letter differ in \"", equation, "\"\n  ", a.t, "\n  ", b.t);
    (holds(needed, label) ? batch : summed).add(label, size == 1 ? other : size);
  }
  for (std::size_t d = 0; d < b.labels.size(); ++d)
    if (!holds(a.labels, b.labels[d])) right.add(b.labels[d], b.t.size(static_cast<int64_t>(d)));
  const Tensor product = bmm(as_matrices(a, batch, left, summed), as_matrices(b, batch, summed, right));
  Operand out;
  Dims sizes;
  for (const Group* g : {&batch, &left, &right}) {
    out.labels.insert(out.labels.end(), g->labels.begin(), g->labels.end());
    for (int64_t size : g->sizes) sizes.push_back(size);
  }
  out.t = product.view(sizes);
  return out;
}

// The output labels when the equation does not give them.
Labels implied_output(const std::vector<Operand>& operands) {
  int count[kEllipsis + kMaxDims] = {};
  for (const Operand& x : operands)
    for (int label : x.labels) ++count[label];
  Labels out;
  for (int k = kMaxDims; k-- > 0;)
    if (count[kEllipsis + k] > 0) out.push_back(kEllipsis + k);
  for (int label = 0; label < kEllipsis; ++label)
    if (count[label] == 1) out.push_back(label);
  return out;
}

std::vector<std::string_view> terms_of(std::string_view inputs) {
  std::vector<std::string_view> terms;
  for (std::size_t at = 0;;) {
    const std::size_t comma = inputs.find(',', at);
    terms.push_back(inputs.substr(at, comma == std::string_view::npos ? comma : comma - at));
    if (comma == std::string_view::npos) return terms;
    at = comma + 1;
  }
}

Labels parse_output(std::string_view term, const std::vector<Operand>& operands, std::string_view equation) {
  int dots = 0;
  for (const Operand& x : operands)
    for (int label : x.labels) dots = std::max(dots, label - kEllipsis + 1);
  bool has_dots = false;
  const Labels out = parse_term(term, dots, has_dots, equation);
  for (std::size_t i = 0; i < out.size(); ++i) {
    check(std::count(out.begin(), out.end(), out[i]) == 1, "einsum: a letter occurs twice in the output of \"",
          equation, "\"");
    check(std::any_of(operands.begin(), operands.end(), [&](const Operand& x) { return holds(x.labels, out[i]); }),
          "einsum: the output of \"", equation, "\" has a letter that is in no operand");
  }
  return out;
}

}  // namespace

Tensor einsum(std::string_view equation, TensorList operands) {
  const std::size_t arrow = equation.find("->");
  const auto terms = terms_of(equation.substr(0, arrow));
  check(!operands.empty() && terms.size() == operands.size(), "einsum: \"", equation, "\" names ", terms.size(),
        " operands, got ", operands.size());
  std::vector<Operand> given;
  for (std::size_t i = 0; i < terms.size(); ++i) given.push_back(parse_operand(operands[i], terms[i], equation));
  const Labels output = arrow == std::string_view::npos ? implied_output(given)
                                                        : parse_output(equation.substr(arrow + 2), given, equation);
  Operand result = given[0];
  for (std::size_t i = 1; i <= given.size(); ++i) {
    Labels needed = output;  // by the output and the remaining operands
    for (std::size_t j = i + 1; j < given.size(); ++j)
      needed.insert(needed.end(), given[j].labels.begin(), given[j].labels.end());
    if (i == given.size()) {
      sum_unneeded(result, needed);
      break;
    }
    Labels with_next = needed;
    with_next.insert(with_next.end(), given[i].labels.begin(), given[i].labels.end());
    sum_unneeded(result, with_next);
    Labels with_result = needed;
    with_result.insert(with_result.end(), result.labels.begin(), result.labels.end());
    sum_unneeded(given[i], with_result);
    result = contract(result, given[i], needed, equation);
  }
  return arranged(result, output);
}

Tensor einsum(std::string_view equation, TensorList operands, IntArrayRef path) {
  const std::size_t n = operands.size(), expected = n < 2 ? 1 : 2 * (n - 1);
  check(path.size() == expected, "einsum: expected a contraction path of size ", expected, ", got ", path);
  for (std::size_t i = 0; i < expected; ++i) {
    check(path[i] >= 0 && path[i] < static_cast<int64_t>(n - i / 2), "einsum: operand index ", path[i],
          " of the path is out of bounds");
    check(i % 2 == 0 || path[i] != path[i - 1], "einsum: the path contracts operand ", path[i], " with itself");
  }
  return einsum(equation, operands);
}

}  // namespace tandem
