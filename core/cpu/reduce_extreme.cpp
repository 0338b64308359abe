// amax, amin, any, all and norms on the CPU.
#include <cmath>

#include "tandem/core/cpu/reduce_tables.h"

namespace tandem::cpu {
namespace {

using namespace folds;

template <template <class> class Order>
void extreme(const char* name, const Tensor& out, const Tensor& in, uint32_t mask) {
  dispatch(in.dtype(), ComputedTypes{}, name, [&]<class T>(Type<T>) { reduce(Extreme<T, Order>{}, out, in, mask); });
}

}  // namespace

void amax(const Tensor& out, const Tensor& in, uint32_t mask) { extreme<Largest>("max", out, in, mask); }
void amin(const Tensor& out, const Tensor& in, uint32_t mask) { extreme<Smallest>("min", out, in, mask); }

void any(const Tensor& out, const Tensor& in, uint32_t mask) {
  dispatch(in.dtype(), ComputedTypes{}, "any",
           [&]<class T>(Type<T>) { reduce(Truth<AsBytes<T>, false>{}, out, in, mask); });
}
void all(const Tensor& out, const Tensor& in, uint32_t mask) {
  dispatch(in.dtype(), ComputedTypes{}, "all",
           [&]<class T>(Type<T>) { reduce(Truth<AsBytes<T>, true>{}, out, in, mask); });
}

void norm(const Tensor& out, const Tensor& in, uint32_t mask, double p) {
  dispatch(in.dtype(), FloatTypes{}, "norm", [&]<class T>(Type<T>) {
    if (p == 0)
      reduce(Norm0<T>{}, out, in, mask);
    else if (p == 1)
      reduce(Norm1<T>{}, out, in, mask);
    else if (p == 2)
      reduce(Norm2<T>{}, out, in, mask);
    else if (std::isinf(p) && p > 0)
      reduce(NormExtreme<T, Largest>{}, out, in, mask);
    else if (std::isinf(p))
      reduce(NormExtreme<T, Smallest>{}, out, in, mask);
    else
      reduce(NormP<T>{{}, static_cast<T>(p)}, out, in, mask);
  });
}

}  // namespace tandem::cpu
