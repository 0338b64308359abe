// Functional forms of pooling: F::max_pool2d(x, F::MaxPool2dFuncOptions(2)).
#pragma once
#include "tandem/core/tensor.h"
#include "tandem/nn/options/pooling.h"

namespace tandem::nn::functional {

/// input [N, C, H, W] or [C, H, W].
Tensor avg_pool2d(const Tensor& input, const AvgPool2dFuncOptions& options);
Tensor max_pool2d(const Tensor& input, const MaxPool2dFuncOptions& options);
/// Returns the maxima and their positions h * width + w within each plane.
std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& input, const MaxPool2dFuncOptions& options);
Tensor adaptive_avg_pool2d(const Tensor& input, const AdaptiveAvgPool2dFuncOptions& options);

Tensor adaptive_max_pool2d(const Tensor& input, const AdaptiveMaxPool2dFuncOptions& options);
std::tuple<Tensor, Tensor> adaptive_max_pool2d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool2dFuncOptions& options);
/// input [N, C, L] or [C, L].
Tensor avg_pool1d(const Tensor& input, const AvgPool1dFuncOptions& options);
Tensor max_pool1d(const Tensor& input, const MaxPool1dFuncOptions& options);
std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& input, const MaxPool1dFuncOptions& options);
Tensor adaptive_avg_pool1d(const Tensor& input, const AdaptiveAvgPool1dFuncOptions& options);
Tensor adaptive_max_pool1d(const Tensor& input, const AdaptiveMaxPool1dFuncOptions& options);
std::tuple<Tensor, Tensor> adaptive_max_pool1d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool1dFuncOptions& options);

}  // namespace tandem::nn::functional
