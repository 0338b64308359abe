// Pooling entries of the CPU table: pass tensors to the kernels of pool2d.h.
#include "tandem/core/backend/pool.h"
#include "tandem/core/cpu/pool2d.h"
#include "tandem/core/cpu/tables.h"

namespace tandem::cpu {
namespace {

Pool2dShape shape_of(const Tensor& input, const Pool2dParameters& p) {
  return {.planes = input.size(0), .in_h = input.size(1), .in_w = input.size(2), .p = p};
}

AdaptivePool2dShape adaptive_shape(const Tensor& input, const Tensor& output) {
  return {input.size(0), input.size(1), input.size(2), output.size(1), output.size(2)};
}

void avg_forward(const Tensor& out, const Tensor& input, const Pool2dParameters& p) {
  dispatch(out.dtype(), FloatTypes{}, "avg_pool2d",
           [&]<class T>(Type<T>) { avg_pool2d_forward<T>(shape_of(input, p), input.ptr<T>(), out.ptr<T>()); });
}

void avg_backward(const Tensor& grad_input, const Tensor& grad_output, const Pool2dParameters& p) {
  dispatch(grad_input.dtype(), FloatTypes{}, "avg_pool2d_backward", [&]<class T>(Type<T>) {
    avg_pool2d_backward<T>(shape_of(grad_input, p), grad_output.ptr<T>(), grad_input.ptr<T>());
  });
}

void max_forward(const Tensor& out, const Tensor& indices, const Tensor& input, const Pool2dParameters& p) {
  dispatch(out.dtype(), FloatTypes{}, "max_pool2d", [&]<class T>(Type<T>) {
    max_pool2d_forward<T>(shape_of(input, p), input.ptr<T>(), out.ptr<T>(),
                          indices.defined() ? indices.ptr<int64_t>() : nullptr);
  });
}

void max_backward(const Tensor& grad_input, const Tensor& grad_output, const Tensor& indices,
                  const Pool2dParameters& p) {
  dispatch(grad_input.dtype(), FloatTypes{}, "max_pool2d_backward", [&]<class T>(Type<T>) {
    max_pool2d_backward<T>(shape_of(grad_input, p), grad_output.ptr<T>(), indices.ptr<int64_t>(), grad_input.ptr<T>());
  });
}

void max_gather(const Tensor& out, const Tensor& input, const Tensor& indices, const Pool2dParameters& p) {
  dispatch(out.dtype(), FloatTypes{}, "max_pool2d_gather", [&]<class T>(Type<T>) {
    max_pool2d_gather<T>(shape_of(input, p), input.ptr<T>(), indices.ptr<int64_t>(), out.ptr<T>());
  });
}

void adaptive_avg_forward(const Tensor& out, const Tensor& input) {
  dispatch(out.dtype(), FloatTypes{}, "adaptive_avg_pool2d", [&]<class T>(Type<T>) {
    adaptive_avg_pool2d_forward<T>(adaptive_shape(input, out), input.ptr<T>(), out.ptr<T>());
  });
}

void adaptive_avg_backward(const Tensor& grad_input, const Tensor& grad_output) {
  dispatch(grad_input.dtype(), FloatTypes{}, "adaptive_avg_pool2d_backward", [&]<class T>(Type<T>) {
    adaptive_avg_pool2d_backward<T>(adaptive_shape(grad_input, grad_output), grad_output.ptr<T>(), grad_input.ptr<T>());
  });
}

}  // namespace

constinit const PoolKernels pool_kernels{.avg_forward = avg_forward,
                                         .avg_backward = avg_backward,
                                         .max_forward = max_forward,
                                         .max_backward = max_backward,
                                         .max_gather = max_gather,
                                         .adaptive_avg_forward = adaptive_avg_forward,
                                         .adaptive_avg_backward = adaptive_avg_backward};

}  // namespace tandem::cpu
