// Convolution entries of the CPU table: pass tensors to the kernels of conv2d.h.
#include "tandem/core/backend/conv.h"
#include "tandem/core/cpu/conv/conv2d.h"
#include "tandem/core/cpu/tables.h"

namespace tandem::cpu {
namespace {

Conv2dShape shape_of(const Tensor& input, const Tensor& weight, const Conv2dParameters& p) {
  return {.batch = input.size(0),
          .in_channels = input.size(1),
          .in_h = input.size(2),
          .in_w = input.size(3),
          .out_channels = weight.size(0),
          .kernel_h = weight.size(2),
          .kernel_w = weight.size(3),
          .p = p};
}

void forward(const Tensor& out, const Tensor& input, const Tensor& weight, const Tensor& bias,
             const Conv2dParameters& p) {
  if (out.numel() == 0) return;
  dispatch(out.dtype(), FloatTypes{}, "conv2d", [&]<class T>(Type<T>) {
    conv2d_forward<T>(shape_of(input, weight, p), input.ptr<T>(), weight.ptr<T>(),
                      bias.defined() ? bias.ptr<T>() : nullptr, out.ptr<T>());
  });
}

bool forward_inference(const Tensor& out, const Tensor& input, const Tensor& weight, const Tensor& bias,
                       const Tensor& residual, const Conv2dParameters& p, const ConvInference& inference) {
  if (out.numel() == 0) return true;
  dispatch(out.dtype(), FloatTypes{}, "conv2d", [&]<class T>(Type<T>) {
    conv2d_forward<T>(shape_of(input, weight, p), input.ptr<T>(), weight.ptr<T>(),
                      bias.defined() ? bias.ptr<T>() : nullptr, out.ptr<T>(),
                      {.residual = residual.defined() ? residual.ptr<T>() : nullptr,
                       .relu = inference.relu,
                       .kept = inference.kept,
                       .weight = &weight});
  });
  return true;
}

void backward_input(const Tensor& grad_input, const Tensor& grad_output, const Tensor& weight,
                    const Conv2dParameters& p) {
  if (grad_output.numel() == 0) return fill_raw(grad_input, 0);
  if (grad_input.numel() == 0) return;
  dispatch(grad_input.dtype(), FloatTypes{}, "conv2d_backward_input", [&]<class T>(Type<T>) {
    conv2d_backward_input<T>(shape_of(grad_input, weight, p), grad_output.ptr<T>(), weight.ptr<T>(),
                             grad_input.ptr<T>());
  });
}

void backward_weight(const Tensor& grad_weight, const Tensor& grad_bias, const Tensor& grad_output, const Tensor& input,
                     const Conv2dParameters& p) {
  if (grad_output.numel() == 0) {
    fill_raw(grad_weight, 0);
    if (grad_bias.defined()) fill_raw(grad_bias, 0);
    return;
  }
  if (grad_weight.numel() == 0) return;
  dispatch(grad_weight.dtype(), FloatTypes{}, "conv2d_backward_weight", [&]<class T>(Type<T>) {
    conv2d_backward_weight<T>(shape_of(input, grad_weight, p), input.ptr<T>(), grad_output.ptr<T>(),
                              grad_weight.ptr<T>(), grad_bias.defined() ? grad_bias.ptr<T>() : nullptr);
  });
}

// Only the output's sizes matter here; with a 1 x 1 kernel the input plane has the same size.
void backward_bias(const Tensor& grad_bias, const Tensor& grad_output) {
  if (grad_output.numel() == 0) return fill_raw(grad_bias, 0);
  dispatch(grad_bias.dtype(), FloatTypes{}, "conv2d_backward_bias", [&]<class T>(Type<T>) {
    const Conv2dShape shape{.batch = grad_output.size(0),
                            .in_channels = 1,
                            .in_h = grad_output.size(2),
                            .in_w = grad_output.size(3),
                            .out_channels = grad_output.size(1)};
    conv2d_backward_bias<T>(shape, grad_output.ptr<T>(), grad_bias.ptr<T>());
  });
}

}  // namespace

constinit const ConvKernels conv_kernels{.forward = forward,
                                         .forward_inference = forward_inference,
                                         .backward_input = backward_input,
                                         .backward_weight = backward_weight,
                                         .backward_bias = backward_bias};

}  // namespace tandem::cpu
