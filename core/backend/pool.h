// 2-d pooling and its gradients. Tensors are [planes, height, width], contiguous, of one floating point
// dtype. Indices are int64: the position in the input plane, h * width + w.
#pragma once
#include "tandem/core/backend/kernel.h"

namespace tandem {

/// Height first. The caller has checked: kernel, stride, dilation >= 1, 0 <= padding <= kernel / 2.
struct Pool2dParameters {
  int64_t kernel[2] = {1, 1}, stride[2] = {1, 1}, padding[2] = {0, 0};
  int64_t dilation[2] = {1, 1};  // max pooling only
  bool ceil_mode = false;
  bool count_include_pad = true;  // average pooling only
  int64_t divisor_override = 0;   // average pooling only; 0: the window size
};

struct PoolKernels {
  Kernel<"avg_pool2d", void(const Tensor& out, const Tensor& input, const Pool2dParameters&)> avg_forward;
  Kernel<"avg_pool2d_backward",
         void(const Tensor& grad_input, const Tensor& grad_output, const Pool2dParameters&)>
      avg_backward;
  /// indices may be undefined.
  Kernel<"max_pool2d",
         void(const Tensor& out, const Tensor& indices, const Tensor& input, const Pool2dParameters&)>
      max_forward;
  Kernel<"max_pool2d_backward", void(const Tensor& grad_input, const Tensor& grad_output,
                                     const Tensor& indices, const Pool2dParameters&)>
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
