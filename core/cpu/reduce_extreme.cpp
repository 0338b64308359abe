// amax, amin, any, all and norms on the CPU.
#include <cmath>

#include "tandem/core/cpu/extreme.h"
#include "tandem/core/cpu/reduce_tables.h"

namespace tandem::cpu {
namespace {

template <class T, template <class> class Order>
struct Extreme {
  using In = T;
  using Acc = T;
  using Out = T;
  static constexpr bool kParameter = false;
  T identity() const { return Order<T>::worst(); }
  T map(T x) const { return x; }
  T combine(T a, T b) const { return Order<T>::better(a, b) ? b : a; }
  T finish(T a) const { return a; }
};

// bool is one byte, 0 or 1.
template <class T>
using AsBytes = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

// any and all, on bytes.
template <class T, bool kAll>
struct Truth {
  using In = T;
  using Acc = uint8_t;
  using Out = bool;
  static constexpr bool kParameter = false;
  uint8_t identity() const { return kAll; }
  uint8_t map(T x) const { return x != T(0); }
  uint8_t combine(uint8_t a, uint8_t b) const { return kAll ? a & b : a | b; }
  bool finish(uint8_t a) const { return a != 0; }
};

template <class T>
struct NormFold {
  using In = T;
  using Acc = T;
  using Out = T;
  static constexpr bool kParameter = false;
  T identity() const { return 0; }
  T combine(T a, T b) const { return a + b; }
  T finish(T a) const { return a; }
};
template <class T>
struct Norm0 : NormFold<T> {
  T map(T x) const { return x != T(0) ? T(1) : T(0); }
};
template <class T>
struct Norm1 : NormFold<T> {
  T map(T x) const { return std::abs(x); }
};
template <class T>
struct Norm2 : NormFold<T> {
  T map(T x) const { return x * x; }
  T finish(T a) const { return std::sqrt(a); }
};
template <class T>
struct NormP : NormFold<T> {
  T p;
  T map(T x) const { return std::pow(std::abs(x), p); }
  T finish(T a) const { return std::pow(a, 1 / p); }
};
template <class T, template <class> class Order>
struct NormExtreme : Extreme<T, Order> {
  T identity() const { return Order<T>::better(T(0), T(1)) ? T(0) : Order<T>::worst(); }
  T map(T x) const { return std::abs(x); }
};

template <template <class> class Order>
void extreme(const char* name, const Tensor& out, const Tensor& in, uint32_t mask) {
  dispatch(in.dtype(), ComputedTypes{}, name,
           [&]<class T>(Type<T>) { reduce(Extreme<T, Order>{}, out, in, mask); });
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
