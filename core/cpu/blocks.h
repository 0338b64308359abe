// Elementwise loops of any strides by way of loops of unit stride: operands of other strides are gathered
// into a buffer, results scattered from one. So a function is compiled once for each type, and everything
// around it once for all functions.
#pragma once
#include "tandem/core/cpu/loop.h"
#include "tandem/core/kernels/kernel.h"

namespace tandem::cpu {

inline constexpr int64_t kBlock = 512;

/// out[i] = f(in[0][i], in[1][i], …; p, q) for i < n.
template <class Out, class In, std::size_t N>
using UnitLoop = void (*)(Out* out, const std::array<const In*, N>& in, int64_t n, In p, In q);

template <class T>
[[gnu::noinline]] void gather(T* to, const T* from, int64_t stride, int64_t n) {
  if (stride == 0)
    std::fill_n(to, n, *from);
  else
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * stride];
}
template <class T>
[[gnu::noinline]] void scatter(T* to, int64_t stride, const T* from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i * stride] = from[i];
}

/// One run of elements; the first stride is out's.
template <class Out, class In, std::size_t N>
void run_blocks(Out* out, const std::array<const In*, N>& in, const std::array<int64_t, N + 1>& strides,
                int64_t n, UnitLoop<Out, In, N> loop, In p, In q) {
  if (std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s == 1; }))
    return loop(out, in, n, p, q);
  In buffers[N][kBlock];
  Out results[kBlock];
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = std::min(kBlock, n - i);
    std::array<const In*, N> at;
    for (std::size_t k = 0; k < N; ++k) {
      const int64_t stride = strides[k + 1];
      at[k] = in[k] + i * stride;
      if (stride == 1) continue;
      if (stride != 0 || i == 0) gather(buffers[k], at[k], stride, count);
      at[k] = buffers[k];
    }
    Out* to = out + i * strides[0];
    loop(strides[0] == 1 ? to : results, at, count, p, q);
    if (strides[0] != 1) scatter(to, strides[0], results, count);
  }
}

/// The whole of an elementwise operation with inputs of type In.
template <class Out, class In, std::size_t N>
void elementwise(const Tensor& out, const std::array<Operand, N>& in, UnitLoop<Out, In, N> loop, In p = {},
                 In q = {}) {
  std::array<In, N> numbers{};
  std::array<const In*, N> data;
  std::array<int64_t, N + 1> strides;
  std::array<const Tensor*, N + 1> tensors;
  tensors[0] = &out;
  strides[0] = 1;
  const int64_t total = out.numel();
  bool flat = out.is_contiguous();
  for (std::size_t k = 0; k < N; ++k) {
    const Tensor* t = tensors[k + 1] = in[k].tensor;
    if (t == nullptr) numbers[k] = in[k].scalar.template to<In>();
    data[k] = t == nullptr ? &numbers[k] : t->template ptr<In>();
    strides[k + 1] = t != nullptr && (total == 1 || t->numel() != 1);
    flat = flat && (t == nullptr || t->numel() == 1 || (t->is_contiguous() && t->numel() == total));
  }
  if (flat)
    return parallel_for(total, kGrain, [&](int64_t begin, int64_t end) {
      std::array<const In*, N> at = data;
      for (std::size_t k = 0; k < N; ++k) at[k] += begin * strides[k + 1];
      run_blocks(out.ptr<Out>() + begin, at, strides, end - begin, loop, p, q);
    });
  parallel_runs(
      make_plan<static_cast<int>(N + 1)>(tensors), [&](const auto& pointers, const auto& s, int64_t n) {
        std::array<const In*, N> at;
        for (std::size_t k = 0; k < N; ++k)
          at[k] = pointers[k + 1] != nullptr ? reinterpret_cast<const In*>(pointers[k + 1]) : &numbers[k];
        run_blocks(reinterpret_cast<Out*>(pointers[0]), at, s, n, loop, p, q);
      });
}

}  // namespace tandem::cpu
