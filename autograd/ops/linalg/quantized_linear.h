// Matrices of one byte per element, and the product with one. They have no gradients.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::autograd {

/// A matrix [N, K]: element [n, k] is values[n, k] scales[n, k / g], where g = group_size(K, G) neighbours in a row
/// have one scale. The shapes alone determine the group.
struct QuantizedMatrix {
  Tensor values;  ///< int8 [N, K]
  Tensor scales;  ///< floating point [N, G]
};

/// ⌈K / G⌉. Throws Error unless K elements have exactly G groups of this size, the last of which may be smaller.
int64_t group_size(int64_t elements, int64_t groups);

/// The scale of a group is max |w| / 127 and a value w / scale, rounded to the nearest integer, ties to even. `weight`
/// [N, K] has ⌈K / group⌉ groups in a row; the scales have its dtype. Not recorded. Throws Error unless weight is a
/// floating point matrix of finite values and group is positive.
QuantizedMatrix quantize(const Tensor& weight, int64_t group);

/// The elements, in the dtype of the scales; also of rows with other shapes [..., K] and [..., G].
Tensor dequantize(const QuantizedMatrix& matrix);

/// x weightᵀ + bias: x [..., K], values [N, K], scales [N, G], bias [N] or undefined → [..., N]. x is floating point;
/// bias has its dtype; scales have it, too, or are float32 with an x of a half type. Products of float32 and of the
/// half types are summed in float32 without a float copy of the weight, on the CPU. Throws Error for other shapes,
/// dtypes or devices, and while recording if x, scales or bias require a gradient.
Tensor quantized_linear(const Tensor& x, const Tensor& values, const Tensor& scales, const Tensor& bias = {});

}  // namespace tandem::autograd
