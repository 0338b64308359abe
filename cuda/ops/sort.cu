// Sorting along one dimension on CUDA: a merge sort of (key, position) for all lines at once.
//
// Blocks sort tiles of a line in shared memory (K. E. Batcher: Sorting networks and their applications.
// 1968), then runs are merged in pairs. Each block writes one tile of a merged run and finds its input by
// bisection (S. Odeh, O. Green, Z. Mwassi, O. Shmueli, Y. Birk: Merge Path. 2012). Keys are unique together
// with their positions, so any order of work produces the same stable result.
#include "tandem/cuda/device.h"

#include <algorithm>
#include <bit>

#include "tandem/core/backend/sort.h"
#include "tandem/core/formulas/sort_ops.h"
#include "tandem/core/line_split.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/tables.h"
#include "tandem/cuda/unroll.h"

namespace tandem::cuda_impl {
namespace {

constexpr int kThreads = 256, kTile = 1024, kItems = kTile / kThreads;

// Keys are sorted in row-major scratch memory [lines, n].
template <class Key>
struct Items {
  Key* key;
  uint32_t* place;
};

// The input: lines of a row-major tensor.
struct Source {
  const void* data;
  ScalarType type;
  int64_t lines, n, inner;
  bool descending;

  __device__ int64_t start(int64_t line, int64_t size) const {
    return inner == 1 ? line * size : line / inner * size * inner + line % inner;
  }
  template <class T>
  __device__ auto key_as(int64_t at) const {
    return ascending_key(static_cast<const T*>(data)[at]);
  }
  template <class Key>
  __device__ Key key(int64_t at) const {
    Key key = 0;
    if constexpr (sizeof(Key) == 8) {
      key = type == kDouble ? key_as<double>(at) : key_as<int64_t>(at);
    } else {
      switch (type) {
        case kFloat:
          key = key_as<float>(at);
          break;
        case kInt:
          key = key_as<int32_t>(at);
          break;
        case kShort:
          key = key_as<int16_t>(at);
          break;
        case kChar:
          key = key_as<int8_t>(at);
          break;
        default:
          key = key_as<uint8_t>(at);
      }
    }
    return descending ? static_cast<Key>(~key) : key;
  }
};

// Sorts tiles of `size` elements, a power of two; each block sorts kTile / size of them.
template <class Key>
__global__ void __launch_bounds__(kThreads) sort_tiles(Source s, Items<Key> to, int size, int64_t tiles) {
  __shared__ Key key[kTile];
  __shared__ uint32_t place[kTile];
  const int thread = static_cast<int>(threadIdx.x);
  const auto position = [&](int slot, int64_t& line) {
    const int64_t tile = int64_t{blockIdx.x} * (kTile / size) + slot / size;
    line = tile / tiles;
    return (tile - line * tiles) * size + (slot & (size - 1));
  };
  for (int slot = thread; slot < kTile; slot += kThreads) {
    int64_t line;
    const int64_t at = position(slot, line);
    // Missing elements come last: their position is larger than any other.
    const bool there = line < s.lines && at < s.n;
    key[slot] = there ? s.key<Key>(s.start(line, s.n) + at * s.inner) : static_cast<Key>(~Key(0));
    place[slot] = there ? static_cast<uint32_t>(at) : ~0u;
  }
  for (int width = 2; width <= size; width *= 2)
    for (int apart = width / 2; apart > 0; apart /= 2) {
      __syncthreads();
      for (int pair = thread; pair < kTile / 2; pair += kThreads) {
        const int a = 2 * pair - (pair & (apart - 1)), b = a + apart;
        const bool up = width == size || (a & width) == 0;
        const bool after = key[a] != key[b] ? key[a] > key[b] : place[a] > place[b];
        if (after != up) continue;
        const Key k = key[a];
        key[a] = key[b];
        key[b] = k;
        const uint32_t p = place[a];
        place[a] = place[b];
        place[b] = p;
      }
    }
  __syncthreads();
  for (int slot = thread; slot < kTile; slot += kThreads) {
    int64_t line;
    const int64_t at = position(slot, line);
    if (line >= s.lines || at >= s.n) continue;
    to.key[line * s.n + at] = key[slot];
    to.place[line * s.n + at] = place[slot];
  }
}

// How many of the first `diagonal` elements of the merged run come from a; of equal keys, those of a come
// first.
template <class Key, class Index>
__device__ Index merge_path(const Key* a, Index a_count, const Key* b, Index b_count, Index diagonal) {
  Index low = diagonal > b_count ? diagonal - b_count : 0, high = diagonal < a_count ? diagonal : a_count;
  while (low < high) {
    const Index middle = low + (high - low) / 2;
    if (b[diagonal - 1 - middle] < a[middle])
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

// Merges pairs of runs of `run` elements, a multiple of kTile, into runs of twice that length.
template <class Key>
__global__ void __launch_bounds__(kThreads)
    merge_runs(Items<Key> to, Items<Key> from, int64_t n, int64_t run, int64_t tiles) {
  __shared__ Key key[kTile];
  __shared__ uint32_t place[kTile];
  __shared__ int64_t begin[2];
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t line = blockIdx.x / tiles, first = (blockIdx.x - line * tiles) * kTile,
                pair = first / (2 * run) * 2 * run;
  const int64_t a_count = n - pair < run ? n - pair : run, rest = n - pair - a_count, b_count = rest < run ? rest : run,
                diagonal = first - pair;
  const Key *a = from.key + line * n + pair, *b = a + a_count;
  const uint32_t *a_place = from.place + line * n + pair, *b_place = a_place + a_count;
  const int64_t end = diagonal + kTile < a_count + b_count ? diagonal + kTile : a_count + b_count;
  if (thread < 2) begin[thread] = merge_path(a, a_count, b, b_count, thread == 0 ? diagonal : end);
  __syncthreads();
  const int64_t a_from = begin[0], b_from = diagonal - a_from;
  const int a_here = static_cast<int>(begin[1] - a_from), count = static_cast<int>(end - diagonal);
  for (int i = thread; i < count; i += kThreads) {
    const int64_t at = i < a_here ? a_from + i : b_from + (i - a_here);
    key[i] = i < a_here ? a[at] : b[at];
    place[i] = i < a_here ? a_place[at] : b_place[at];
  }
  __syncthreads();
  Key merged_key[kItems];
  uint32_t merged_place[kItems];
  const int own = thread * kItems < count ? thread * kItems : count;
  int i = merge_path(key, a_here, key + a_here, count - a_here, own), j = a_here + own - i;
  TANDEM_UNROLL
  for (int k = 0; k < kItems; ++k) {
    const bool take_a = i < a_here && (j >= count || !(key[j] < key[i]));
    const int at = take_a ? i : j < count ? j : 0;
    merged_key[k] = key[at];
    merged_place[k] = place[at];
    take_a ? ++i : ++j;
  }
  __syncthreads();
  TANDEM_UNROLL
  for (int k = 0; k < kItems; ++k) {
    if (own + k >= count) break;
    key[own + k] = merged_key[k];
    place[own + k] = merged_place[k];
  }
  __syncthreads();
  for (int slot = thread; slot < count; slot += kThreads) {
    to.key[line * n + first + slot] = key[slot];
    to.place[line * n + first + slot] = place[slot];
  }
}

__device__ void copy_element(void* to, int64_t to_at, const void* from, int64_t from_at, int64_t bytes) {
  switch (bytes) {
    case 1:
      static_cast<uint8_t*>(to)[to_at] = static_cast<const uint8_t*>(from)[from_at];
      break;
    case 2:
      static_cast<uint16_t*>(to)[to_at] = static_cast<const uint16_t*>(from)[from_at];
      break;
    case 4:
      static_cast<uint32_t*>(to)[to_at] = static_cast<const uint32_t*>(from)[from_at];
      break;
    default:
      static_cast<uint64_t*>(to)[to_at] = static_cast<const uint64_t*>(from)[from_at];
  }
}

// Elements first … first + size - 1 of every sorted line, in order. nan_first: takes the first NaN instead,
// if there is one; NaN has the largest key.
template <class Key>
__global__ void __launch_bounds__(kThreads) write_sorted(Source s, Items<Key> sorted, void* values, int64_t* indices,
                                                         int64_t bytes, int64_t first, int64_t size, bool nan_first) {
  const int64_t output = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (output >= s.lines * size) return;
  // Outputs in memory order.
  const int64_t plane = output / (size * s.inner), rest = output - plane * size * s.inner, row = rest / s.inner,
                line = plane * s.inner + (rest - row * s.inner);
  int64_t at = first + row;
  if (nan_first) {
    const Key* key = sorted.key + line * s.n;
    int64_t low = 0, high = s.n;  // finds the first of the largest key
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (key[middle] == static_cast<Key>(~Key(0)))
        high = middle;
      else
        low = middle + 1;
    }
    if (low < s.n) at = low;
  }
  const int64_t place = sorted.place[line * s.n + at];
  copy_element(values, output, s.data, s.start(line, s.n) + place * s.inner, bytes);
  indices[output] = place;
}

template <class Key>
void sort_keys(const char* operation, const Tensor& values, const Tensor& indices, const Source& s, int64_t first,
               int64_t size, bool nan_first) {
  Context& c = context(values.device());
  const int tile =
      static_cast<int>(std::min<int64_t>(kTile, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(s.n)))));
  const int64_t tiles = ceil_div(s.n, tile), total = s.lines * s.n, buffers = s.n > kTile ? 2 : 1;
  const Tensor keys = empty_raw({buffers * total * static_cast<int64_t>(sizeof(Key))}, kByte, c.device());
  const Tensor places = empty_raw({buffers * total}, kInt, c.device());
  Items<Key> sorted{static_cast<Key*>(keys.data_ptr()), static_cast<uint32_t*>(places.data_ptr())};
  Items<Key> other{sorted.key + total, sorted.place + total};
  launch(operation, c, {ceil_div(s.lines * tiles, kTile / tile), kThreads}, sort_tiles<Key>, s, sorted, tile, tiles);
  for (int64_t run = tile; run < s.n; run *= 2) {
    launch(operation, c, {s.lines * tiles, kThreads}, merge_runs<Key>, other, sorted, s.n, run, tiles);
    std::swap(sorted, other);
  }
  launch(operation, c, grid_for(s.lines * size, 1, kThreads), write_sorted<Key>, s, sorted, values.data_ptr(),
         indices.ptr<int64_t>(), values.element_size(), first, size, nan_first);
}

void sort_lines(const char* operation, const Tensor& values, const Tensor& indices, const Tensor& in, int64_t dim,
                bool descending, int64_t first, int64_t size, bool nan_first) {
  if (in.numel() == 0 || size == 0) return;
  const LineSplit split(in.sizes(), dim);
  check(split.n < int64_t{1} << 31, operation, ": lines on CUDA must have less than 2^31 elements, got ", in);
  const Source s{in.data_ptr(), in.dtype(), split.lines(), split.n, split.inner, descending};
  dispatch(in.dtype(), ComputedTypes{}, operation, [&]<class T>(Type<T>) {
    sort_keys<SortKey<T>>(operation, values, indices, s, first, size, nan_first && std::is_floating_point_v<T>);
  });
}

void sort(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t dim, bool descending) {
  sort_lines("sort", values, indices, in, dim, descending, 0, LineSplit(in.sizes(), dim).n, false);
}
void topk(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t dim, int64_t k, bool largest) {
  sort_lines("topk", values, indices, in, dim, largest, 0, k, false);
}
void kth(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t dim, int64_t k, bool nan_first) {
  sort_lines("kthvalue", values, indices, in, dim, false, k, 1, nan_first);
}

}  // namespace

constinit const SortKernels sort_kernels{.sort = sort, .topk = topk, .kth = kth};

}  // namespace tandem::cuda_impl
