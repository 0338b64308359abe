// Activation functions of floating point tensors unless noted otherwise. A trailing _ marks an in-place
// operation. relu, sigmoid and tanh are in unary.h.
#pragma once
#include <string_view>

#include "tandem/autograd/ops/pointwise/unary.h"

namespace tandem {

/// log(sigmoid(x))
Tensor log_sigmoid(const Tensor& self);
/// x sigmoid(x)
Tensor silu(const Tensor& self);
Tensor& silu_(const Tensor& self);
/// x tanh(softplus(x)) (Misra, arXiv:1908.08681)
Tensor mish(const Tensor& self);
Tensor& mish_(const Tensor& self);
/// x Φ(x), where Φ is the standard normal CDF ("none"), or its approximation with tanh ("tanh")
/// (Hendrycks and Gimpel, arXiv:1606.08415).
Tensor gelu(const Tensor& self, std::string_view approximate = "none");
Tensor& gelu_(const Tensor& self, std::string_view approximate = "none");
/// x / (1 + |x|)
Tensor softsign(const Tensor& self);
/// log(1 + e^(beta x)) / beta, or x where beta x > threshold.
Tensor softplus(const Tensor& self, const Scalar& beta = 1, const Scalar& threshold = 20);
/// scale (max(0, x) + min(0, alpha (e^(input_scale x) - 1))) (Clevert et al., arXiv:1511.07289)
Tensor elu(const Tensor& self, const Scalar& alpha = 1, const Scalar& scale = 1, const Scalar& input_scale = 1);
Tensor& elu_(const Tensor& self, const Scalar& alpha = 1, const Scalar& scale = 1, const Scalar& input_scale = 1);
/// elu with the constants of Klambauer et al., arXiv:1706.02515.
Tensor selu(const Tensor& self);
Tensor& selu_(const Tensor& self);
/// max(0, x) + min(0, alpha (e^(x/alpha) - 1)) (Barron, arXiv:1704.07483)
Tensor celu(const Tensor& self, const Scalar& alpha = 1);
Tensor& celu_(const Tensor& self, const Scalar& alpha = 1);
/// x where positive, else negative_slope x.
Tensor leaky_relu(const Tensor& self, const Scalar& negative_slope = 0.01);
Tensor& leaky_relu_(const Tensor& self, const Scalar& negative_slope = 0.01);
/// clamp with a gradient that is 0 at the bounds, even infinite ones; numeric dtypes. relu6 has the bounds 0 and 6.
Tensor hardtanh(const Tensor& self, const Scalar& min_val = -1, const Scalar& max_val = 1);
Tensor& hardtanh_(const Tensor& self, const Scalar& min_val = -1, const Scalar& max_val = 1);
Tensor relu6(const Tensor& self);
Tensor& relu6_(const Tensor& self);
/// hardsigmoid: min(max(x + 3, 0), 6) / 6. hardswish: x hardsigmoid(x) (Howard et al., arXiv:1905.02244).
Tensor hardsigmoid(const Tensor& self);
Tensor& hardsigmoid_(const Tensor& self);
Tensor hardswish(const Tensor& self);
Tensor& hardswish_(const Tensor& self);
/// x where it is above threshold, else value; NaN stays. Numeric dtypes.
Tensor threshold(const Tensor& self, const Scalar& threshold, const Scalar& value);
Tensor& threshold_(const Tensor& self, const Scalar& threshold, const Scalar& value);
/// 0 where |x| <= lambda; elsewhere, hardshrink keeps x and softshrink moves it towards 0 by lambda.
Tensor hardshrink(const Tensor& self, const Scalar& lambda = 0.5);
Tensor softshrink(const Tensor& self, const Scalar& lambda = 0.5);
/// x - tanh(x)
Tensor tanhshrink(const Tensor& self);
/// x where positive, else weight x, with a single weight or one per channel (dimension 1).
Tensor prelu(const Tensor& self, const Tensor& weight);
/// x where positive, else r x: in training, r is drawn between lower and upper for each element; otherwise it is their
/// mean (B. Xu et al., arXiv:1505.00853).
Tensor rrelu(const Tensor& self, const Scalar& lower = 0.125, const Scalar& upper = 1.0 / 3, bool training = false,
             const optional<Generator>& generator = nullopt);
Tensor& rrelu_(const Tensor& self, const Scalar& lower = 0.125, const Scalar& upper = 1.0 / 3, bool training = false,
               const optional<Generator>& generator = nullopt);
/// a sigmoid(b), where a and b are the two halves of self along `dim`.
Tensor glu(const Tensor& self, int64_t dim = -1);

}  // namespace tandem
