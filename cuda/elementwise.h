// Elementwise kernels: out[i] = f(in0[i], in1[i], …) for operands with any strides, one kernel per functor. A functor of
// float also serves the half types: elements are converted as they are loaded and stored.
//
// A thread loads several elements into registers before it computes the first. If the rows of every operand
// allow it, elements are accessed in 16-byte vectors; otherwise one by one, with neighbouring threads on
// neighbouring elements. A number, or an operand constant along a row, is read once per vector.
#pragma once
#include <utility>

#include "tandem/core/backend/kernel.h"
#include "tandem/cuda/elementwise_plan.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/pack.h"
#include "tandem/cuda/stored.h"

namespace tandem::cuda_impl {

/// Elements per vector when these types are accessed together.
template <class... Ts>
inline constexpr int widest_vector = vector_count(std::max({sizeof(Ts)...}));

/// One input of a kernel, whose elements are stored as `Stored`.
template <class T, class Stored = T>
struct Input {
  const Stored* data = nullptr;  ///< null: use the number
  T number{};

  __device__ T element(uint32_t offset) const {
    return data != nullptr ? static_cast<T>(data[static_cast<int32_t>(offset)]) : number;  // the offset may be negative
  }
  /// The elements at E offsets; 1 where not inside.
  template <int E>
  __device__ void elements(const uint32_t (&offsets)[E], const bool (&inside)[E], T* to) const {
    if (data == nullptr) {
#pragma unroll
      for (int e = 0; e < E; ++e) to[e] = number;
    } else {
#pragma unroll
      for (int e = 0; e < E; ++e)
        to[e] = inside[e] ? static_cast<T>(data[static_cast<int32_t>(offsets[e])]) : static_cast<T>(1);
    }
  }
  /// V consecutive elements from each of U offsets, or V copies of the element there.
  template <int V, int U>
  __device__ void vectors(const uint32_t (&offsets)[U], bool repeated, T* to) const {
    if (data == nullptr || repeated) {
#pragma unroll
      for (int u = 0; u < U; ++u) {
        const T value = element(offsets[u]);
#pragma unroll
        for (int v = 0; v < V; ++v) to[u * V + v] = value;
      }
    } else {
#pragma unroll
      for (int u = 0; u < U; ++u) {
        const auto values = *reinterpret_cast<const Pack<Stored, V>*>(data + static_cast<int32_t>(offsets[u]));
#pragma unroll
        for (int v = 0; v < V; ++v) to[u * V + v] = static_cast<T>(values.x[v]);
      }
    }
  }
};

/// The offsets of E positions, for each of N operands.
template <int N, int E>
__device__ inline void walk(const Walk<N>& by, const uint32_t (&positions)[E], uint32_t (&offsets)[N][E]) {
  uint32_t rest[E];
#pragma unroll
  for (int e = 0; e < E; ++e) {
    rest[e] = positions[e];
#pragma unroll
    for (int k = 0; k < N; ++k) offsets[k][e] = 0;
  }
#pragma unroll 1
  for (int d = 0; d < by.ndim; ++d) {
    const FastDivide size = by.sizes[d];
#pragma unroll
    for (int e = 0; e < E; ++e) {
      const uint32_t quotient = size.quotient(rest[e]), index = rest[e] - quotient * size.divisor;
#pragma unroll
      for (int k = 0; k < N; ++k) offsets[k][e] += index * by.strides[d][k];
      rest[e] = quotient;
    }
  }
}

/// The kernel's parameter. F has types Out and In, and an operator() with N arguments.
template <class F, int N, class Float>
struct Elementwise {
  F f;
  stored_t<typename F::Out, Float>* out;
  Input<typename F::In, stored_t<typename F::In, Float>> in[N];
  ElementwisePiece<N + 1> piece;
};

template <class F, int N, class Float>
__global__ void elementwise_kernel(const Elementwise<F, N, Float> p) {
  using In = typename F::In;
  using Out = stored_t<typename F::Out, Float>;
  constexpr int V = widest_vector<stored_t<In, Float>, Out>, U = vectors_a_thread(V, N), E = U * V;
  const uint32_t first = blockIdx.x * static_cast<uint32_t>(kElementThreads * E);
  In x[N][E];
  uint32_t to[E];
  // The last block may be partial: it goes element by element.
  const bool by_vectors = p.piece.vectors && p.piece.numel - first >= kElementThreads * E;
  if (by_vectors) {
    uint32_t positions[U], offsets[N + 1][U];
#pragma unroll
    for (int u = 0; u < U; ++u) positions[u] = first + (u * kElementThreads + threadIdx.x) * V;
    walk(p.piece.walk, positions, offsets);
#pragma unroll
    for (int k = 0; k < N; ++k) p.in[k].template vectors<V>(offsets[k + 1], p.piece.walk.strides[0][k + 1] == 0, x[k]);
#pragma unroll
    for (int u = 0; u < U; ++u) to[u] = offsets[0][u];
  } else {
    uint32_t positions[E], offsets[N + 1][E];
#pragma unroll
    for (int e = 0; e < E; ++e) positions[e] = first + e * kElementThreads + threadIdx.x;
    walk(p.piece.walk, positions, offsets);
    bool inside[E];
#pragma unroll
    for (int e = 0; e < E; ++e) {
      inside[e] = positions[e] < p.piece.numel;
      to[e] = inside[e] ? offsets[0][e] : kNoElement;
    }
#pragma unroll
    for (int k = 0; k < N; ++k) p.in[k].elements(offsets[k + 1], inside, x[k]);
  }
  typename F::Out y[E];
#pragma unroll
  for (int e = 0; e < E; ++e) {
    if constexpr (N == 0)
      y[e] = p.f();
    else if constexpr (N == 1)
      y[e] = p.f(x[0][e]);
    else if constexpr (N == 2)
      y[e] = p.f(x[0][e], x[1][e]);
    else
      y[e] = p.f(x[0][e], x[1][e], x[2][e]);
  }
  if (by_vectors) {
#pragma unroll
    for (int u = 0; u < U; ++u) {
      Pack<Out, V> values;
#pragma unroll
      for (int v = 0; v < V; ++v) values.x[v] = static_cast<Out>(y[u * V + v]);
      *reinterpret_cast<Pack<Out, V>*>(p.out + to[u]) = values;
    }
  } else {
#pragma unroll
    for (int e = 0; e < E; ++e)
      if (to[e] != kNoElement) p.out[to[e]] = static_cast<Out>(y[e]);
  }
}

/// Launches the kernel for every piece of a walk over the output and N inputs. `numbers` are the values of
/// operands that are not tensors. `operation` is a string literal, for messages.
template <class F, int N, class Float = float>
void run_elementwise(const char* operation, Context& c, const F& f, const typename F::In (&numbers)[N],
                     const LoopPlan<N + 1>& plan) {
  using In = stored_t<typename F::In, Float>;
  using Out = stored_t<typename F::Out, Float>;
  constexpr int count = widest_vector<In, Out>;
  Elementwise<F, N, Float> p{f, nullptr, {}, {}};
  for (int k = 0; k < N; ++k) p.in[k].number = numbers[k];
  auto start = [&](const Piece<N + 1>& piece, bool vectors) {
    p.out = reinterpret_cast<Out*>(piece.data[0]);
    for (std::size_t k = 0; k < N; ++k) p.in[k].data = reinterpret_cast<const In*>(piece.data[k + 1]);
    p.piece = {piece.numel, vectors, piece.walk};
    launch(operation, c, grid_for(piece.numel, count * vectors_a_thread(count, N), kElementThreads),
           elementwise_kernel<F, N, Float>, p);
  };
  for_elementwise_pieces<N + 1>(plan, count, PieceCall<N + 1>(start));
}

/// Runs F over tensors and numbers; numbers are converted to its type. The tensors of a functor of float have one dtype,
/// which may be a half type.
template <class F, int N>
void elementwise(const char* operation, const F& f, const Tensor& out, const Operand* const (&in)[N]) {
  typename F::In numbers[N] = {};
  std::array<const Tensor*, N + 1> tensors{&out};
  for (int k = 0; k < N; ++k) {
    tensors[static_cast<std::size_t>(k) + 1] = in[k]->tensor;
    if (in[k]->tensor == nullptr) numbers[k] = in[k]->scalar.template to<typename F::In>();
  }
  Context& c = context(out.device());
  const LoopPlan<N + 1> plan = make_plan<N + 1>(tensors);
  ScalarType type = out.dtype();
  for (const Operand* operand : in)
    if (operand->tensor != nullptr) type = operand->tensor->dtype();
  dispatch_stored<typename F::In>(
      type, [&]<class Float>(Type<Float>) { run_elementwise<F, N, Float>(operation, c, f, numbers, plan); });
}

}  // namespace tandem::cuda_impl
