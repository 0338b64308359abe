// 2-d pooling and its gradients. Tensors are [planes, height, width], contiguous, or [N, C, height, width], channels-last,
// all of one floating point dtype. The CPU takes channels-last ones in forward passes without indices, not of half types.
// Indices are int64: the position in the input plane, h * width + w.
#pragma once
#include "tandem/core/backend/kernel.h"
#include "tandem/core/backend/sliding_windows.h"

namespace tandem {

struct PoolKernels {
  Kernel<"avg_pool2d", void(const Tensor& out, const Tensor& input, const Pool2dParameters&)> avg_forward;
  Kernel<"avg_pool2d_backward", void(const Tensor& grad_input, const Tensor& grad_output, const Pool2dParameters&)>
      avg_backward;
  /// indices may be undefined.
  Kernel<"max_pool2d", void(const Tensor& out, const Tensor& indices, const Tensor& input, const Pool2dParameters&),
         HalfCalls{.outputs = 2}>
      max_forward;
  Kernel<"max_pool2d_backward",
         void(const Tensor& grad_input, const Tensor& grad_output, const Tensor& indices, const Pool2dParameters&)>
      max_backward;
  /// out, with the shape of indices: `input` gathered at them.
  Kernel<"max_pool2d_gather",
         void(const Tensor& out, const Tensor& input, const Tensor& indices, const Pool2dParameters&)>
      max_gather;
  /// Window i of an axis is [floor(i in / out), ceil((i + 1) in / out)).
  Kernel<"adaptive_avg_pool2d", void(const Tensor& out, const Tensor& input)> adaptive_avg_forward;
  Kernel<"adaptive_avg_pool2d_backward", void(const Tensor& grad_input, const Tensor& grad_output)>
      adaptive_avg_backward;
};

}  // namespace tandem
