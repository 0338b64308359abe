// layer_norm and group_norm, composed of differentiable operations.
#include "tandem/autograd/ops/arithmetic.h"
#include "tandem/autograd/ops/checks.h"
#include "tandem/autograd/ops/normalization.h"
#include "tandem/autograd/ops/reduce_op.h"
#include "tandem/autograd/ops/unary.h"
#include "tandem/autograd/ops/view.h"

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

}  // namespace

Tensor layer_norm(const Tensor& input, IntArrayRef normalized_shape, const Tensor& weight, const Tensor& bias,
                  double eps) {
  const std::size_t n = input.sizes().size(), k = normalized_shape.size();
  check(k >= 1 && k <= n && input.sizes().slice(n - k, k) == normalized_shape,
        "layer_norm: the last dimensions must be ", normalized_shape, "\n  input ", input);
  Dims dims;
  for (std::size_t d = n - k; d < n; ++d) dims.push_back(static_cast<int64_t>(d));
  const auto fits = [&](const char* what, const Tensor& t) {
    if (!t.defined()) return;
    check(t.sizes() == normalized_shape, "layer_norm: ", what, " must be ", normalized_shape, "\n  ", what,
          " ", t);
    autograd::check_alike("layer_norm", "input", input, what, t);
  };
  fits("weight", weight);
  fits("bias", bias);
  return affine(normalized(input, dims, eps), weight, bias);
}

Tensor group_norm(const Tensor& input, int64_t num_groups, const Tensor& weight, const Tensor& bias,
                  double eps) {
  check(input.dim() >= 2, "group_norm: expected input [N, C, ...], got ", input);
  const int64_t channels = input.size(1);
  check(num_groups >= 1 && channels % num_groups == 0, "group_norm: ", num_groups,
        " groups do not divide the channels of ", input);
  Dims row(input.sizes().size(), 1);
  row[1] = channels;
  const auto per_channel = [&](const char* what, const Tensor& t) {
    if (!t.defined()) return t;
    check(t.dim() == 1 && t.size(0) == channels, "group_norm: ", what, " must be [", channels, "]\n  ", what,
          " ", t);
    autograd::check_alike("group_norm", "input", input, what, t);
    return t.reshape(row);
  };
  const Tensor w = per_channel("weight", weight), b = per_channel("bias", bias);
  int64_t inner = channels / num_groups;
  for (int64_t d = 2; d < input.dim(); ++d) inner *= input.size(d);
  const Tensor groups = input.reshape({input.size(0), num_groups, inner});
  return affine(normalized(groups, {2}, eps).reshape(input.sizes()), w, b);
}

}  // namespace tandem
