// Normalisation of floating point tensors. weight, bias and running statistics have the input's dtype and device; for
// an input of a half type they may also be float32.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// (x - mean) / sqrt(var + eps) weight + bias for each channel of input [N, C, ...]. weight, bias, running_mean and
/// running_var are [C] or undefined, the running statistics both or neither.
///
/// In training, mean and (biased) variance are those of the batch. Running statistics, if defined, become
/// (1 - momentum) running + momentum batch, with the unbiased variance of the batch. Otherwise the running statistics
/// are used, or those of the batch if undefined. Throws Error on mismatched shapes and types, and in training if
/// there is only one value per channel. S. Ioffe, C. Szegedy: Batch Normalization, ICML 2015.
Tensor batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                  const Tensor& running_var, bool training, double momentum = 0.1, double eps = 1e-5);

/// The same normalisation over the last dimensions, which must be normalized_shape; weight and bias have that shape.
/// J. L. Ba, J. R. Kiros, G. E. Hinton: Layer Normalization, 2016.
Tensor layer_norm(const Tensor& input, IntArrayRef normalized_shape, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);

/// input / sqrt(mean(input²) + eps) weight, with the mean over the last dimensions, which must be normalized_shape, the
/// shape of weight. eps: the smallest number that changes 1 in the dtype, if not given.
/// B. Zhang, R. Sennrich: Root Mean Square Layer Normalization, NeurIPS 2019.
Tensor rms_norm(const Tensor& input, IntArrayRef normalized_shape, const Tensor& weight = {},
                optional<double> eps = nullopt);

/// layer_norm over each of num_groups groups of channels of input [N, C, ...]; weight and bias are [C].
/// Y. Wu, K. He: Group Normalization, ECCV 2018.
Tensor group_norm(const Tensor& input, int64_t num_groups, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);

/// batch_norm of each image of input [N, C, ...] separately; running statistics are means over the images.
Tensor instance_norm(const Tensor& input, const Tensor& weight = {}, const Tensor& bias = {},
                     const Tensor& running_mean = {}, const Tensor& running_var = {}, bool use_input_stats = true,
                     double momentum = 0.1, double eps = 1e-5);
// LibTorch's last parameter, which has no effect.
inline Tensor batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                         const Tensor& running_var, bool training, double momentum, double eps,
                         bool /*cudnn_enabled*/) {
  return batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps);
}
inline Tensor layer_norm(const Tensor& input, IntArrayRef normalized_shape, const Tensor& weight, const Tensor& bias,
                         double eps, bool /*cudnn_enable*/) {
  return layer_norm(input, normalized_shape, weight, bias, eps);
}
inline Tensor group_norm(const Tensor& input, int64_t num_groups, const Tensor& weight, const Tensor& bias, double eps,
                         bool /*cudnn_enabled*/) {
  return group_norm(input, num_groups, weight, bias, eps);
}
inline Tensor instance_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                            const Tensor& running_var, bool use_input_stats, double momentum, double eps,
                            bool /*cudnn_enabled*/) {
  return instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps);
}

/// input / (k + alpha mean(input² of `size` neighbouring channels))^beta; channels beyond the ends count as zeros.
Tensor local_response_norm(const Tensor& input, int64_t size, double alpha = 1e-4, double beta = 0.75, double k = 1);

}  // namespace tandem
