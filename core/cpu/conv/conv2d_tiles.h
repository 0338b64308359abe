// Shared by the methods: the weights as the left operand of register tiles (microkernel.h), and the epilogue.
#pragma once
#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

#include "tandem/core/cpu/conv/conv2d.h"
#include "tandem/core/cpu/linalg/load_wide.h"
#include "tandem/core/cpu/linalg/pack_half.h"
#include "tandem/core/cpu/linalg/transpose.h"
#include "tandem/core/cpu/parallel_for_each.h"
#include "tandem/core/cpu/pointwise/half_loops.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/simd.h"

namespace tandem::cpu {

/// to[taps - 1 - tap][c] = from[c][tap] for c < channels. Reads whole vectors where they end before `from_end`.
template <class T>
void rotate_taps(int64_t channels, int64_t taps, const T* from, const T* from_end, T* to, int64_t width) {
  constexpr int64_t kWidth = kLanes<T>;
  if (taps == 1) std::copy_n(from, channels, to);
  for (int64_t c = 0; taps > 1 && c < channels; c += kWidth, from += kWidth * taps, to += kWidth) {
    int64_t tap = 0;
    for (; tap < taps && c + kWidth <= channels && from + (kWidth - 1) * taps + tap + kWidth <= from_end;
         tap += kWidth) {
      Vec<T> v[kWidth];
      for (int64_t i = 0; i < kWidth; ++i) v[i] = load(from + i * taps + tap);
      transpose_lanes<T>(v);
      for (int64_t i = 0; i < std::min(kWidth, taps - tap); ++i) store(to + (taps - 1 - tap - i) * width, v[i]);
    }
    for (; tap < taps; ++tap)
      for (int64_t i = 0; i < std::min(kWidth, channels - c); ++i)
        to[(taps - 1 - tap) * width + i] = from[i * taps + tap];
  }
}

/// Elements [k, k + count) of the depth of `rows` output channels from `row` on, as [count][width]. `rows` is at most
/// kPanel if w has halves; entries from it to `width` get arbitrary values. Of turned weights, k and count are multiples of the taps.
template <class T>
inline void weight_rows(const Conv2dShape& s, const ConvWeight<T>& w, int64_t row, int64_t rows, int64_t k,
                        int64_t count, T* to, int64_t width) {
  const int64_t depth = s.depth();
  if (w.turned) {
    const int64_t taps = s.kernel_size(), in = s.group_in(), out = s.group_out();
    const T* end = w.data + s.out_channels * depth;
    for (int64_t i = k / taps; i < (k + count) / taps; ++i, to += taps * width)
      rotate_taps(rows, taps, w.data + ((row / out * in + i) * out + row % out) * taps, end, to, width);
    return;
  }
  if (w.halves == nullptr) return transpose(rows, count, w.data + row * depth + k, depth, to, width);
  if constexpr (std::is_same_v<T, float>) {
    constexpr int64_t kPiece = 64;
    float piece[kPanel<float> * kPiece];
    for (const int64_t end = k + count; k < end; k += kPiece, to += kPiece * width) {
      const int64_t here = std::min(kPiece, end - k), both = std::clamp<int64_t>(w.half_depth - depth - k, 0, here);
      for (int64_t r = 0; r < rows; ++r) {
        const uint16_t* from = w.halves + (row + r) * w.half_depth + k;
        pair_up(from, from + depth, both, piece + r * kPiece);
        pair_up(from + both, nullptr, here - both, piece + r * kPiece + both);
      }
      transpose(rows, here, piece, kPiece, to, width);
    }
  }
}

template <class T>
struct WeightTiles {
  const T* weights;                  // [group][tile][depth][tile_rows], zero in the rows past the group's
  const T* bias;                     // [group][tile][tile_rows] or none
  std::shared_ptr<const void> kept;  // what holds the weights, if they are not in a scratch buffer
};

/// Packs tile `t` of [group][tile] of the weights, as [depth][tile_rows].
template <class T>
void pack_tile(const Conv2dShape& s, const ConvWeight<T>& w, int64_t tile_rows, int64_t t, T* to) {
  const int64_t tiles = ceil_div(s.group_out(), tile_rows), first = t % tiles * tile_rows,
                rows = std::min(tile_rows, s.group_out() - first);
  weight_rows(s, w, t / tiles * s.group_out() + first, rows, 0, s.depth(), to, tile_rows);
  for (int64_t k = 0; rows < tile_rows && k < s.depth(); ++k)
    std::fill(to + k * tile_rows + rows, to + (k + 1) * tile_rows, T(0));
}
/// The same of all tiles.
template <class T>
void pack_tiles(const Conv2dShape& s, const ConvWeight<T>& w, int64_t tile_rows, T* packed) {
  const int64_t tiles = s.p.groups * ceil_div(s.group_out(), tile_rows), size = s.depth() * tile_rows;
  parallel_for_each(tiles, std::max<int64_t>(1, 16384 / size),
                    [&](int64_t t) { pack_tile(s, w, tile_rows, t, packed + t * size); });
}

/// The weights that w.kept holds, packed in this call or before; null if it holds none.
/// Bits do not depend on it.
template <class T>
std::shared_ptr<const void> kept_tiles(const Conv2dShape& s, const ConvWeight<T>& w, int64_t tile_rows) {
  if (w.kept == nullptr) return nullptr;
  const int64_t count = s.p.groups * ceil_div(s.group_out(), tile_rows) * s.depth() * tile_rows;
  return w.kept->get(*w.tensor, s.p.groups << 8 | tile_rows, static_cast<std::size_t>(count) * sizeof(T),
                     [&](void* to) { pack_tiles(s, w, tile_rows, static_cast<T*>(to)); });
}

/// Packs the bias, and the weights unless w.kept holds them, into Scratch::kConvWeight of the calling thread. Without
/// `all`, weights that are not kept are null.
template <class T>
WeightTiles<T> pack_weight_tiles(const Conv2dShape& s, const ConvWeight<T>& w, int64_t tile_rows, const T* bias,
                                 bool all = true) {
  const int64_t group_tiles = ceil_div(s.group_out(), tile_rows), tiles = s.p.groups * group_tiles;
  std::shared_ptr<const void> kept = kept_tiles(s, w, tile_rows);
  T* packed_bias = scratch<T>(Scratch::kConvWeight, tiles * tile_rows * (kept || !all ? 1 : s.depth() + 1));
  T* packed = packed_bias + tiles * tile_rows;
  if (!kept && all) pack_tiles(s, w, tile_rows, packed);
  for (int64_t t = 0; bias && t < tiles; ++t)
    for (int64_t r = 0; r < tile_rows; ++r) {
      const int64_t row = t % group_tiles * tile_rows + r;
      packed_bias[t * tile_rows + r] = row < s.group_out() ? bias[t / group_tiles * s.group_out() + row] : T(0);
    }
  const T* weights = kept ? static_cast<const T*>(kept.get()) : all ? packed : nullptr;
  return {weights, bias ? packed_bias : nullptr, std::move(kept)};
}

/// Finishes y[at, at + count) of the whole output, whose first element is y[0]. The same bits as an addition and an
/// activation of the output as a whole.
template <class T>
inline void finish(const Epilogue<T>& f, T* y, int64_t at, int64_t count) {
  const FusedActivation activation = f.activation;
  const T* residual = f.residual;
  if (activation == FusedActivation::kIdentity && residual == nullptr) return;
  constexpr int64_t kWidth = kLanes<T>;
  const auto apply = [&]<bool kAdd>() {
    int64_t i = at;
    for (; i + kWidth <= at + count; i += kWidth) {
      Vec<T> value = load(y + i);
      if constexpr (kAdd) value += load(residual + i);
      store(y + i, activated(value, activation));
    }
    for (; i < at + count; ++i) {
      T value = y[i];
      if constexpr (kAdd) value += residual[i];
      y[i] = activated(value, activation);
    }
  };
  residual == nullptr ? apply.template operator()<false>() : apply.template operator()<true>();
}

/// Requests what finish_rows or put_rows will read and write: there are more streams (one per row) than the hardware
/// prefetcher can follow, and writing waits for memory.
template <class T>
inline void prefetch_rows(const Epilogue<T>& f, const T* y, int64_t at, int64_t rows, int64_t step, int64_t count) {
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  for (int64_t r = 0; r < rows; ++r, at += step)
    for (int64_t i = 0; i < count; i += kLine) {
      if (f.residual != nullptr) __builtin_prefetch(f.residual + at + i);
      if (f.rounded.residual != nullptr) __builtin_prefetch(f.rounded.residual + at + i);
      f.rounded.y != nullptr ? __builtin_prefetch(f.rounded.y + at + i, 1) : __builtin_prefetch(y + at + i, 1);
    }
}

/// finish() of `rows` rows of `count` elements, which are `step` apart.
template <class T>
inline void finish_rows(const Epilogue<T>& f, T* y, int64_t at, int64_t rows, int64_t step, int64_t count) {
  for (int64_t r = 0; r < rows; ++r) finish(f, y, at + r * step, count);
}

/// The rest of an epilogue, after the bias, on `count` outputs that are rounded to a half type: each operation rounds.
template <class M>
inline void finish_rounded(M* y, const M* residual, FusedActivation activation, int64_t count) {
  if (activation == FusedActivation::kHardswish && residual != nullptr)  // others do not depend on this rounding
    finish_rounded(y, std::exchange(residual, nullptr), FusedActivation::kIdentity, count);
  int64_t i = 0;
  for (; i + kLanes<float> <= count; i += kLanes<float>) {
    Vec<float> value = load_wide<float>(y + i);
    if (residual != nullptr) value += load_wide<float>(residual + i);
    store_narrow<float>(y + i, activated(value, activation));
  }
  for (; i < count; ++i) {
    float value = y[i];
    if (residual != nullptr) value += residual[i];
    y[i] = activated(value, activation);
  }
}

/// Writes rows of sums, which are `from_step` apart and have the bias, to y or to its place, and finishes them there.
template <class T>
inline void put_rows(const Epilogue<T>& f, T* from, int64_t from_step, T* y, int64_t at, int64_t rows, int64_t step,
                     int64_t count) {
  if constexpr (std::is_same_v<T, float>)
    if (f.rounded.y != nullptr) {
      for (int64_t r = 0; r < rows; ++r, at += step, from += from_step) {
        const bool last = f.rounded.residual == nullptr;  // the activation may then come before the rounding
        if (last)
          for (int64_t i = 0; i < count; ++i) from[i] = activated(from[i], f.activation);
        auto* to = reinterpret_cast<BFloat16*>(f.rounded.y + at);
        narrow(kBFloat16, to, from, count);
        if (!last) finish_rounded(to, reinterpret_cast<const BFloat16*>(f.rounded.residual + at), f.activation, count);
      }
      return;
    }
  for (int64_t r = 0; r < rows; ++r) std::copy_n(from + r * from_step, count, y + at + r * step);
  finish_rows(f, y, at, rows, step, count);
}

/// The same of sums [places][kPanel] of `channels` channels, each of which is a row. `rows` has room for kPanel rows of
/// whole vectors.
template <class T>
inline void put_channels(const Epilogue<T>& f, const T* sums, int64_t places, int64_t channels, T* rows, T* y,
                         int64_t at, int64_t step) {
  if (f.rounded.y == nullptr) {
    transpose_exactly(places, channels, sums, kPanel<T>, y + at, step);
    return finish_rows(f, y, at, channels, step, places);
  }
  const int64_t width = ceil_div(places, kLanes<T>) * kLanes<T>;
  transpose(places, channels, sums, kPanel<T>, rows, width);
  put_rows(f, rows, width, y, at, channels, step, places);
}

}  // namespace tandem::cpu
