// What all kernels of the losses over classes share: the scores of a position, its target and their weights.
#pragma once
#include "tandem/core/backend/kernel_arguments.h"
#include "tandem/core/backend/loss.h"
#include "tandem/core/reduction.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/raise_fault.h"

namespace tandem::cuda_impl {

// A kernel parameter. Positions are numbered n * inner + s; class c of a position is c * inner
// elements further.
template <class T>
struct Places {
  int64_t classes, inner, count;
  const int64_t* y;
  const T* w;
  int64_t ignore;
  ReductionKind reduction;
  T sharp, smooth;  // weights of the target and of each class
  HostText operation;

  __device__ int64_t first(int64_t place) const {
    if (inner == 1) return place * classes;
    const int64_t n = place / inner;
    return (n * classes) * inner + (place - n * inner);
  }
  __device__ bool counts(int64_t place) const { return y[place] != ignore && y[place] >= 0 && y[place] < classes; }
  __device__ T weight(int64_t c) const { return w != nullptr ? w[c] : T(1); }
  __device__ void check(Fault* fault, int64_t place) const {
    if (!counts(place) && y[place] != ignore)
      raise_fault(fault, {static_cast<int32_t>(FaultKind::kTarget), 0, operation, y[place], 1, classes, {}});
  }
};

template <class T>
Places<T> places(const char* operation, const Tensor& scores, const Tensor& target, const Tensor& weight,
                 const ClassLoss& loss) {
  const int64_t classes = scores.size(1);
  return {classes,
          scores.size(2),
          target.numel(),
          target.ptr<int64_t>(),
          data_or_null<T>(weight),
          loss.ignore_index,
          loss.reduction,
          static_cast<T>(1 - loss.label_smoothing),
          static_cast<T>(loss.label_smoothing / static_cast<double>(classes)),
          operation};
}

}  // namespace tandem::cuda_impl
