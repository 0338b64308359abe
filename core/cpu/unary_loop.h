// The loops of one-argument functions and of their gradients.
//
// The function itself appears in one place, a loop over unit strides that compilers vectorise; other strides
// are gathered into a buffer and scattered from it.
#pragma once
#include "tandem/core/cpu/loop.h"
#include "tandem/core/kernels/kernel.h"

namespace tandem::cpu {

inline constexpr int64_t kBlock = 512;

template <class Op, class T>
TANDEM_HD inline T apply_unary(T x, T p, T q) {
  if constexpr (requires { Op::apply(x); })
    return Op::apply(x);
  else if constexpr (requires { Op::apply(x, p); })
    return Op::apply(x, p);
  else
    return Op::apply(x, p, q);
}
template <class Op, class T>
TANDEM_HD inline T apply_gradient(T g, T saved, T p, T q) {
  if constexpr (requires { Op::gradient(g, saved); })
    return Op::gradient(g, saved);
  else if constexpr (requires { Op::gradient(g, saved, p); })
    return Op::gradient(g, saved, p);
  else
    return Op::gradient(g, saved, p, q);
}

template <class Op, class T>
[[gnu::noinline]] void unary_block(T* out, const T* in, int64_t n, T p, T q) {
  if constexpr (requires(T x) { Op::outside(x); }) {
    bool any = false;
    for (int64_t i = 0; i < n; ++i) any |= Op::outside(in[i]);
    if (any) [[unlikely]] {
      for (int64_t i = 0; i < n; ++i)
        out[i] = Op::outside(in[i]) ? Op::exact(in[i]) : apply_unary<Op>(in[i], p, q);
      return;
    }
  }
  for (int64_t i = 0; i < n; ++i) out[i] = apply_unary<Op>(in[i], p, q);
}
template <class Op, class T>
[[gnu::noinline]] void gradient_block(T* out, const T* g, const T* saved, int64_t n, T p, T q) {
  for (int64_t i = 0; i < n; ++i) out[i] = apply_gradient<Op>(g[i], saved[i], p, q);
}

template <class T>
inline void gather(T* to, const T* from, int64_t stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = from[i * stride];
}
template <class T>
inline void scatter(T* to, int64_t stride, const T* from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i * stride] = from[i];
}

/// run(out, in[0], …, n) on unit strides, whatever the strides of the operands are.
template <class T, int N, class Run>
void blocks(const std::array<char*, N>& pointers, const std::array<int64_t, N>& strides, int64_t n,
            Run&& run) {
  T buffers[N][kBlock];
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = std::min(kBlock, n - i);
    T* at[N];
    for (std::size_t k = 0; k < N; ++k) {
      at[k] = reinterpret_cast<T*>(pointers[k]) + i * strides[k];
      if (strides[k] == 1) continue;
      if (k > 0) gather(buffers[k], at[k], strides[k], count);
      at[k] = buffers[k];
    }
    run(at, count);
    if (strides[0] != 1)
      scatter(reinterpret_cast<T*>(pointers[0]) + i * strides[0], strides[0], at[0], count);
  }
}

template <class Op, class T>
void unary_typed(const Tensor& out, const Tensor& in, T p, T q) {
  if (out.is_contiguous() && in.is_contiguous() && in.numel() == out.numel()) {
    T* o = out.ptr<T>();
    const T* x = in.ptr<T>();
    parallel_for(out.numel(), kGrain, [=](int64_t begin, int64_t end) {
      unary_block<Op>(o + begin, x + begin, end - begin, p, q);
    });
    return;
  }
  parallel_runs(make_plan<2>({&out, &in}), [p, q](const auto& pointers, const auto& strides, int64_t n) {
    blocks<T, 2>(pointers, strides, n,
                 [p, q](T** at, int64_t count) { unary_block<Op>(at[0], at[1], count, p, q); });
  });
}

template <class Op, class T>
void gradient_typed(const Tensor& out, const Tensor& g, const Tensor& saved, T p, T q) {
  if (out.is_contiguous() && g.is_contiguous() && saved.is_contiguous() && g.sizes() == out.sizes()) {
    T* o = out.ptr<T>();
    const T *a = g.ptr<T>(), *x = saved.ptr<T>();
    parallel_for(out.numel(), kGrain, [=](int64_t begin, int64_t end) {
      gradient_block<Op>(o + begin, a + begin, x + begin, end - begin, p, q);
    });
    return;
  }
  parallel_runs(
      make_plan<3>({&out, &g, &saved}), [p, q](const auto& pointers, const auto& strides, int64_t n) {
        blocks<T, 3>(pointers, strides, n,
                     [p, q](T** at, int64_t count) { gradient_block<Op>(at[0], at[1], at[2], count, p, q); });
      });
}

/// Make the entries of a KernelArray: functions, and gradients.
struct UnaryMaker {
  template <class Op>
  static constexpr auto make() {
    return +[](const Tensor& out, const Tensor& in, const Scalar* parameters) {
      dispatch(in.dtype(), typename Op::Types{}, Op::name, [&]<class T>(Type<T>) {
        const bool has = parameters != nullptr;
        unary_typed<Op, T>(out, in, has ? parameters[0].to<T>() : T(), has ? parameters[1].to<T>() : T());
      });
    };
  }
};
struct GradientMaker {
  template <class Op>
  static constexpr auto make() {
    return +[](const Tensor& out, const Tensor& g, const Tensor& saved, const Scalar* parameters) {
      dispatch(out.dtype(), FloatTypes{}, Op::name, [&]<class T>(Type<T>) {
        const bool has = parameters != nullptr;
        gradient_typed<Op, T>(out, g, saved, has ? parameters[0].to<T>() : T(),
                              has ? parameters[1].to<T>() : T());
      });
    };
  }
};

}  // namespace tandem::cpu
