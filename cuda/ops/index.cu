// Writes and additions at positions given by an index, in the order of the index when it repeats an element:
// put, put_add, scatter, scatter_add. Also contains the table of the family.
//
// A line is a position in the dimensions other than `dim`. With many lines, one thread per line walks its
// index in order. With few lines and a long index, the pairs (destination, position) are sorted stably, and
// one thread applies each run of equal destinations in order. Both match the CPU's results bit for bit,
// without atomics.
#include <bit>

#include "tandem/core/backend/index.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/ops/index.h"
#include "tandem/cuda/raise_fault.h"
#include "tandem/cuda/strided.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
namespace {

struct Assign {
  template <class T>
  static __device__ T apply(T, T x) {
    return x;
  }
};
struct Accumulate {
  template <class T>
  static __device__ T apply(T out, T x) {
    return static_cast<T>(out + x);
  }
};

// Number of steps along `dim`, and strides in elements.
struct Along {
  HostText operation;
  int64_t count, dim, size;  // size of the dimension; offsets of `put` are already checked
  int64_t to, at, from;
};

template <class T, class Op>
__global__ void lines_kernel(uint32_t n, Walk<3> walk, Along along, T* out, const int64_t* index, const T* source,
                             Fault* fault) {
  const uint32_t line = blockIdx.x * blockDim.x + threadIdx.x;
  if (line >= n) return;
  const auto o = walk.offsets(line);
  out += o.at[0];
  index += o.at[1];
  source += o.at[2];
  for (int64_t i = 0; i < along.count; ++i) {
    const int64_t at = index[i * along.at];
    if (static_cast<uint64_t>(at) >= static_cast<uint64_t>(along.size)) {
      raise_index_fault(fault, along.operation, at, along.dim, along.size);
      continue;
    }
    T& to = out[at * along.to];
    to = Op::apply(to, source[i * along.from]);
  }
}

// Computes keys and positions of a scatter, in row-major order. Invalid indices get the key `none`.
__global__ void keys_kernel(uint32_t n, Walk<3> walk, Along along, int64_t none, int64_t* keys, int32_t* positions,
                            const int64_t* index, Fault* fault) {
  const uint32_t p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= n) return;
  const auto o = walk.offsets(p);
  const int64_t at = index[o.at[2]];
  const bool fine = static_cast<uint64_t>(at) < static_cast<uint64_t>(along.size);
  if (!fine) raise_index_fault(fault, along.operation, at, along.dim, along.size);
  keys[p] = fine ? o.at[1] + at * along.to : none;
  positions[p] = static_cast<int32_t>(p);
}

__global__ void count_up_kernel(uint32_t n, int32_t* positions) {
  const uint32_t p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p < n) positions[p] = static_cast<int32_t>(p);
}

// Sorted writes [0, count). Threads of this launch start at write `first`, with `lines` threads per write.
struct Runs {
  uint32_t count, first, threads;
  FastDivide lines;
  int64_t none, from;
  bool walks;  // whether a position's offset in the source is found by walking instead of `from`
  const int64_t* keys;
  const int32_t* positions;
};

template <class T, class Op>
__global__ void runs_kernel(Runs r, Walk<2> lines, Walk<2> sources, T* out, const T* source) {
  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= r.threads) return;
  const uint32_t write = r.lines.quotient(thread);
  uint32_t s = r.first + write;
  const int64_t key = r.keys[s];
  if (key >= r.none || (s > 0 && r.keys[s - 1] == key)) return;  // not the start of a run
  const auto o = lines.offsets(thread - write * r.lines.divisor);
  out += key + o.at[0];
  source += o.at[1];
  const auto value_at = [&](uint32_t k) {
    const int32_t position = r.positions[k];
    return source[r.walks ? int64_t{sources.offsets(static_cast<uint32_t>(position)).at[1]} : position * r.from];
  };
  T value = *out;
  constexpr uint32_t kAhead = 8;  // loads in flight; the order of additions is unchanged
  while (s + kAhead <= r.count && r.keys[s + kAhead - 1] == key) {
    T values[kAhead];
    for (uint32_t k = 0; k < kAhead; ++k) values[k] = value_at(s + k);
    for (uint32_t k = 0; k < kAhead; ++k) value = Op::apply(value, values[k]);
    s += kAhead;
  }
  for (; s < r.count && r.keys[s] == key; ++s) value = Op::apply(value, value_at(s));
  *out = value;
}

// The writes to perform. `where` is either a row of offsets shared by all lines or an index of the source's
// shape.
struct Writes {
  const char* operation;
  const Tensor& out;
  int64_t dim;
  const Tensor &where, &source;
  bool shared;  // `where` is a row of offsets

  int64_t count() const { return source.size(dim); }
  Along along() const {
    if (shared) return {operation, count(), dim, INT64_MAX, 1, 1, source.stride(dim)};
    return {operation, count(), dim, out.size(dim), out.stride(dim), where.stride(dim), source.stride(dim)};
  }
};

constexpr int64_t kManyLines = 1 << 15, kFewSteps = 32;

// The data that does not depend on the element type.
struct Sorted {
  SortedWrites writes;
  LoopPlan<2> lines, sources;
  int64_t none = 0;
};

// Upper bound of offsets in elements.
int64_t elements_of(const Tensor& out) {
  return static_cast<int64_t>(out.storage()->nbytes()) / out.element_size() + 1;
}

Tensor line_of(const Writes& w, const Tensor& t) { return without_dim(t, w.dim, w.source.sizes()); }

SortedWrites row_of_keys(Context& c, const Writes& w) {
  const SortedWrites made{w.where, empty_raw({w.count()}, kInt, c.device())};
  launch(w.operation, c, grid_for(w.count()), count_up_kernel, static_cast<uint32_t>(w.count()),
         made.positions.ptr<int32_t>());
  return made;
}

// The destination of the index's element p, with p in row-major order.
LoopPlan<3> destinations(const Writes& w, const Tensor& keys) {
  Dims strides(w.out.strides());
  strides[static_cast<std::size_t>(w.dim)] = 0;
  const Tensor start = alias(w.out, w.where.sizes(), strides, w.out.storage_offset());
  return make_plan<3>({&keys, &start, &w.where});
}

// Returns false when 32 bits cannot address the data.
bool sort(Context& c, const Writes& w, Sorted& sorted) {
  if (w.source.numel() >= kMaxElements) return false;
  const Tensor o = line_of(w, w.out), x = line_of(w, w.source);
  sorted.none = elements_of(w.out);
  SortedWrites unsorted;
  if (w.shared) {
    sorted.sources = sorted.lines = make_plan<2>({&o, &x});
    if (!fits_32_bits(sorted.lines)) return false;
    unsorted = row_of_keys(c, w);
  } else {
    const int64_t n = w.where.numel();
    const Tensor keys = empty_raw(w.where.sizes(), kLong, c.device()), one = alias(w.out, {}, {}, 0);
    const LoopPlan<3> plan = destinations(w, keys);
    sorted.sources = make_plan<2>({&keys, &w.source});
    sorted.lines = make_plan<2>({&one, &one});
    if (!fits_32_bits(plan) || !fits_32_bits(sorted.sources)) return false;
    unsorted = {alias(keys, {n}, {1}, 0), empty_raw({n}, kInt, c.device())};
    launch(w.operation, c, grid_for(n), keys_kernel, static_cast<uint32_t>(n), make_piece(plan).walk, w.along(),
           sorted.none, unsorted.keys.ptr<int64_t>(), unsorted.positions.ptr<int32_t>(), w.where.ptr<int64_t>(),
           c.fault());
  }
  sorted.writes = sort_writes(c, unsorted, std::bit_width(static_cast<uint64_t>(sorted.none)));
  return true;
}

template <class T, class Op>
void apply_runs(Context& c, const Writes& w, const Sorted& sorted) {
  const int64_t count = sorted.writes.keys.numel(), lines = sorted.lines.numel;
  const int64_t step = std::max<int64_t>(1, (kMaxElements - 512) / lines);
  const Piece<2> beside = make_piece(sorted.lines), sources = make_piece(sorted.sources);
  for (int64_t first = 0; first < count; first += step) {
    const int64_t threads = std::min(step, count - first) * lines;
    const Runs runs{static_cast<uint32_t>(count),
                    static_cast<uint32_t>(first),
                    static_cast<uint32_t>(threads),
                    FastDivide(static_cast<uint32_t>(lines)),
                    sorted.none,
                    w.source.stride(w.dim),
                    !w.shared,
                    sorted.writes.keys.ptr<int64_t>(),
                    sorted.writes.positions.ptr<int32_t>()};
    launch(w.operation, c, grid_for(threads), runs_kernel<T, Op>, runs, beside.walk, sources.walk,
           static_cast<T*>(w.out.data_ptr()), static_cast<const T*>(w.source.data_ptr()));
  }
}

template <class T, class Op>
void apply_lines(Context& c, const Writes& w) {
  const Tensor o = line_of(w, w.out), x = line_of(w, w.source);
  const Tensor at = w.shared ? Tensor() : line_of(w, w.where);
  for_pieces(make_plan<3>({&o, w.shared ? nullptr : &at, &x}), [&](const Piece<3>& piece) {
    const void* index = w.shared ? w.where.data_ptr() : piece.data[1];
    launch(w.operation, c, grid_for(piece.numel, 1, 128), lines_kernel<T, Op>, piece.numel, piece.walk, w.along(),
           reinterpret_cast<T*>(piece.data[0]), static_cast<const int64_t*>(index),
           reinterpret_cast<const T*>(piece.data[2]), c.fault());
  });
}

// Calls launcher(context, Sorted or nullptr) after choosing between the two methods.
template <class F>
void write(const Writes& w, F launcher) {
  if (w.source.numel() == 0) return;
  Context& c = context(w.out.device());
  Sorted sorted;
  const int64_t lines = w.source.numel() / w.count();
  const bool walk = lines >= kManyLines || w.count() <= kFewSteps || !sort(c, w, sorted);
  launcher(c, walk ? nullptr : &sorted);
}

void assign(const Writes& w) {
  write(w, [&](Context& c, const Sorted* sorted) {
    dispatch_bits(w.out.element_size(), [&]<class Bits>(Type<Bits>) {
      sorted != nullptr ? apply_runs<Bits, Assign>(c, w, *sorted) : apply_lines<Bits, Assign>(c, w);
    });
  });
}

// Integers are added modulo 2^bits, signed or not.
template <class T>
struct Added {
  using type = T;
};
template <class T>
requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) struct Added<T> {
  using type = std::make_unsigned_t<T>;
};

void accumulate(const Writes& w, const char* dtype_operation) {
  write(w, [&](Context& c, const Sorted* sorted) {
    dispatch(w.out.dtype(), ComputedTypes{}, dtype_operation, [&]<class T>(Type<T>) {
      using U = typename Added<T>::type;
      sorted != nullptr ? apply_runs<U, Accumulate>(c, w, *sorted) : apply_lines<U, Accumulate>(c, w);
    });
  });
}

}  // namespace

void put(const Tensor& out, int64_t dim, const Tensor& offsets, const Tensor& source) {
  assign({"index_put_", out, dim, offsets, source, true});
}
void put_add(const Tensor& out, int64_t dim, const Tensor& offsets, const Tensor& source) {
  accumulate({"index_put_", out, dim, offsets, source, true}, "index_put_");
}
void scatter(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& source) {
  assign({"scatter", out, dim, index, source, false});
}
void scatter_add(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& source) {
  accumulate({"scatter_add", out, dim, index, source, false}, "scatter_add");
}

constinit const IndexKernels index_kernels{
    .offsets = offsets,
    .get = get,
    .put = put,
    .put_add = put_add,
    .gather = gather,
    .scatter = scatter,
    .scatter_add = scatter_add,
    .count_nonzero = count_nonzero,
    .nonzero = nonzero,
    .cat = cat,
    .triangle = triangle,
};

}  // namespace tandem::cuda_impl
