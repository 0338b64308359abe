// Folds in the CPU's order (core/cpu/reduce_loop.h), for launch_reduce's F (cuda/ops/reduce_loop.h).
//
// The elements of an output are folded in blocks: by a block of threads that are the CPU's lanes (inner layout), or by one
// thread (outer layout, and few elements). Then kernels combine the results of kJoined blocks pairwise, until one is left.
#pragma once
#include "tandem/core/formulas/reduce_ops.h"
#include "tandem/core/reduce_dims.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/long_walk.h"

namespace tandem::cuda_impl::strict {

inline constexpr int kFoldThreads = 256, kJoinLevels = 5, kJoined = 1 << kJoinLevels;

template <class Acc>
inline constexpr bool is_moments = false;
template <class T>
inline constexpr bool is_moments<folds::Moments<T>> = true;

/// The lanes of a block in the inner layout.
template <class Acc>
constexpr int fold_lanes_of() {
  return sizeof(Acc) >= 16 ? 16 : static_cast<int>(256 / sizeof(Acc));
}

/// How the CPU folds, as in its ReducePlan. A kernel parameter.
struct FoldOrder {
  bool outer = false, few = false;    ///< few: one after the other
  int64_t elements = 0, outputs = 0;  ///< reduced elements per output; number of outputs
  int64_t block = 0;                  ///< reduced elements of one output in a block
  int64_t run = 1, stride = 1;        ///< of the last reduced dimension: its size and stride
  int64_t width = 1, tile = 1;  ///< outer: the size of the last kept dimension, and outputs that the CPU folds at once
  bool dense = false;           ///< outer: the last kept dimension has stride 1
  LongWalk<1> reduced;
  LongWalk<2> kept;
};

/// `accumulator`: bytes of an accumulator; `lanes`, `moments`: of the inner layout.
inline FoldOrder make_fold_order(const ReduceDims& dims, int64_t accumulator, int lanes, bool moments) {
  FoldOrder o;
  o.outer = dims.outer;
  o.elements = dims.elements;
  o.outputs = dims.outputs;
  if (dims.reduced_count > 0) {
    o.run = dims.reduced[dims.reduced_count - 1].size;
    o.stride = dims.reduced[dims.reduced_count - 1].in;
  }
  o.few = !o.outer && dims.reduced_count <= 1 && o.elements < 32;
  if (o.outer) {
    o.width = dims.kept[dims.kept_count - 1].size;
    o.dense = dims.kept[dims.kept_count - 1].in == 1;
    o.tile = 4096 / accumulator;
    o.block = outer_block(o.width);
  } else {
    o.block = moments ? 2048 : 32 * lanes;
  }
  for (int d = dims.reduced_count - 1; d >= 0; --d) o.reduced.push(dims.reduced[d].size, {dims.reduced[d].in});
  for (int d = dims.kept_count - 1; d >= 0; --d) o.kept.push(dims.kept[d].size, {dims.kept[d].in, dims.kept[d].out});
  o.reduced.wide = o.elements >= int64_t{1} << 31;
  o.kept.wide = o.outputs >= int64_t{1} << 31;
  return o;
}

/// Where results go: to `partial`, [blocks, outputs], or, if it is null, to the output.
template <class F>
struct FoldResults {
  F f;
  typename F::Acc* partial;
  __device__ void put(int64_t block, int64_t output, int64_t outputs, int64_t to, typename F::Acc acc,
                      typename F::Parameter p) const {
    if (partial != nullptr)
      partial[block * outputs + output] = acc;
    else
      f.store(to, acc, p);
  }
};

/// Calls run(offset, count) for each run along the last reduced dimension in a block.
template <class Run>
__device__ inline void for_runs(const FoldOrder& o, int64_t block, Run run) {
  const int64_t begin = block * o.block, end = begin + o.block < o.elements ? begin + o.block : o.elements;
  for (int64_t i = begin; i < end;) {
    const int64_t left = o.run - i % o.run, count = left < end - i ? left : end - i;
    run(o.reduced.offsets(i).at[0], count);
    i += count;
  }
}

// ---- inner layout

/// Folds the lanes of a block of threads by halves; every thread gets the result.
template <class F>
__device__ typename F::Acc fold_halves(const F& f, typename F::Acc acc, typename F::Acc* lanes) {
  const int lane = static_cast<int>(threadIdx.x);
  lanes[lane] = acc;
  for (int width = static_cast<int>(blockDim.x) / 2; width > 0; width /= 2) {
    __syncthreads();
    if (lane < width) lanes[lane] = f.combine(lanes[lane], lanes[lane + width]);
  }
  __syncthreads();
  acc = lanes[0];
  __syncthreads();  // lanes may be reused
  return acc;
}

/// Deviations and their squares of a contiguous run, as the CPU's run_moments.
template <class F>
__device__ typename F::Acc run_moments(const F& f, const typename F::In* x, int64_t n, typename F::Parameter mean,
                                       typename F::Acc* lanes) {
  using Acc = typename F::Acc;
  const int64_t wide = blockDim.x, whole = n / wide * wide;
  const auto add = [&](Acc to, int64_t i) {
    const auto d = x[i] - mean;
    return Acc{to.sum + d, math::fma(d, d, to.squares)};
  };
  Acc acc = f.identity(), rest = f.identity();
  for (int64_t i = threadIdx.x; i < whole; i += wide) acc = add(acc, i);
  acc = fold_halves(f, acc, lanes);
  if (threadIdx.x == 0)
    for (int64_t i = whole; i < n; ++i) rest = add(rest, i);
  return whole == 0 ? rest : f.combine(rest, acc);
}

/// One block of threads per output and block of elements.
template <class F>
__global__ void __launch_bounds__(fold_lanes_of<typename F::Acc>())
    fold_inner(FoldResults<F> to, FoldOrder o, const typename F::In* in) {
  using Acc = typename F::Acc;
  __shared__ Acc lanes[fold_lanes_of<Acc>()];
  const F& f = to.f;
  const int64_t block = blockIdx.x / o.outputs, output = blockIdx.x - block * o.outputs;
  const auto at = o.kept.offsets(output);
  const typename F::Parameter p = f.parameter(at.at[1]);
  Acc acc = f.identity();
  bool folded = false;
  if constexpr (is_moments<Acc>) {
    if (o.stride == 1) {
      for_runs(o, block, [&](int64_t offset, int64_t n) {
        acc = f.combine(acc, run_moments(f, in + at.at[0] + offset, n, p, lanes));
      });
      folded = true;
    }
  }
  if (!folded) {
    for_runs(o, block, [&](int64_t offset, int64_t n) {
      const typename F::In* x = in + at.at[0] + offset;
      for (int64_t i = threadIdx.x; i < n; i += blockDim.x) acc = f.combine(acc, f.map(x[i * o.stride], 0, p));
    });
    acc = fold_halves(f, acc, lanes);
  }
  if (threadIdx.x == 0) to.put(block, output, o.outputs, at.at[1], acc, p);
}

// ---- one thread per output and block

/// Folds x[i * row], i < n, into acc: four at a time.
template <class F>
__device__ typename F::Acc fold_rows(const F& f, typename F::Acc acc, const typename F::In* x, int64_t row, int64_t n,
                                     typename F::Parameter p) {
  const auto at = [&](int64_t i) { return f.map(x[i * row], 0, p); };
  int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    acc = f.combine(acc, f.combine(f.combine(at(i), at(i + 1)), f.combine(at(i + 2), at(i + 3))));
  for (; i < n; ++i) acc = f.combine(acc, at(i));
  return acc;
}

/// Rows that the CPU folds several at once, as one wide row.
template <class F>
__device__ typename F::Acc fold_narrow(const F& f, typename F::Acc acc, const typename F::In* x, int64_t width,
                                       int64_t rows, typename F::Parameter p) {
  const int64_t group = 128 / width, wide = group * width, groups = rows / group;
  for (int64_t g = 0; g < group; ++g) acc = f.combine(acc, fold_rows(f, f.identity(), x + g * width, wide, groups, p));
  return fold_rows(f, acc, x + groups * wide, width, rows - groups * group, p);
}

/// The elements one after the other; those of a mean in double.
template <class F>
__device__ typename F::Acc fold_few(const F& f, const FoldOrder& o, const typename F::In* x, typename F::Parameter p) {
  using Acc = typename F::Acc;
  if constexpr (F::kMean) {
    double sum = 0;
    for (int64_t i = 0; i < o.elements; ++i) sum += static_cast<double>(x[i * o.stride]);
    return static_cast<Acc>(sum);
  } else {
    Acc acc = f.identity();
    for (int64_t i = 0; i < o.elements; ++i) acc = f.combine(acc, f.map(x[i * o.stride], 0, p));
    return acc;
  }
}

template <class F>
__global__ void __launch_bounds__(kFoldThreads)
    fold_by_threads(FoldResults<F> to, FoldOrder o, int64_t count, const typename F::In* in) {
  const int64_t unit = int64_t{blockIdx.x} * kFoldThreads + threadIdx.x;
  if (unit >= count) return;
  const F& f = to.f;
  const int64_t block = unit / o.outputs, output = unit - block * o.outputs;
  const auto at = o.kept.offsets(output);
  const typename F::Parameter p = f.parameter(at.at[1]);
  const typename F::In* x = o.elements == 0 ? in : in + at.at[0];  // an empty tensor may have no memory
  typename F::Acc acc = f.identity();
  if (o.few) {
    acc = fold_few(f, o, x, p);
  } else {
    const int64_t first = output % o.width / o.tile * o.tile, width = min(o.tile, o.width - first);
    const bool narrow = o.dense && o.stride == width && width <= 32;
    for_runs(o, block, [&](int64_t offset, int64_t n) {
      acc = narrow && n * width >= 256 ? fold_narrow(f, acc, x + offset, width, n, p)
                                       : fold_rows(f, acc, x + offset, o.stride, n, p);
    });
  }
  to.put(block, output, o.outputs, at.at[1], acc, p);
}

// ---- blocks

/// Combines the results of blocks pairwise, like the carries of a binary counter: `full` are of whole blocks, the last of the
/// remaining elements. Each thread combines kJoined of an output; the last one those that are left, to which it adds the rest.
template <class F>
__global__ void __launch_bounds__(kFoldThreads)
    join_blocks(FoldResults<F> to, FoldOrder o, int64_t full, const typename F::Acc* partial) {
  using Acc = typename F::Acc;
  const int64_t unit = int64_t{blockIdx.x} * kFoldThreads + threadIdx.x, chunks = full / kJoined + 1;
  if (unit >= chunks * o.outputs) return;
  const F& f = to.f;
  const int64_t chunk = unit / o.outputs, output = unit - chunk * o.outputs;
  const bool last = chunk == chunks - 1;
  const Acc* from = partial + chunk * kJoined * o.outputs + output;
  const int count = last ? static_cast<int>(full % kJoined) : kJoined;
  Acc levels[kJoinLevels + 1];
  for (int i = 0; i < count; ++i, from += o.outputs) {
    Acc acc = *from;
    int level = 0;
    for (int carries = i; carries & 1; carries >>= 1) acc = f.combine(levels[level++], acc);
    levels[level] = acc;
  }
  Acc acc = last ? *from : levels[kJoinLevels];
  if (last)
    for (int level = 0; count >> level != 0; ++level)
      if (count >> level & 1) acc = f.combine(levels[level], acc);
  const int64_t at = o.kept.offsets(output).at[1];
  to.put(chunk, output, o.outputs, at, acc, f.parameter(at));
}

/// Folds `in` over the dimensions of `mask`; out provides the strides of the outputs.
template <class F>
void launch_reduce(const char* operation, const F& f, const Tensor& out, const Tensor& in, uint32_t mask) {
  using Acc = typename F::Acc;
  constexpr int kLanes = fold_lanes_of<Acc>();
  Context& c = context(out.device());
  const ReduceDims dims = make_reduce_dims(out, in, mask);
  if (dims.outputs == 0) return;
  const FoldOrder o = make_fold_order(dims, sizeof(Acc), kLanes, is_moments<Acc>);
  int64_t full = o.few ? 0 : o.elements / o.block;
  // Room for the results of `blocks` blocks, unless they are those of the outputs.
  const auto scratch = [&](int64_t blocks) {
    return blocks == 1 ? Tensor()
                       : empty_raw({blocks * o.outputs * static_cast<int64_t>(sizeof(Acc))}, kByte, out.device());
  };
  const auto data = [](const Tensor& t) { return t.defined() ? static_cast<Acc*>(t.data_ptr()) : nullptr; };
  const auto* x = static_cast<const typename F::In*>(in.data_ptr());
  const int64_t units = (full + 1) * o.outputs;
  Tensor partial = scratch(full + 1);
  if (o.outer || o.few)
    launch(operation, c, grid_for(units, 1, kFoldThreads), fold_by_threads<F>, FoldResults<F>{f, data(partial)}, o,
           units, x);
  else
    launch(operation, c, {units, kLanes}, fold_inner<F>, FoldResults<F>{f, data(partial)}, o, x);
  for (; full > 0; full /= kJoined) {
    const int64_t chunks = full / kJoined + 1;
    const Tensor joined = scratch(chunks);
    launch(operation, c, grid_for(chunks * o.outputs, 1, kFoldThreads), join_blocks<F>, FoldResults<F>{f, data(joined)},
           o, full, data(partial));
    partial = joined;
  }
}

}  // namespace tandem::cuda_impl::strict
