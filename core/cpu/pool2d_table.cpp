// Pooling entries of the CPU table: pass tensors to the kernels of pool2d.h.
#include <algorithm>

#include "tandem/core/backend/kernel_arguments.h"
#include "tandem/core/backend/pool.h"
#include "tandem/core/cpu/pointwise/half_loops.h"
#include "tandem/core/cpu/pool2d.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/tables.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::cpu {
namespace {

// The sizes of tensors [planes, h, w], or [n, c, h, w] that are channels-last.
int64_t height(const Tensor& t) { return t.size(-2); }
int64_t width(const Tensor& t) { return t.size(-1); }
int64_t channels(const Tensor& t) { return t.dim() == 4 ? t.size(1) : 0; }

// Calls body(to, from, first, count) with the memory of `count` planes from `first` on of two tensors [planes, h, w] that
// store S: of all planes, or one by one with float32 copies in the cache.
template <class S, class Body>
void run_planes(const Tensor& to, const Tensor& from, const Body& body) {
  using T = computed_t<S>;
  const int64_t planes = to.size(0), to_size = to.size(1) * to.size(2), from_size = from.size(1) * from.size(2);
  if constexpr (std::is_same_v<S, T>) {
    body(to.ptr<T>(), from.ptr<T>(), int64_t{0}, to.dim() == 4 ? planes * to.size(1) : planes);
  } else {
    parallel_for(planes, std::max<int64_t>(1, 32768 / std::max<int64_t>(1, std::max(to_size, from_size))),
                 [&](int64_t begin, int64_t end) {
                   T* buffer = scratch<T>(Scratch::kConvOutput, to_size + from_size);
                   for (int64_t plane = begin; plane < end; ++plane) {
                     widen(scalar_type_of<S>, buffer + to_size, from.ptr<S>() + plane * from_size, from_size);
                     body(buffer, buffer + to_size, plane, int64_t{1});
                     narrow(scalar_type_of<S>, to.ptr<S>() + plane * to_size, buffer, to_size);
                   }
                 });
  }
}

template <class Body>
void dispatch_planes(const char* operation, const Tensor& to, const Tensor& from, const Body& body) {
  dispatch(to.dtype(), StoredFloats{}, operation, [&]<class S>(Type<S>) { run_planes<S>(to, from, body); });
}

Pool2dShape shape_of(const Tensor& input, const Pool2dParameters& p, int64_t planes) {
  return {.planes = planes, .in_h = height(input), .in_w = width(input), .p = p, .channels = channels(input)};
}

AdaptivePool2dShape adaptive_shape(const Tensor& input, const Tensor& output, int64_t planes) {
  return {planes, height(input), width(input), height(output), width(output), channels(input)};
}

void avg_forward(const Tensor& out, const Tensor& input, const Pool2dParameters& p) {
  dispatch_planes("avg_pool2d", out, input, [&]<class T>(T* y, const T* x, int64_t, int64_t planes) {
    avg_pool2d_forward<T>(shape_of(input, p, planes), x, y);
  });
}

void avg_backward(const Tensor& grad_input, const Tensor& grad_output, const Pool2dParameters& p) {
  dispatch_planes("avg_pool2d_backward", grad_input, grad_output,
                  [&]<class T>(T* dx, const T* dy, int64_t, int64_t planes) {
                    avg_pool2d_backward<T>(shape_of(grad_input, p, planes), dy, dx);
                  });
}

void max_forward(const Tensor& out, const Tensor& indices, const Tensor& input, const Pool2dParameters& p) {
  int64_t* at = data_or_null<int64_t>(indices);
  dispatch_planes("max_pool2d", out, input, [&]<class T>(T* y, const T* x, int64_t first, int64_t planes) {
    max_pool2d_forward<T>(shape_of(input, p, planes), x, y,
                          at != nullptr ? at + first * out.size(1) * out.size(2) : nullptr);
  });
}

void max_backward(const Tensor& grad_input, const Tensor& grad_output, const Tensor& indices,
                  const Pool2dParameters& p) {
  dispatch_planes("max_pool2d_backward", grad_input, grad_output,
                  [&]<class T>(T* dx, const T* dy, int64_t first, int64_t planes) {
                    max_pool2d_backward<T>(shape_of(grad_input, p, planes), dy,
                                           indices.ptr<int64_t>() + first * indices.size(1) * indices.size(2), dx);
                  });
}

void max_gather(const Tensor& out, const Tensor& input, const Tensor& indices, const Pool2dParameters& p) {
  dispatch_planes("max_pool2d_gather", out, input, [&]<class T>(T* y, const T* x, int64_t first, int64_t planes) {
    max_pool2d_gather<T>(shape_of(input, p, planes), x,
                         indices.ptr<int64_t>() + first * indices.size(1) * indices.size(2), y);
  });
}

void adaptive_avg_forward(const Tensor& out, const Tensor& input) {
  dispatch_planes("adaptive_avg_pool2d", out, input, [&]<class T>(T* y, const T* x, int64_t, int64_t planes) {
    adaptive_avg_pool2d_forward<T>(adaptive_shape(input, out, planes), x, y);
  });
}

void adaptive_avg_backward(const Tensor& grad_input, const Tensor& grad_output) {
  dispatch_planes("adaptive_avg_pool2d_backward", grad_input, grad_output,
                  [&]<class T>(T* dx, const T* dy, int64_t, int64_t planes) {
                    adaptive_avg_pool2d_backward<T>(adaptive_shape(grad_input, grad_output, planes), dy, dx);
                  });
}

}  // namespace

constinit const PoolKernels pool_kernels{.avg_forward = {avg_forward, kTakesHalf},
                                         .avg_backward = {avg_backward, kTakesHalf},
                                         .max_forward = {max_forward, kTakesHalf},
                                         .max_backward = {max_backward, kTakesHalf},
                                         .max_gather = {max_gather, kTakesHalf},
                                         .adaptive_avg_forward = {adaptive_avg_forward, kTakesHalf},
                                         .adaptive_avg_backward = {adaptive_avg_backward, kTakesHalf}};

}  // namespace tandem::cpu
