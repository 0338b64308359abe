// The kernels of all reductions. A Fold defines what is folded and where results are stored:
//
//   In, Acc; static constexpr bool kCascade: accumulators are restarted after a few elements, for accuracy
//   struct Parameter; Parameter parameter(int64_t to) const: per-output data for map and store
//   Acc identity() const; Acc map(In x, int64_t position, Parameter p) const; Acc combine(Acc a, Acc b)
//   const; void store(int64_t to, Acc a, Parameter p) const
//
// Folded makes a Fold from a policy of core/formulas/reduce_ops.h; its floats may be stored as a half type. No atomics: every fold has a fixed order.
#pragma once
#include "tandem/core/backend/kernel_arguments.h"
#include "tandem/core/formulas/reduce_ops.h"
#include "tandem/core/memory_format.h"
#include "tandem/core/tensor.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/pack.h"
#include "tandem/cuda/reduce_geometry.h"
#include "tandem/cuda/stored.h"
#include "tandem/cuda/strict/reduce.h"
#include "tandem/cuda/strict/strict.h"
#include "tandem/cuda/warp.h"

namespace tandem::cuda_impl {

inline constexpr int kReduceRounds = 16;  // loads before accumulators are restarted

template <class T>
inline constexpr bool is_rounded = std::is_floating_point_v<T>;
template <class T>
inline constexpr bool is_rounded<folds::Moments<T>> = true;

template <class T>
__device__ inline folds::Moments<T> shuffle_down(folds::Moments<T> m, int apart) {
  return {shuffle_down(m.sum, apart), shuffle_down(m.squares, apart)};
}

template <class R, class FloatIn, class FloatOut>
struct Folded {
  using In = stored_t<typename R::In, FloatIn>;
  using Acc = typename R::Acc;
  using Out = stored_t<typename R::Out, FloatOut>;
  using Parameter = typename R::Out;
  static constexpr bool kCascade = is_rounded<Acc>, kMean = std::is_same_v<R, folds::Mean<typename R::In>>;
  R r;
  Out* out;
  const Out* parameters;

  __device__ Parameter parameter([[maybe_unused]] int64_t to) const {
    if constexpr (R::kParameter)
      return static_cast<Parameter>(parameters[to]);
    else
      return Parameter();
  }
  __device__ Acc identity() const { return r.identity(); }
  __device__ Acc map(In x, int64_t, Parameter p) const {
    return folds::map_value(r, static_cast<typename R::In>(x), p);
  }
  __device__ Acc combine(Acc a, Acc b) const { return r.combine(a, b); }
  __device__ void store(int64_t to, Acc a, Parameter p) const {
    out[to] = static_cast<Out>(folds::finish_value(r, a, p));
  }
};

/// A few accumulators side by side, restarted after kReduceRounds.
template <class F, int kCount>
struct Accumulators {
  using Acc = typename F::Acc;
  static constexpr int kTotals = F::kCascade ? kCount : 1;
  Acc acc[kCount], total[kTotals];
  int rounds = 0;

  __device__ explicit Accumulators(const F& f) {
    for (int k = 0; k < kCount; ++k) acc[k] = f.identity();
    for (int k = 0; k < kTotals; ++k) total[k] = f.identity();
  }
  __device__ void round(const F& f) {
    if constexpr (F::kCascade) {
      if (++rounds < kReduceRounds) return;
      rounds = 0;
      for (int k = 0; k < kCount; ++k) {
        total[k] = f.combine(total[k], acc[k]);
        acc[k] = f.identity();
      }
    }
  }
  __device__ Acc get(const F& f, int k) const {
    if constexpr (F::kCascade)
      return f.combine(total[k], acc[k]);
    else
      return acc[k];
  }
};

// ---- rows

template <class F>
struct RowFold {
  using In = typename F::In;
  using Acc = typename F::Acc;
  static constexpr int kVector = row_vector(sizeof(In)), kLanes = kVector < 4 ? kVector : 4;

  // Adjacent elements; innermost is the contiguous dimension.
  template <int kUnroll>
  __device__ static void vectors(const F& f, const ReduceGeometry& g, const In* x, int64_t from,
                                 typename F::Parameter p, Accumulators<F, kLanes>& a) {
    Pack<In, kVector> packs[kUnroll];
    const int64_t apart = g.lanes * kVector;
    TANDEM_UNROLL
    for (int u = 0; u < kUnroll; ++u)
      packs[u] = *reinterpret_cast<const Pack<In, kVector>*>(x + g.reduced.offsets(from + u * apart).at[0]);
    // Each accumulator is processed in a separate variable: g++ 12 loses terms when it vectorises sums into
    // an array indexed by the inner of two loops.
    TANDEM_UNROLL
    for (int k = 0; k < kVector; ++k) {
      Acc acc = a.acc[k % kLanes];
      TANDEM_UNROLL
      for (int u = 0; u < kUnroll; ++u) acc = f.combine(acc, f.map(packs[u].x[k], from + u * apart + k, p));
      a.acc[k % kLanes] = acc;
    }
  }
  // Adjacent threads read adjacent elements.
  __device__ static void singles(const F& f, const ReduceGeometry& g, const In* x, int64_t from,
                                 typename F::Parameter p, Accumulators<F, kLanes>& a) {
    In values[kLanes];
    TANDEM_UNROLL
    for (int k = 0; k < kLanes; ++k) values[k] = x[g.reduced.offsets(from + k * g.lanes).at[0]];
    TANDEM_UNROLL
    for (int k = 0; k < kLanes; ++k) a.acc[k] = f.combine(a.acc[k], f.map(values[k], from + k * g.lanes, p));
  }

  // Folds this thread's share of the elements [from, until).
  __device__ static Acc range(const F& f, const ReduceGeometry& g, const In* x, int lane, int64_t from, int64_t until,
                              typename F::Parameter p) {
    Accumulators<F, kLanes> a(f);
    if (g.vector) {
      const int64_t apart = g.lanes * kVector;
      for (; from + kReduceUnroll * apart <= until; from += kReduceUnroll * apart) {
        vectors<kReduceUnroll>(f, g, x, from + lane * kVector, p, a);
        a.round(f);
      }
      TANDEM_NO_UNROLL
      for (; from + apart <= until; from += apart) vectors<1>(f, g, x, from + lane * kVector, p, a);
    }
    TANDEM_NO_UNROLL
    for (; from + kLanes * g.lanes <= until; from += kLanes * g.lanes) {
      singles(f, g, x, from + lane, p, a);
      a.round(f);
    }
    TANDEM_NO_UNROLL
    for (int64_t i = from + lane; i < until; i += g.lanes)
      a.acc[0] = f.combine(a.acc[0], f.map(x[g.reduced.offsets(i).at[0]], i, p));
    Acc acc = a.get(f, 0);
    TANDEM_UNROLL
    for (int k = 1; k < kLanes; ++k) acc = f.combine(acc, a.get(f, k));
    return acc;
  }
};

// Folds across `lanes` adjacent threads; the first of them gets the result. Must be called by whole blocks.
template <class F>
__device__ typename F::Acc fold_lanes(const F& f, typename F::Acc acc, int lanes) {
  using Acc = typename F::Acc;
  for (int apart = (lanes < 32 ? lanes : 32) / 2; apart > 0; apart /= 2) acc = f.combine(acc, shuffle_down(acc, apart));
  if (lanes <= 32) return acc;
  __shared__ Acc warps[kReduceThreads / 32];
  const int thread = static_cast<int>(threadIdx.x);
  if (thread % 32 == 0) warps[thread / 32] = acc;
  __syncthreads();
  acc = warps[thread % 8];
  for (int apart = 4; apart > 0; apart /= 2) acc = f.combine(acc, shuffle_down(acc, apart));
  return acc;
}

// `partial` null: there is one part, and the results are stored directly.
template <class F>
__global__ void __launch_bounds__(kReduceThreads)
    reduce_rows(F f, ReduceGeometry g, const typename F::In* in, typename F::Acc* partial) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread & (g.lanes - 1);
  const int64_t unit = int64_t{blockIdx.x} * (kReduceThreads / g.lanes) + thread / g.lanes;
  const bool active = unit < g.outputs * g.parts;
  typename F::Acc acc = f.identity();
  typename F::Parameter p{};
  int64_t to = 0;
  if (active) {
    const int64_t part = g.parts == 1 ? 0 : unit / g.outputs, from = part * g.part_size;
    const auto at = g.kept.offsets(unit - part * g.outputs);
    to = at.at[1];
    p = f.parameter(to);
    const typename F::In* row = g.elements == 0 ? in : in + at.at[0];  // an empty tensor may have no memory
    acc =
        RowFold<F>::range(f, g, row, lane, from, from + g.part_size < g.elements ? from + g.part_size : g.elements, p);
  }
  acc = fold_lanes(f, acc, g.lanes);
  if (!active || lane != 0) return;
  if (partial != nullptr)
    partial[unit] = acc;
  else
    f.store(to, acc, p);
}

// ---- columns

template <class F>
struct ColumnFold {
  using In = typename F::In;
  using Acc = typename F::Acc;
  static constexpr int kVector = column_vector(sizeof(In));

  template <int kUnroll>
  __device__ static void step(const F& f, const ReduceGeometry& g, const In* x, const int64_t* column, int64_t from,
                              int rows, const typename F::Parameter* p, Accumulators<F, kVector>& a) {
    Pack<In, kVector> values[kUnroll];
    TANDEM_UNROLL
    for (int u = 0; u < kUnroll; ++u) {
      const In* row = x + g.reduced.offsets(from + u * rows).at[0];
      if (g.vector) {
        values[u] = *reinterpret_cast<const Pack<In, kVector>*>(row + column[0]);
      } else {
        TANDEM_UNROLL
        for (int k = 0; k < kVector; ++k) values[u].x[k] = row[column[k] * g.width_in];
      }
    }
    TANDEM_UNROLL
    for (int k = 0; k < kVector; ++k) {
      Acc acc = a.acc[k];
      TANDEM_UNROLL
      for (int u = 0; u < kUnroll; ++u) acc = f.combine(acc, f.map(values[u].x[k], from + u * rows, p[k]));
      a.acc[k] = acc;
    }
  }
};

template <class F>
__global__ void __launch_bounds__(kReduceThreads)
    reduce_columns(F f, ReduceGeometry g, const typename F::In* in, typename F::Acc* partial) {
  using Columns = ColumnFold<F>;
  constexpr int kVector = Columns::kVector;
  __shared__ typename F::Acc shared[kVector][kReduceThreads];
  const int thread = static_cast<int>(threadIdx.x), lane = thread & (g.lanes - 1), row = thread / g.lanes,
            rows = kReduceThreads / g.lanes;
  const int64_t block = blockIdx.x, part = block / g.units, unit = block - part * g.units, plane = unit / g.tiles,
                first = (unit - plane * g.tiles) * g.lanes * kVector;
  const auto at = g.kept.offsets(plane);
  int64_t column[kVector];  // outside the matrix: set to its last columns, and the result is discarded
  bool inside[kVector];
  typename F::Parameter p[kVector];
  for (int k = 0; k < kVector; ++k) {
    column[k] = first + (g.vector ? lane * kVector + k : k * g.lanes + lane);
    inside[k] = column[k] < g.width;
    if (!inside[k]) column[k] = g.width - (g.vector ? kVector - k : 1);
    p[k] = f.parameter(at.at[1] + column[k] * g.width_out);
  }
  Accumulators<F, kVector> a(f);
  int64_t from = part * g.part_size;
  const int64_t until = from + g.part_size < g.elements ? from + g.part_size : g.elements;
  from += row;
  for (; from + (kReduceUnroll - 1) * rows < until; from += kReduceUnroll * rows) {
    Columns::template step<kReduceUnroll>(f, g, in + at.at[0], column, from, rows, p, a);
    a.round(f);
  }
  for (; from < until; from += rows) Columns::template step<1>(f, g, in + at.at[0], column, from, rows, p, a);
  for (int k = 0; k < kVector; ++k) shared[k][thread] = a.get(f, k);
  for (int half = rows / 2; half > 0; half /= 2) {
    __syncthreads();
    if (row < half)
      for (int k = 0; k < kVector; ++k)
        shared[k][thread] = f.combine(shared[k][thread], shared[k][thread + half * g.lanes]);
  }
  if (row != 0) return;
  for (int k = 0; k < kVector; ++k) {
    if (!inside[k]) continue;
    if (partial != nullptr)
      partial[part * g.outputs + plane * g.width + column[k]] = shared[k][thread];
    else
      f.store(at.at[1] + column[k] * g.width_out, shared[k][thread], p[k]);
  }
}

// ---- parts

// partial[part][output], with outputs in the order of the kept dimensions.
template <class F>
__global__ void __launch_bounds__(kReduceThreads)
    reduce_parts(F f, LongWalk<2> kept, int64_t width, int64_t width_out, int64_t outputs, int64_t parts, int lanes,
                 const typename F::Acc* partial) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread & (lanes - 1);
  const int64_t output = int64_t{blockIdx.x} * (kReduceThreads / lanes) + thread / lanes;
  typename F::Acc acc = f.identity();
  if (output < outputs)
    for (int64_t part = lane; part < parts; part += lanes) acc = f.combine(acc, partial[part * outputs + output]);
  acc = fold_lanes(f, acc, lanes);
  if (output >= outputs || lane != 0) return;
  const int64_t plane = width == 1 ? output : output / width;
  const int64_t to = kept.offsets(plane).at[1] + (output - plane * width) * width_out;
  f.store(to, acc, f.parameter(to));
}

/// Folds `in` over the dimensions of `mask`; out provides the strides of the outputs.
template <class F>
void launch_reduce(const char* operation, const F& f, const Tensor& out, const Tensor& in, uint32_t mask) {
  using Acc = typename F::Acc;
  Context& c = context(out.device());
  const ReduceDims dims = make_reduce_dims(out, in, mask);
  if (dims.outputs == 0) return;
  const auto* x = static_cast<const typename F::In*>(in.data_ptr());
  const ReduceGeometry g = make_reduce_geometry(dims, sizeof(typename F::In), reinterpret_cast<uintptr_t>(x));
  Tensor scratch;
  Acc* partial = nullptr;
  if (g.parts > 1) {
    scratch = empty_raw({g.parts * g.outputs * static_cast<int64_t>(sizeof(Acc))}, kByte, out.device());
    partial = static_cast<Acc*>(scratch.data_ptr());
  }
  launch(operation, c, {g.blocks(), kReduceThreads}, g.columns ? reduce_columns<F> : reduce_rows<F>, f, g, x, partial);
  if (g.parts == 1) return;
  const int lanes = join_lanes(g.parts);
  launch(operation, c, {ceil_div(g.outputs, kReduceThreads / lanes), kReduceThreads}, reduce_parts<F>, f, g.kept,
         g.width, g.width_out, g.outputs, g.parts, lanes, partial);
}

/// For ReduceMaker and ExtremeMaker (core/formulas/reduce_kernels.h).
struct ReduceLoops {
  template <class R>
  static void reduce(const char* operation, const R& r, const Tensor& out, const Tensor& in, uint32_t mask,
                     const Tensor* parameter = nullptr) {
    if constexpr (is_rounded<typename R::Acc>)
      if (is_strict()) return reduce_in_order(operation, r, out, in, mask, parameter);
    dispatch_stored<typename R::In>(in.dtype(), [&]<class From>(Type<From>) {
      const auto run = [&]<class To>(Type<To>) {
        using Fold = Folded<R, From, To>;
        using Out = typename Fold::Out;
        launch_reduce(operation,
                      Fold{r, static_cast<Out*>(out.data_ptr()),
                           parameter != nullptr ? static_cast<const Out*>(parameter->data_ptr()) : nullptr},
                      out, in, mask);
      };
      if constexpr (!std::is_same_v<From, float> && std::is_same_v<typename R::Out, float>)
        if (out.dtype() == kFloat) return run(Type<float>{});
      run(Type<From>{});
    });
  }

 private:
  // As on the CPU: half types are converted to float beforehand, and channels-last inputs copied row-major.
  template <class R>
  static void reduce_in_order(const char* operation, const R& r, const Tensor& out, const Tensor& in, uint32_t mask,
                              const Tensor* parameter) {
    using Fold = Folded<R, float, float>;
    const tandem::detail::FloatArgument<const Tensor&> result(out, true, false), input(in, false, true);
    const Tensor& x = input.value;
    const bool turned = is_channels_last(x.suggest_memory_format()) && !x.is_contiguous();
    const Tensor p = parameter == nullptr ? Tensor() : tandem::detail::computed(*parameter);
    strict::launch_reduce(operation,
                          Fold{r, result.value.template ptr<typename Fold::Out>(), data_or_null<typename Fold::Out>(p)},
                          result.value, turned ? row_major_copy(x) : x, mask);
    result.store();
  }
};

}  // namespace tandem::cuda_impl
