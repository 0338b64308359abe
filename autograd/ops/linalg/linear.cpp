// linear: y = x Wᵀ + b. Gradients: dx = g W, dW = gᵀ x, db = the sum of g over all rows.
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/linalg.h"
#include "tandem/core/reproducible.h"

namespace tandem {
namespace {
using namespace autograd;

// Views [..., K] as a matrix [rows, K].
Tensor as_rows(const Tensor& t) {
  if (t.dim() == 2) return t;
  const Dims outer = IntArrayRef(t.sizes()).slice(0, t.sizes().size() - 1);
  return t.reshape({checked_numel(outer), t.size(-1)});
}

// A transposed matrix on a GPU, where moving elements between rows and columns takes as long as a small product: tensors
// made from it keep its layout. On the CPU the sums of a single column would depend on that.
bool keeps_columns(const Tensor& t) {
  return reproducible() != Reproducible::kStrict && t.defined() && t.is_cuda() && t.dim() == 2 && !t.is_contiguous() &&
         t.stride(0) == 1 && t.stride(1) == t.size(0);
}

struct LinearBackward final : NamedNode<LinearBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor rows = as_rows(g[0]);
    if (needs(0)) out[0] = mm(rows, weight.unpack(*this)).view(sizes);
    if (needs(1)) {
      const Tensor x = as_rows(input.unpack(*this));
      out[1] = by_columns ? mm(x.t(), rows).t() : mm(rows.t(), x);
    }
    if (needs(2)) out[2] = rows.sum({0});
  }
  TANDEM_SAVED(input, weight);
  Dims sizes;
  bool by_columns = false;  // the layout of the weight, and of its gradient
};

void check_linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  check(input.dim() >= 1 && weight.dim() == 2, "linear: expected input [..., K] and weight [N, K]\n  input  ", input,
        "\n  weight ", weight);
  check(input.size(-1) == weight.size(1), "linear: weight expects ", weight.size(1), " input features, but input has ",
        input.size(-1), "\n  input  ", input, "\n  weight ", weight);
  check_alike("linear", "input ", input, "weight", weight);
  if (!bias.defined()) return;
  check(bias.dim() == 1 && bias.size(0) == weight.size(0), "linear: bias must be [", weight.size(0), "]\n  weight ",
        weight, "\n  bias   ", bias);
  check_alike("linear", "weight", weight, "bias  ", bias);
}

}  // namespace

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  if (const auto to = autocast::lower_precision(input))
    return linear(to(input), keeps_columns(weight) ? to(weight.t()).t() : to(weight), to(bias));
  check_linear(input, weight, bias);
  if (input.is_complex()) {
    const Tensor out = matmul(input, weight.t());
    return bias.defined() ? out + bias : out;
  }
  Dims sizes(input.sizes());
  sizes.back() = weight.size(0);
  Tensor out = empty_raw(sizes, input.dtype(), input.device());
  const Dims flat{checked_numel(IntArrayRef(sizes).slice(0, sizes.size() - 1)), weight.size(0)};
  {
    NoGradGuard no_grad;
    const Tensor rows = alias(out, flat, contiguous_strides(flat), 0);
    backend(input).linalg.linear(rows, as_rows(input), weight, bias.defined() ? bias.contiguous() : Tensor());
  }
  if (auto* node = record<LinearBackward>(out, input, weight, bias)) {
    if (node->needs(1)) node->input.save(input);
    if (node->needs(0)) node->weight.save(weight);
    node->sizes = input.sizes();
    node->by_columns = keeps_columns(weight);
  }
  return out;
}

}  // namespace tandem
