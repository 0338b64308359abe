// layer_norm and group_norm, composed of differentiable operations; layer_norm in one pass where the backend has a
// kernel. Its gradients, with h the normalised input, s the factor and u = g weight:
// dx = s (u - mean(u) - h mean(u h)), dweight = Σ g h, dbias = Σ g.
#include "tandem/core/backend/layer_norm.h"
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/detail/precision.h"
#include "tandem/autograd/ops/detail/refuse_complex.h"
#include "tandem/autograd/ops/detail/row_major.h"
#include "tandem/autograd/ops/nn/normalization.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/reduce/reduce_op.h"
#include "tandem/autograd/ops/reduce/sum_to.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"

namespace tandem {
namespace {

Tensor normalized(const Tensor& x, const Dims& dims, double eps) {
  // The mean is rounded. Its error, which is the mean of the deviations, is subtracted from them as well.
  const Tensor mean = x.mean(dims, true), far = x - mean, off = far.detach().mean(dims, true);
  const Tensor scale = (autograd::biased_var(x, mean, dims) + eps).rsqrt();
  return addcmul(scale * -off, far, scale);
}

Tensor affine(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Tensor scaled = weight.defined() ? x * weight : x;
  return bias.defined() ? scaled + bias : scaled;
}

// Views x as rows [M, N] of the normalised dimensions.
Tensor as_rows(const Tensor& x, IntArrayRef rows) { return x.contiguous().view(rows); }

struct LayerNormBackward final : autograd::NamedNode<LayerNormBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor x = input.unpack(*this), w = weight.unpack(*this);
    if (GradMode::is_enabled())
      return composed(autograd::widened(g[0]), autograd::widened(x), autograd::widened(w), out);
    const auto gradient = [&](std::size_t i, const Dims& sizes) {
      return needs(i) ? empty_raw(sizes, i == 0 ? x.dtype() : toOpMathType(x.dtype()), x.device()) : Tensor();
    };
    const Tensor dx = gradient(0, rows), dw = gradient(1, {rows[1]}), db = gradient(2, {rows[1]});
    backend(x).layer_norm.backward(dx, dw, db, as_rows(g[0], rows), as_rows(x, rows), statistics.unpack(*this),
                                   w.defined() ? w.contiguous() : w);
    if (needs(0)) out[0] = dx.view(x.sizes());
    if (needs(1)) out[1] = dw.view(shape);
    if (needs(2)) out[2] = db.view(shape);
  }
  void composed(const Tensor& g, const Tensor& x, const Tensor& w, std::span<Tensor> out) const {
    const Tensor h = normalized(x, dims, eps);
    if (needs(0)) {
      const Tensor u = w.defined() ? g * w : g;
      const Tensor scale = (autograd::biased_var(x, x.mean(dims, true), dims) + eps).rsqrt();
      out[0] = scale * (u - u.mean(dims, true) - h * (u * h).mean(dims, true));
    }
    if (needs(1)) out[1] = sum_to_size(g * h, shape);
    if (needs(2)) out[2] = sum_to_size(g, shape);
  }
  TANDEM_SAVED(input, weight, statistics);
  Dims rows, shape, dims;
  double eps = 0;
};

bool kernel_applies(const Tensor& x) { return backend(x).layer_norm.forward && x.is_floating_point() && x.numel() > 0; }

Tensor layer_norm_rows(const Tensor& x, IntArrayRef shape, const Dims& dims, const Tensor& weight, const Tensor& bias,
                       double eps) {
  const int64_t n = checked_numel(shape);
  const Dims rows{x.numel() / n, n};
  Tensor out = empty_raw(x.sizes(), x.dtype(), x.device());
  const Tensor statistics = empty_raw({rows[0], 3}, toOpMathType(x.dtype()), x.device());
  {
    NoGradGuard no_grad;
    const auto packed = [](const Tensor& t) { return t.defined() ? t.contiguous() : t; };
    backend(x).layer_norm.forward(alias(out, rows, contiguous_strides(rows), 0), statistics, as_rows(x, rows),
                                  packed(weight), packed(bias), eps);
  }
  if (auto* node = autograd::record<LayerNormBackward>(out, x, weight, bias)) {
    node->input.save(x);
    if (weight.defined()) node->weight.save(weight);
    node->statistics.save(statistics);
    node->rows = rows;
    node->shape = Dims(shape);
    node->dims = dims;
    node->eps = eps;
  }
  return out;
}

}  // namespace

Tensor layer_norm(const Tensor& input, IntArrayRef normalized_shape, const Tensor& weight, const Tensor& bias,
                  double eps) {
  if (const auto to = autocast::full_precision_on_cuda(input))
    return layer_norm(to(input), normalized_shape, to(weight), to(bias), eps);
  autograd::refuse_complex("layer_norm", input, weight, bias);
  const std::size_t n = input.sizes().size(), k = normalized_shape.size();
  check(k >= 1 && k <= n && input.sizes().slice(n - k, k) == normalized_shape,
        "layer_norm: the last dimensions must be ", normalized_shape, "\n  input ", input);
  Dims dims;
  for (std::size_t d = n - k; d < n; ++d) dims.push_back(static_cast<int64_t>(d));
  const auto fits = [&](const char* what, const Tensor& t) {
    if (!t.defined()) return;
    check(t.sizes() == normalized_shape, "layer_norm: ", what, " must be ", normalized_shape, "\n  ", what, " ", t);
    autograd::check_parameter("layer_norm", input, what, t);
  };
  fits("weight", weight);
  fits("bias", bias);
  if (kernel_applies(input)) return layer_norm_rows(input, normalized_shape, dims, weight, bias, eps);
  if (const auto half = autograd::half_result(input))
    return layer_norm(autograd::widened(input), normalized_shape, autograd::widened(weight), autograd::widened(bias),
                      eps)
        .to(*half);
  return affine(normalized(input, dims, eps), weight, bias);
}

Tensor group_norm(const Tensor& input, int64_t num_groups, const Tensor& weight, const Tensor& bias, double eps) {
  if (const auto to = autograd::in_full_precision_on_cuda(input))
    return to.rounded(group_norm(to(input), num_groups, to(weight), to(bias), eps));
  if (const auto to = autograd::in_row_major(input))
    return to.restored(group_norm(to(input), num_groups, weight, bias, eps));
  autograd::refuse_complex("group_norm", input, weight, bias);
  check(input.dim() >= 2, "group_norm: expected input [N, C, ...], got ", input);
  const int64_t channels = input.size(1);
  check(num_groups >= 1 && channels % num_groups == 0, "group_norm: ", num_groups,
        " groups do not divide the channels of ", input);
  Dims row(input.sizes().size(), 1);
  row[1] = channels;
  const auto per_channel = [&](const char* what, const Tensor& t) {
    if (!t.defined()) return t;
    check(t.dim() == 1 && t.size(0) == channels, "group_norm: ", what, " must be [", channels, "]\n  ", what, " ", t);
    autograd::check_parameter("group_norm", input, what, t);
    return t.reshape(row);
  };
  const Tensor w = per_channel("weight", weight), b = per_channel("bias", bias);
  int64_t inner = channels / num_groups;
  for (int64_t d = 2; d < input.dim(); ++d) inner *= input.size(d);
  const Tensor groups = input.reshape({input.size(0), num_groups, inner});
  return affine(normalized(groups, {2}, eps).reshape(input.sizes()), w, b);
}

}  // namespace tandem
