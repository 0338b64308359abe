// What methods share: the weights as the left operand of register tiles (microkernel.h), and the epilogue.
#pragma once
#include <algorithm>
#include <memory>

#include "tandem/core/cpu/conv/conv2d.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/simd.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::cpu {

template <class T>
struct WeightTiles {
  const T* weights;                  // [group][tile][depth][tile_rows], zero in the rows past those of the group
  const T* bias;                     // [group][tile][tile_rows] or none
  std::shared_ptr<const void> kept;  // what holds the weights, if they are not in a scratch buffer
};

/// Packs the weights of all groups. `fill(group, first, rows, to)` writes rows of a group as [depth][tile_rows]; it may
/// write anything to the rows past `rows`.
template <class T, class F>
void pack_tiles(int64_t groups, int64_t group_out, int64_t depth, int64_t tile_rows, T* packed, const F& fill) {
  const int64_t group_tiles = ceil_div(group_out, tile_rows), tile_size = depth * tile_rows;
  parallel_for(groups * group_tiles, std::max<int64_t>(1, 16384 / tile_size), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t first = t % group_tiles * tile_rows, rows = std::min(tile_rows, group_out - first);
      T* to = packed + t * tile_size;
      fill(t / group_tiles, first, rows, to);
      for (int64_t k = 0; rows < tile_rows && k < depth; ++k)
        std::fill(to + k * tile_rows + rows, to + (k + 1) * tile_rows, T(0));
    }
  });
}

/// The weights that w.kept holds, packed in this call or before; null if it holds none.
/// Bits do not depend on it.
template <class T, class F>
std::shared_ptr<const void> kept_tiles(const ConvWeight<T>& w, int64_t groups, int64_t group_out, int64_t depth,
                                       int64_t tile_rows, const F& fill) {
  if (w.kept == nullptr) return nullptr;
  const int64_t count = groups * ceil_div(group_out, tile_rows) * depth * tile_rows;
  return w.kept->get(*w.tensor, groups << 8 | tile_rows, static_cast<std::size_t>(count) * sizeof(T),
                     [&](void* to) { pack_tiles(groups, group_out, depth, tile_rows, static_cast<T*>(to), fill); });
}

/// Packs the bias, and the weights unless w.kept holds them, into Scratch::kConvWeight of the calling thread.
/// `fill` as for pack_tiles.
template <class T, class F>
WeightTiles<T> pack_weight_tiles(const ConvWeight<T>& w, int64_t groups, int64_t group_out, int64_t depth,
                                 int64_t tile_rows, const T* bias, const F& fill) {
  const int64_t group_tiles = ceil_div(group_out, tile_rows), tiles = groups * group_tiles;
  std::shared_ptr<const void> kept = kept_tiles(w, groups, group_out, depth, tile_rows, fill);
  T* packed_bias = scratch<T>(Scratch::kConvWeight, tiles * tile_rows * (kept ? 1 : depth + 1));
  T* packed = packed_bias + tiles * tile_rows;
  if (!kept) pack_tiles(groups, group_out, depth, tile_rows, packed, fill);
  for (int64_t t = 0; bias && t < tiles; ++t)
    for (int64_t r = 0; r < tile_rows; ++r) {
      const int64_t row = t % group_tiles * tile_rows + r;
      packed_bias[t * tile_rows + r] = row < group_out ? bias[t / group_tiles * group_out + row] : T(0);
    }
  const T* weights = kept ? static_cast<const T*>(kept.get()) : packed;
  return {weights, bias ? packed_bias : nullptr, std::move(kept)};
}

/// Finishes y[at, at + count) of the whole output, whose first element is y[0]. The same bits as an addition and a relu
/// of the output as a whole.
template <class T>
inline void finish(const Epilogue<T>& f, T* y, int64_t at, int64_t count) {
  if (!f.relu && f.residual == nullptr) return;
  constexpr int64_t kWidth = kLanes<T>;
  const auto apply = [&]<bool kAdd, bool kRelu>() {
    const T* residual = f.residual;
    int64_t i = at;
    for (; i + kWidth <= at + count; i += kWidth) {
      Vec<T> value = load(y + i);
      if constexpr (kAdd) value += load(residual + i);
      if constexpr (kRelu) value = value < Vec<T>{} ? Vec<T>{} : value;
      store(y + i, value);
    }
    for (; i < at + count; ++i) {
      T value = y[i];
      if constexpr (kAdd) value += residual[i];
      if constexpr (kRelu) value = value < T(0) ? T(0) : value;
      y[i] = value;
    }
  };
  if (f.residual == nullptr) return apply.template operator()<false, true>();
  f.relu ? apply.template operator()<true, true>() : apply.template operator()<true, false>();
}

/// Requests the rows that finish_rows will read: there are more streams (one per row)
/// than the hardware prefetcher can follow.
template <class T>
inline void prefetch_rows(const Epilogue<T>& f, int64_t at, int64_t rows, int64_t step, int64_t count) {
  if (f.residual == nullptr) return;
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < count; i += kLine) __builtin_prefetch(f.residual + at + r * step + i);
}

/// finish() of `rows` rows of `count` elements, which are `step` apart.
template <class T>
inline void finish_rows(const Epilogue<T>& f, T* y, int64_t at, int64_t rows, int64_t step, int64_t count) {
  for (int64_t r = 0; r < rows; ++r) finish(f, y, at + r * step, count);
}

}  // namespace tandem::cpu
