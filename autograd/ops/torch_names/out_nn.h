// Functions that write to a given tensor (out_write.h): activations, pooling, padding, images and losses.
#pragma once
#include "tandem/autograd/ops/loss/loss.h"
#include "tandem/autograd/ops/loss/margin_loss.h"
#include "tandem/autograd/ops/nn/image.h"
#include "tandem/autograd/ops/nn/interpolate.h"
#include "tandem/autograd/ops/nn/pad.h"
#include "tandem/autograd/ops/nn/pool2d.h"
#include "tandem/autograd/ops/pointwise/activation.h"
#include "tandem/autograd/ops/torch_names/out_write.h"

namespace tandem {

TANDEM_OUT(adaptive_avg_pool1d, (const Tensor& self, IntArrayRef output_size), self, output_size)
TANDEM_OUT(adaptive_avg_pool2d, (const Tensor& self, IntArrayRef output_size), self, output_size)
TANDEM_OUT2(adaptive_max_pool2d, out, indices, (const Tensor& self, IntArrayRef output_size), self, output_size)
TANDEM_OUT(avg_pool1d,
           (const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {}, IntArrayRef padding = 0,
            bool ceil_mode = false, bool count_include_pad = true),
           self, kernel_size, stride, padding, ceil_mode, count_include_pad)
TANDEM_OUT(avg_pool2d,
           (const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {}, IntArrayRef padding = 0,
            bool ceil_mode = false, bool count_include_pad = true, optional<int64_t> divisor_override = nullopt),
           self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
TANDEM_OUT2(max_pool2d_with_indices, out, indices,
            (const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {}, IntArrayRef padding = 0,
             IntArrayRef dilation = 1, bool ceil_mode = false),
            self, kernel_size, stride, padding, dilation, ceil_mode)
TANDEM_OUT(celu, (const Tensor& self, const Scalar& alpha = 1.0), self, alpha)
TANDEM_OUT(gelu, (const Tensor& self, std::string_view approximate = "none"), self, approximate)
TANDEM_OUT(glu, (const Tensor& self, int64_t dim = -1), self, dim)
TANDEM_OUT(hardshrink, (const Tensor& self, const Scalar& lambd = 0.5), self, lambd)
TANDEM_OUT(hardsigmoid, (const Tensor& self), self)
TANDEM_OUT(hardswish, (const Tensor& self), self)
TANDEM_OUT(hardtanh, (const Tensor& self, const Scalar& min_val = -1, const Scalar& max_val = 1), self, min_val,
           max_val)
TANDEM_OUT(leaky_relu, (const Tensor& self, const Scalar& negative_slope = 0.01), self, negative_slope)
TANDEM_OUT(log_sigmoid, (const Tensor& self), self)
TANDEM_OUT(mish, (const Tensor& self), self)
TANDEM_OUT(silu, (const Tensor& self), self)
TANDEM_OUT(softplus, (const Tensor& self, const Scalar& beta = 1, const Scalar& threshold = 20), self, beta, threshold)
TANDEM_OUT(softshrink, (const Tensor& self, const Scalar& lambd = 0.5), self, lambd)
TANDEM_OUT(threshold, (const Tensor& self, const Scalar& threshold, const Scalar& value), self, threshold, value)
TANDEM_OUT(channel_shuffle, (const Tensor& self, int64_t groups), self, groups)
TANDEM_OUT(col2im,
           (const Tensor& self, IntArrayRef output_size, IntArrayRef kernel_size, IntArrayRef dilation,
            IntArrayRef padding, IntArrayRef stride),
           self, output_size, kernel_size, dilation, padding, stride)
TANDEM_OUT(im2col,
           (const Tensor& self, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride),
           self, kernel_size, dilation, padding, stride)
TANDEM_OUT(pixel_shuffle, (const Tensor& self, int64_t upscale_factor), self, upscale_factor)
TANDEM_OUT(pixel_unshuffle, (const Tensor& self, int64_t downscale_factor), self, downscale_factor)
TANDEM_OUT(constant_pad_nd, (const Tensor& self, IntArrayRef pad, const Scalar& value = 0), self, pad, value)
TANDEM_OUT(reflection_pad1d, (const Tensor& self, IntArrayRef padding), self, padding)
TANDEM_OUT(reflection_pad2d, (const Tensor& self, IntArrayRef padding), self, padding)
TANDEM_OUT(replication_pad1d, (const Tensor& self, IntArrayRef padding), self, padding)
TANDEM_OUT(replication_pad2d, (const Tensor& self, IntArrayRef padding), self, padding)
TANDEM_OUT(upsample_nearest1d, (const Tensor& self, IntArrayRef output_size, optional<double> scales = nullopt), self,
           output_size, scales)
TANDEM_OUT(upsample_nearest2d,
           (const Tensor& self, IntArrayRef output_size, optional<double> scales_h = nullopt,
            optional<double> scales_w = nullopt),
           self, output_size, scales_h, scales_w)
template <OptionalDims Size>
TANDEM_OUT(upsample_nearest2d, (const Tensor& self, const Size& size, const optional<ArrayRef<double>>& factors), self,
           size, factors)
TANDEM_OUT(upsample_nearest3d,
           (const Tensor& self, IntArrayRef output_size, optional<double> scales_d = nullopt,
            optional<double> scales_h = nullopt, optional<double> scales_w = nullopt),
           self, output_size, scales_d, scales_h, scales_w)
TANDEM_OUT(upsample_linear1d,
           (const Tensor& self, IntArrayRef output_size, bool align_corners, optional<double> scales = nullopt), self,
           output_size, align_corners, scales)
TANDEM_OUT(upsample_bilinear2d,
           (const Tensor& self, IntArrayRef output_size, bool align_corners, optional<double> scales_h = nullopt,
            optional<double> scales_w = nullopt),
           self, output_size, align_corners, scales_h, scales_w)
template <OptionalDims Size>
TANDEM_OUT(upsample_bilinear2d,
           (const Tensor& self, const Size& size, bool align_corners, const optional<ArrayRef<double>>& factors), self,
           size, align_corners, factors)
TANDEM_OUT(upsample_trilinear3d,
           (const Tensor& self, IntArrayRef output_size, bool align_corners, optional<double> scales_d = nullopt,
            optional<double> scales_h = nullopt, optional<double> scales_w = nullopt),
           self, output_size, align_corners, scales_d, scales_h, scales_w)
TANDEM_OUT(upsample_bicubic2d,
           (const Tensor& self, IntArrayRef output_size, bool align_corners, optional<double> scales_h = nullopt,
            optional<double> scales_w = nullopt),
           self, output_size, align_corners, scales_h, scales_w)

}  // namespace tandem
