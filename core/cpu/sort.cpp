// Sorting on the CPU. Every element becomes an unsigned key in the requested order, paired with its position.
// No two pairs are equal, so any sorting algorithm produces the same stable result.
#include <algorithm>
#include <limits>

#include "tandem/core/backend/sort.h"
#include "tandem/core/cpu/pointwise/loop.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/tables.h"
#include "tandem/core/formulas/sort_ops.h"
#include "tandem/core/line_split.h"

namespace tandem::cpu {
namespace {

struct Item {
  uint64_t key;
  int64_t place;
  friend bool operator<(const Item& a, const Item& b) { return a.key != b.key ? a.key < b.key : a.place < b.place; }
};

// Sorts by one byte of the key per pass, least significant first; bytes equal in all keys are skipped.
Item* radix_sort(Item* items, Item* other, int64_t n) {
  constexpr int kBytes = 8;
  std::vector<int64_t> counts(kBytes * 256);
  for (int64_t i = 0; i < n; ++i)
    for (int b = 0; b < kBytes; ++b) ++counts[static_cast<std::size_t>(b * 256) + (items[i].key >> (8 * b) & 255u)];
  for (int b = 0; b < kBytes; ++b) {
    int64_t* count = counts.data() + b * 256;
    if (count[items[0].key >> (8 * b) & 255u] == n) continue;
    for (int64_t v = 0, at = 0; v < 256; ++v) at += std::exchange(count[v], at);
    for (int64_t i = 0; i < n; ++i) other[count[items[i].key >> (8 * b) & 255u]++] = items[i];
    std::swap(items, other);
  }
  return items;
}

Item* sort_items(Item* items, Item* other, int64_t n) {
  if (n >= 512) return radix_sort(items, other, n);
  std::sort(items, items + n);
  return items;
}

// Calls line(input line, output start, step) for each line; outputs have `size` elements along the dimension.
template <class T, class Choose>
void for_lines(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t dim, bool descending,
               int64_t size, Choose choose) {
  const LineSplit s(in.sizes(), dim);
  const T* x = in.ptr<T>();
  parallel_for(s.lines(), std::max<int64_t>(1, kGrain / 8 / std::max<int64_t>(s.n, 1)),
               [&](int64_t begin, int64_t end) {
                 const Workspace<Item> memory(2 * s.n);
                 Item* items = memory.data();
                 for (int64_t line = begin; line < end; ++line) {
                   const T* from = x + s.start(line, s.n);
                   for (int64_t i = 0; i < s.n; ++i) {
                     const uint64_t key = ascending_key(from[i * s.inner]);
                     items[i] = {descending ? ~key : key, i};
                   }
                   const Item* chosen = choose(items, items + s.n, s.n);
                   const int64_t to = s.start(line, size);
                   for (int64_t i = 0; i < size; ++i) {
                     values.ptr<T>()[to + i * s.inner] = from[chosen[i].place * s.inner];
                     indices.ptr<int64_t>()[to + i * s.inner] = chosen[i].place;
                   }
                 }
               });
}

void sort(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t dim, bool descending) {
  const int64_t n = LineSplit(in.sizes(), dim).n;
  dispatch(in.dtype(), ComputedTypes{}, "sort",
           [&]<class T>(Type<T>) { for_lines<T>(values, indices, in, dim, descending, n, sort_items); });
}

void topk(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t dim, int64_t k, bool largest) {
  dispatch(in.dtype(), ComputedTypes{}, "topk", [&]<class T>(Type<T>) {
    for_lines<T>(values, indices, in, dim, largest, k, [k](Item* items, Item* other, int64_t n) -> Item* {
      if (k > n / 4) return sort_items(items, other, n);
      std::nth_element(items, items + k, items + n);
      std::sort(items, items + k);
      return items;
    });
  });
}

void kth(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t dim, int64_t k, bool nan_first) {
  dispatch(in.dtype(), ComputedTypes{}, "kthvalue", [&]<class T>(Type<T>) {
    const uint64_t nan = std::is_floating_point_v<T> ? ascending_key(std::numeric_limits<T>::quiet_NaN()) : 0;
    for_lines<T>(values, indices, in, dim, false, 1, [=](Item* items, Item*, int64_t n) -> Item* {
      if (nan_first && std::is_floating_point_v<T>)
        for (int64_t i = 0; i < n; ++i)
          if (items[i].key == nan) return items + i;
      std::nth_element(items, items + k, items + n);
      return items + k;
    });
  });
}

}  // namespace

constinit const SortKernels sort_kernels{.sort = sort, .topk = topk, .kth = kth};

}  // namespace tandem::cpu
