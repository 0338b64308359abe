// dropout: the product with a random mask of zeros and 1 / (1 - p). Gradient: g times the mask. alpha_dropout also adds
// a constant where the mask is 0, and another where it is not.
#include "tandem/autograd/ops/nn/dropout.h"

#include <cmath>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/random/mersenne_draws.h"

namespace tandem {
namespace {

bool identity(const char* operation, const Tensor& input, double p, bool train) {
  check(p >= 0 && p <= 1, operation, ": p must be in [0, 1], got ", p);
  if (!train || p == 0 || input.numel() == 0) return true;
  check(is_differentiable(input.dtype()), operation, ": expected a floating point or complex tensor, got ", input);
  return false;
}

// A mask for all elements, or of other sizes; for complex numbers, too, it is real.
Tensor uninitialized(const Tensor& input, optional<IntArrayRef> sizes) {
  const TensorOptions options = input.options().dtype(toRealValueType(input.scalar_type()));
  if (!sizes && autograd::draws_as_pytorch(input.device())) return autograd::empty_in_order(input, options);
  return empty(sizes.value_or(input.sizes()), options);
}

Tensor mask(const Tensor& input, optional<IntArrayRef> sizes, double p) {
  NoGradGuard no_grad;
  Tensor out = uninitialized(input, sizes);
  if (p == 1) return out.zero_();
  out.bernoulli_(1 - p);
  return out.mul_(1 / (1 - p));
}

Dims feature_sizes(const char* operation, const Tensor& input) {
  check(input.dim() >= 2, operation, ": expected [N, C, ...], got ", input);
  Dims sizes(input.sizes().size(), 1);
  sizes[0] = input.size(0);
  sizes[1] = input.size(1);
  return sizes;
}

// The factor and the summand of alpha_dropout.
struct Affine {
  Tensor scale, shift;
};
Affine alpha_mask(const Tensor& input, optional<IntArrayRef> sizes, double p) {
  NoGradGuard no_grad;
  constexpr double kLimit = 1.7580993408473766;  // SELU approaches -kLimit
  Tensor kept = uninitialized(input, sizes);
  if (p == 1) return {kept.zero_(), Tensor(kept)};
  kept.bernoulli_(1 - p);
  const double a = 1 / std::sqrt((kLimit * kLimit * p + 1) * (1 - p));
  const Tensor shift = (kept - 1) * (kLimit * a) + kLimit * a * p;
  return {kept * a, shift};
}

}  // namespace

Tensor dropout(const Tensor& input, double p, bool train) {
  return identity("dropout", input, p, train) ? input : input * mask(input, nullopt, p);
}
Tensor& dropout_(const Tensor& input, double p, bool train) {
  return identity("dropout_", input, p, train) ? detail::mutable_handle(input) : input.mul_(mask(input, nullopt, p));
}
Tensor feature_dropout(const Tensor& input, double p, bool train) {
  return identity("feature_dropout", input, p, train) ? input
                                                      : input * mask(input, feature_sizes("feature_dropout", input), p);
}
Tensor& feature_dropout_(const Tensor& input, double p, bool train) {
  return identity("feature_dropout_", input, p, train)
             ? detail::mutable_handle(input)
             : input.mul_(mask(input, feature_sizes("feature_dropout", input), p));
}

Tensor alpha_dropout(const Tensor& input, double p, bool train) {
  if (identity("alpha_dropout", input, p, train)) return input;
  const Affine mask = alpha_mask(input, nullopt, p);
  return input * mask.scale + mask.shift;
}
Tensor& alpha_dropout_(const Tensor& input, double p, bool train) {
  if (identity("alpha_dropout_", input, p, train)) return detail::mutable_handle(input);
  const Affine mask = alpha_mask(input, nullopt, p);
  return input.mul_(mask.scale).add_(mask.shift);
}
Tensor feature_alpha_dropout(const Tensor& input, double p, bool train) {
  if (identity("feature_alpha_dropout", input, p, train)) return input;
  const Affine mask = alpha_mask(input, feature_sizes("feature_alpha_dropout", input), p);
  return input * mask.scale + mask.shift;
}
Tensor& feature_alpha_dropout_(const Tensor& input, double p, bool train) {
  if (identity("feature_alpha_dropout_", input, p, train)) return detail::mutable_handle(input);
  const Affine mask = alpha_mask(input, feature_sizes("feature_alpha_dropout_", input), p);
  return input.mul_(mask.scale).add_(mask.shift);
}

}  // namespace tandem
