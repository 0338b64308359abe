// Functional forms of 3D pooling, power-average pooling, fractional pooling and unpooling.
#pragma once
#include "tandem/core/tensor.h"
#include "tandem/nn/options/pooling.h"

namespace tandem::nn::functional {

/// input [N, C, D, H, W] or [C, D, H, W]. Indices are positions (d * height + h) * width + w.
Tensor avg_pool3d(const Tensor& input, const AvgPool3dFuncOptions& options);
Tensor max_pool3d(const Tensor& input, const MaxPool3dFuncOptions& options);
std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& input, const MaxPool3dFuncOptions& options);
Tensor adaptive_avg_pool3d(const Tensor& input, const AdaptiveAvgPool3dFuncOptions& options);
Tensor adaptive_max_pool3d(const Tensor& input, const AdaptiveMaxPool3dFuncOptions& options);
std::tuple<Tensor, Tensor> adaptive_max_pool3d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool3dFuncOptions& options);

/// (the sum of x^p over each window)^(1 / p), with p = norm_type, for non-negative x; as in PyTorch, a negative sum
/// counts as its absolute value with its sign kept.
Tensor lp_pool1d(const Tensor& input, const LPPool1dFuncOptions& options);
Tensor lp_pool2d(const Tensor& input, const LPPool2dFuncOptions& options);
Tensor lp_pool3d(const Tensor& input, const LPPool3dFuncOptions& options);

/// Throws Error unless exactly one of output_size and output_ratio is set. Draws from the default generator unless
/// the options have random samples.
Tensor fractional_max_pool2d(const Tensor& input, const FractionalMaxPool2dFuncOptions& options);
std::tuple<Tensor, Tensor> fractional_max_pool2d_with_indices(const Tensor& input,
                                                              const FractionalMaxPool2dFuncOptions& options);
Tensor fractional_max_pool3d(const Tensor& input, const FractionalMaxPool3dFuncOptions& options);
std::tuple<Tensor, Tensor> fractional_max_pool3d_with_indices(const Tensor& input,
                                                              const FractionalMaxPool3dFuncOptions& options);

/// Puts maxima back at the indices of max_pool, zeros elsewhere. Throws Error for an output_size that the pooling
/// cannot have had.
Tensor max_unpool1d(const Tensor& input, const Tensor& indices, const MaxUnpool1dFuncOptions& options);
Tensor max_unpool2d(const Tensor& input, const Tensor& indices, const MaxUnpool2dFuncOptions& options);
Tensor max_unpool3d(const Tensor& input, const Tensor& indices, const MaxUnpool3dFuncOptions& options);

}  // namespace tandem::nn::functional
