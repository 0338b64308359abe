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

inline Tensor& adaptive_avg_pool1d_out(Tensor& out, const Tensor& self, IntArrayRef output_size) {
  return autograd::write_out("adaptive_avg_pool1d_out", out)(tandem::adaptive_avg_pool1d(self, output_size));
}
inline Tensor& adaptive_avg_pool2d_out(Tensor& out, const Tensor& self, IntArrayRef output_size) {
  return autograd::write_out("adaptive_avg_pool2d_out", out)(tandem::adaptive_avg_pool2d(self, output_size));
}
inline std::tuple<Tensor&, Tensor&> adaptive_max_pool2d_out(Tensor& out, Tensor& indices, const Tensor& self,
                                                            IntArrayRef output_size) {
  return autograd::write_outs("adaptive_max_pool2d_out", out, indices)(tandem::adaptive_max_pool2d(self, output_size));
}
inline Tensor& avg_pool1d_out(Tensor& out, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                              IntArrayRef padding = 0, bool ceil_mode = false, bool count_include_pad = true) {
  return autograd::write_out("avg_pool1d_out",
                             out)(tandem::avg_pool1d(self, kernel_size, stride, padding, ceil_mode, count_include_pad));
}
inline Tensor& avg_pool2d_out(Tensor& out, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                              IntArrayRef padding = 0, bool ceil_mode = false, bool count_include_pad = true,
                              optional<int64_t> divisor_override = nullopt) {
  return autograd::write_out("avg_pool2d_out", out)(
      tandem::avg_pool2d(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override));
}
inline std::tuple<Tensor&, Tensor&> max_pool2d_with_indices_out(Tensor& out, Tensor& indices, const Tensor& self,
                                                                IntArrayRef kernel_size, IntArrayRef stride = {},
                                                                IntArrayRef padding = 0, IntArrayRef dilation = 1,
                                                                bool ceil_mode = false) {
  return autograd::write_outs("max_pool2d_with_indices_out", out, indices)(
      tandem::max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode));
}
inline Tensor& celu_out(Tensor& out, const Tensor& self, const Scalar& alpha = 1.0) {
  return autograd::write_out("celu_out", out)(tandem::celu(self, alpha));
}
inline Tensor& gelu_out(Tensor& out, const Tensor& self, std::string_view approximate = "none") {
  return autograd::write_out("gelu_out", out)(tandem::gelu(self, approximate));
}
inline Tensor& glu_out(Tensor& out, const Tensor& self, int64_t dim = -1) {
  return autograd::write_out("glu_out", out)(tandem::glu(self, dim));
}
inline Tensor& hardshrink_out(Tensor& out, const Tensor& self, const Scalar& lambd = 0.5) {
  return autograd::write_out("hardshrink_out", out)(tandem::hardshrink(self, lambd));
}
inline Tensor& hardsigmoid_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("hardsigmoid_out", out)(tandem::hardsigmoid(self));
}
inline Tensor& hardswish_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("hardswish_out", out)(tandem::hardswish(self));
}
inline Tensor& hardtanh_out(Tensor& out, const Tensor& self, const Scalar& min_val = -1, const Scalar& max_val = 1) {
  return autograd::write_out("hardtanh_out", out)(tandem::hardtanh(self, min_val, max_val));
}
inline Tensor& leaky_relu_out(Tensor& out, const Tensor& self, const Scalar& negative_slope = 0.01) {
  return autograd::write_out("leaky_relu_out", out)(tandem::leaky_relu(self, negative_slope));
}
inline Tensor& log_sigmoid_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("log_sigmoid_out", out)(tandem::log_sigmoid(self));
}
inline Tensor& mish_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("mish_out", out)(tandem::mish(self));
}
inline Tensor& silu_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("silu_out", out)(tandem::silu(self));
}
inline Tensor& softplus_out(Tensor& out, const Tensor& self, const Scalar& beta = 1, const Scalar& threshold = 20) {
  return autograd::write_out("softplus_out", out)(tandem::softplus(self, beta, threshold));
}
inline Tensor& softshrink_out(Tensor& out, const Tensor& self, const Scalar& lambd = 0.5) {
  return autograd::write_out("softshrink_out", out)(tandem::softshrink(self, lambd));
}
inline Tensor& threshold_out(Tensor& out, const Tensor& self, const Scalar& threshold, const Scalar& value) {
  return autograd::write_out("threshold_out", out)(tandem::threshold(self, threshold, value));
}
inline Tensor& channel_shuffle_out(Tensor& out, const Tensor& self, int64_t groups) {
  return autograd::write_out("channel_shuffle_out", out)(tandem::channel_shuffle(self, groups));
}
inline Tensor& col2im_out(Tensor& out, const Tensor& self, IntArrayRef output_size, IntArrayRef kernel_size,
                          IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride) {
  return autograd::write_out("col2im_out",
                             out)(tandem::col2im(self, output_size, kernel_size, dilation, padding, stride));
}
inline Tensor& im2col_out(Tensor& out, const Tensor& self, IntArrayRef kernel_size, IntArrayRef dilation,
                          IntArrayRef padding, IntArrayRef stride) {
  return autograd::write_out("im2col_out", out)(tandem::im2col(self, kernel_size, dilation, padding, stride));
}
inline Tensor& pixel_shuffle_out(Tensor& out, const Tensor& self, int64_t upscale_factor) {
  return autograd::write_out("pixel_shuffle_out", out)(tandem::pixel_shuffle(self, upscale_factor));
}
inline Tensor& pixel_unshuffle_out(Tensor& out, const Tensor& self, int64_t downscale_factor) {
  return autograd::write_out("pixel_unshuffle_out", out)(tandem::pixel_unshuffle(self, downscale_factor));
}
inline Tensor& constant_pad_nd_out(Tensor& out, const Tensor& self, IntArrayRef pad, const Scalar& value = 0) {
  return autograd::write_out("constant_pad_nd_out", out)(tandem::constant_pad_nd(self, pad, value));
}
inline Tensor& reflection_pad1d_out(Tensor& out, const Tensor& self, IntArrayRef padding) {
  return autograd::write_out("reflection_pad1d_out", out)(tandem::reflection_pad1d(self, padding));
}
inline Tensor& reflection_pad2d_out(Tensor& out, const Tensor& self, IntArrayRef padding) {
  return autograd::write_out("reflection_pad2d_out", out)(tandem::reflection_pad2d(self, padding));
}
inline Tensor& replication_pad1d_out(Tensor& out, const Tensor& self, IntArrayRef padding) {
  return autograd::write_out("replication_pad1d_out", out)(tandem::replication_pad1d(self, padding));
}
inline Tensor& replication_pad2d_out(Tensor& out, const Tensor& self, IntArrayRef padding) {
  return autograd::write_out("replication_pad2d_out", out)(tandem::replication_pad2d(self, padding));
}
inline Tensor& upsample_nearest1d_out(Tensor& out, const Tensor& self, IntArrayRef output_size,
                                      optional<double> scales = nullopt) {
  return autograd::write_out("upsample_nearest1d_out", out)(tandem::upsample_nearest1d(self, output_size, scales));
}
inline Tensor& upsample_nearest2d_out(Tensor& out, const Tensor& self, IntArrayRef output_size,
                                      optional<double> scales_h = nullopt, optional<double> scales_w = nullopt) {
  return autograd::write_out("upsample_nearest2d_out",
                             out)(tandem::upsample_nearest2d(self, output_size, scales_h, scales_w));
}
template <OptionalDims Size>
Tensor& upsample_nearest2d_out(Tensor& out, const Tensor& self, const Size& size,
                               const optional<ArrayRef<double>>& factors) {
  return autograd::write_out("upsample_nearest2d_out", out)(tandem::upsample_nearest2d(self, size, factors));
}
inline Tensor& upsample_nearest3d_out(Tensor& out, const Tensor& self, IntArrayRef output_size,
                                      optional<double> scales_d = nullopt, optional<double> scales_h = nullopt,
                                      optional<double> scales_w = nullopt) {
  return autograd::write_out("upsample_nearest3d_out",
                             out)(tandem::upsample_nearest3d(self, output_size, scales_d, scales_h, scales_w));
}
inline Tensor& upsample_linear1d_out(Tensor& out, const Tensor& self, IntArrayRef output_size, bool align_corners,
                                     optional<double> scales = nullopt) {
  return autograd::write_out("upsample_linear1d_out",
                             out)(tandem::upsample_linear1d(self, output_size, align_corners, scales));
}
inline Tensor& upsample_bilinear2d_out(Tensor& out, const Tensor& self, IntArrayRef output_size, bool align_corners,
                                       optional<double> scales_h = nullopt, optional<double> scales_w = nullopt) {
  return autograd::write_out("upsample_bilinear2d_out",
                             out)(tandem::upsample_bilinear2d(self, output_size, align_corners, scales_h, scales_w));
}
template <OptionalDims Size>
Tensor& upsample_bilinear2d_out(Tensor& out, const Tensor& self, const Size& size, bool align_corners,
                                const optional<ArrayRef<double>>& factors) {
  return autograd::write_out("upsample_bilinear2d_out",
                             out)(tandem::upsample_bilinear2d(self, size, align_corners, factors));
}
inline Tensor& upsample_trilinear3d_out(Tensor& out, const Tensor& self, IntArrayRef output_size, bool align_corners,
                                        optional<double> scales_d = nullopt, optional<double> scales_h = nullopt,
                                        optional<double> scales_w = nullopt) {
  return autograd::write_out("upsample_trilinear3d_out", out)(
      tandem::upsample_trilinear3d(self, output_size, align_corners, scales_d, scales_h, scales_w));
}
inline Tensor& upsample_bicubic2d_out(Tensor& out, const Tensor& self, IntArrayRef output_size, bool align_corners,
                                      optional<double> scales_h = nullopt, optional<double> scales_w = nullopt) {
  return autograd::write_out("upsample_bicubic2d_out",
                             out)(tandem::upsample_bicubic2d(self, output_size, align_corners, scales_h, scales_w));
}

}  // namespace tandem
