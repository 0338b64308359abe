// Matrix transposition in blocks of kLanes x kLanes.
#include "tandem/core/cpu/linalg/transpose.h"

#include <algorithm>

namespace tandem::cpu {
namespace {

template <class T>
void transpose_plain(int64_t rows, int64_t columns, const T* from, int64_t ld_from, T* to, int64_t ld_to) {
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t r = 0; r < rows; ++r) to[c * ld_to + r] = from[r * ld_from + c];
}

}  // namespace

template <class T>
void transpose(int64_t rows, int64_t columns, const T* from, int64_t ld_from, T* to, int64_t ld_to) {
  constexpr int64_t kWidth = kLanes<T>;
  // Runs from the last, possibly partial, block of rows to the first: a whole vector stored for a partial
  // block may extend into the following columns, which are written later.
  for (int64_t r = (rows - 1) / kWidth * kWidth; rows > 0 && r >= 0; r -= kWidth) {
    const int64_t count = std::min(kWidth, rows - r);
    const int64_t reach = count == kWidth ? 0 : kWidth - 1;
    const T* source = from + r * ld_from;
    int64_t c = 0;
    for (; c + kWidth + reach <= columns; c += kWidth) {
      Vec<T> v[kWidth];
      for (int64_t i = 0; i < kWidth; ++i) v[i] = i < count ? load(source + i * ld_from + c) : Vec<T>{};
      transpose_lanes<T>(v);
      for (int64_t i = 0; i < kWidth; ++i) store(to + (c + i) * ld_to + r, v[i]);
    }
    transpose_plain(count, columns - c, source + c, ld_from, to + c * ld_to + r, ld_to);
  }
}

template <class T>
void transpose_exactly(int64_t rows, int64_t columns, const T* from, int64_t ld_from, T* to, int64_t ld_to) {
  const int64_t whole = rows / kLanes<T> * kLanes<T>;
  transpose(whole, columns, from, ld_from, to, ld_to);
  transpose_plain(rows - whole, columns, from + whole * ld_from, ld_from, to + whole, ld_to);
}

template void transpose<float>(int64_t, int64_t, const float*, int64_t, float*, int64_t);
template void transpose<double>(int64_t, int64_t, const double*, int64_t, double*, int64_t);

template void transpose_exactly<float>(int64_t, int64_t, const float*, int64_t, float*, int64_t);
template void transpose_exactly<double>(int64_t, int64_t, const double*, int64_t, double*, int64_t);

}  // namespace tandem::cpu
