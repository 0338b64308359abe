// max and min along one dimension, with the first index of the extreme, on CUDA.
#include "tandem/cuda/device.h"

#include "tandem/core/backend/reduce.h"
#include "tandem/cuda/ops/reduce_loop.h"

namespace tandem::cuda_impl {
namespace {

using namespace folds;

template <class T>
struct Found {
  T value;
  int64_t index;
};
template <class T>
__device__ Found<T> shuffle_down(Found<T> found, int apart) {
  return {cuda_impl::shuffle_down(found.value, apart), cuda_impl::shuffle_down(found.index, apart)};
}

// The first of equal values wins.
template <class T, class Order>
struct FirstExtreme {
  using In = T;
  using Acc = Found<T>;
  struct Parameter {};
  static constexpr bool kCascade = false;
  T* values;
  int64_t* indices;

  __device__ Parameter parameter(int64_t) const { return {}; }
  __device__ Acc identity() const { return {Order::worst(), INT64_MAX}; }
  __device__ Acc map(T x, int64_t position, Parameter) const { return {x, position}; }
  __device__ Acc combine(Acc a, Acc b) const {
    const bool take = Order::better(a.value, b.value) || (!Order::better(b.value, a.value) && b.index < a.index);
    return take ? b : a;
  }
  __device__ void store(int64_t to, Acc a, Parameter) const {
    values[to] = a.value;
    indices[to] = a.index;
  }
};

template <template <class> class Order>
void search(const char* name, const Tensor& values, const Tensor& indices, const Tensor& in, int64_t dim) {
  if (in.numel() == 0) return;
  dispatch(in.dtype(), ComputedTypes{}, name, [&]<class T>(Type<T>) {
    using Value = AsBytes<T>;
    launch_reduce(name,
                  FirstExtreme<Value, Order<Value>>{static_cast<Value*>(values.data_ptr()), indices.ptr<int64_t>()},
                  values, in, in.dim() == 0 ? 0 : 1u << dim);
  });
}

}  // namespace

void max_index(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t dim) {
  search<Largest>("max", values, indices, in, dim);
}
void min_index(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t dim) {
  search<Smallest>("min", values, indices, in, dim);
}

}  // namespace tandem::cuda_impl
