// rms_norm, composed of differentiable operations.
#include <limits>

#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/detail/precision.h"
#include "tandem/autograd/ops/nn/normalization.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"

namespace tandem {

Tensor rms_norm(const Tensor& input, IntArrayRef normalized_shape, const Tensor& weight, optional<double> eps) {
  if (const auto to = autograd::in_full_precision_on_cuda(input))
    return to.rounded(rms_norm(to(input), normalized_shape, to(weight), eps));
  const std::size_t n = input.sizes().size(), k = normalized_shape.size();
  check(k >= 1 && k <= n && input.sizes().slice(n - k, k) == normalized_shape, "rms_norm: the last dimensions must be ",
        normalized_shape, "\n  input ", input);
  check(is_differentiable(input.dtype()), "rms_norm: expected a floating point or complex tensor, got ", input);
  Dims dims;
  for (std::size_t d = n - k; d < n; ++d) dims.push_back(static_cast<int64_t>(d));
  const double least = toRealValueType(input.dtype()) == kDouble
                           ? std::numeric_limits<double>::epsilon()
                           : static_cast<double>(std::numeric_limits<float>::epsilon());
  const Tensor scaled = input * ((input * input).mean(dims, true) + eps.value_or(least)).rsqrt();
  if (!weight.defined()) return scaled;
  check(weight.sizes() == normalized_shape, "rms_norm: weight must be ", normalized_shape, "\n  weight ", weight);
  autograd::check_parameter("rms_norm", input, "weight", weight);
  return scaled * weight;
}

}  // namespace tandem
