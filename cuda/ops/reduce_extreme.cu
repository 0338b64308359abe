// amax, amin, any, all and norms on CUDA.
#include "tandem/cuda/device.h"

#include <cmath>

#include "tandem/cuda/ops/reduce_loop.h"
#include "tandem/cuda/ops/reduce_tables.h"

namespace tandem::cuda_impl {
namespace {

using namespace folds;

template <template <class> class Order>
void extreme(const char* name, const Tensor& out, const Tensor& in, uint32_t mask) {
  dispatch(computed_type(in.dtype()), ComputedTypes{}, name,
           [&]<class T>(Type<T>) { reduce(name, Extreme<AsBytes<T>, Order>{}, out, in, mask); });
}

// One-byte types are compared with 0 as raw bits: they have no negative zero.
template <class T>
using AsBits = std::conditional_t<sizeof(T) == 1, uint8_t, T>;

}  // namespace

void amax(const Tensor& out, const Tensor& in, uint32_t mask) { extreme<Largest>("max", out, in, mask); }
void amin(const Tensor& out, const Tensor& in, uint32_t mask) { extreme<Smallest>("min", out, in, mask); }

void any(const Tensor& out, const Tensor& in, uint32_t mask) {
  dispatch(computed_type(in.dtype()), ComputedTypes{}, "any",
           [&]<class T>(Type<T>) { reduce("any", Truth<AsBits<T>, false>{}, out, in, mask); });
}
void all(const Tensor& out, const Tensor& in, uint32_t mask) {
  dispatch(computed_type(in.dtype()), ComputedTypes{}, "all",
           [&]<class T>(Type<T>) { reduce("all", Truth<AsBits<T>, true>{}, out, in, mask); });
}

void norm(const Tensor& out, const Tensor& in, uint32_t mask, double p) {
  dispatch(computed_type(in.dtype()), FloatTypes{}, "norm", [&]<class T>(Type<T>) {
    if (p == 0)
      reduce("norm", Norm0<T>{}, out, in, mask);
    else if (p == 1)
      reduce("norm", Norm1<T>{}, out, in, mask);
    else if (p == 2)
      reduce("norm", Norm2<T>{}, out, in, mask);
    else if (std::isinf(p) && p > 0)
      reduce("norm", NormExtreme<T, Largest>{}, out, in, mask);
    else if (std::isinf(p))
      reduce("norm", NormExtreme<T, Smallest>{}, out, in, mask);
    else
      reduce("norm", NormP<T>{{}, static_cast<T>(p)}, out, in, mask);
  });
}

}  // namespace tandem::cuda_impl
