// A tensor [outer, channels, inner] as a matrix, for batch normalisation. A thread has a pack of neighbouring columns
// in several rows, so it finds their channels, and what belongs to these, once. Planes of any size are thus accessed
// by 16 bytes, and with inner == 1 the matrix is a tensor with its channels last. All depends on shapes alone, so sums
// have a fixed order.
#pragma once
#ifndef TANDEM_GENERATED_KERNEL
#include <algorithm>
#include <bit>
#include <numeric>
#endif

#include "tandem/cuda/line_threads.h"
#include "tandem/cuda/long_divide.h"
#include "tandem/cuda/unroll.h"

namespace tandem::cuda_impl {

/// A kernel parameter.
struct Columns {
  int pack;                           ///< columns of a thread
  int64_t channels, plane, chunks;    ///< few large planes are cut into chunks, each in a row of its own
  int64_t rows, inner, width, packs;  ///< columns of a channel and of a row; packs of a row
  LongDivide by_packs, by_inner;
  FastDivide by_chunks;

  Columns(int64_t outer, int64_t channels, int64_t plane, int pack)
      : pack(pack),
        channels(channels),
        plane(plane),
        chunks(chunks_of(outer, plane, pack)),
        rows(outer * chunks),
        inner(plane / chunks),
        width(channels * inner),
        packs(ceil_div(width, pack)),
        by_packs(packs, rows * packs + kLineThreads),  // threads of the last block are beyond
        by_inner(inner, width),
        by_chunks(static_cast<uint32_t>(chunks)) {}

  /// Whether every pack has all of its columns, and is aligned if the tensor is.
  bool whole() const { return width % pack == 0; }
  TANDEM_HD int count(int64_t column) const { return width - column < pack ? static_cast<int>(width - column) : pack; }
  /// The element in which a row begins, and how far from it a column is.
  TANDEM_HD int64_t row(int64_t r) const {
    if (chunks == 1) return r * width;
    const int64_t n = by_chunks.quotient(static_cast<uint32_t>(r));
    return n * channels * plane + (r - n * chunks) * inner;
  }
  TANDEM_HD int64_t column(int64_t c) const { return c + by_inner.quotient(c) * (plane - inner); }

  /// values[k] = of(channel of column first + k).
  template <int kCount, class V, class Of>
  TANDEM_HD void per_channel(int64_t first, V (&values)[kCount], Of of) const {
    int64_t channel = by_inner.quotient(first), at = first - channel * inner;
    values[0] = of(channel);
    TANDEM_UNROLL
    for (int k = 1; k < kCount; ++k) {
      values[k] = values[k - 1];
      if (++at < inner) continue;
      at = 0;
      if (++channel < channels) values[k] = of(channel);
    }
  }

 private:
  // The fewest that make 32 rows of at least 16 packs a channel.
  static int64_t chunks_of(int64_t outer, int64_t plane, int pack) {
    if (outer == 0 || outer >= 16 || plane % pack != 0) return 1;
    for (int64_t n = 32 / outer; n * 16 * pack <= plane && n <= 1024; ++n)
      if (plane / pack % n == 0) return n;
    return 1;
  }
};

/// How sums over the columns of a channel map to blocks: a block has a tile of neighbouring packs, `lines` threads
/// for each, in a part of the rows. Sums of the threads are added by units: neighbouring columns of one channel. With
/// many channels in a tile it is narrow, so that more rows are added in the block.
struct ColumnTiles {
  int across, lines;     ///< packs of a tile
  int unit, units;       ///< columns of a unit, units of a pack
  int lanes = 1;         ///< threads that add the units of a channel
  int64_t inner, tiles;  ///< units of a channel; tiles of a row
  int64_t slots = 1;     ///< the most channels of a tile
  int64_t part_rows = 1, parts = 0;

#ifndef TANDEM_GENERATED_KERNEL
  explicit ColumnTiles(const Columns& m)
      : across(static_cast<int>(std::clamp<int64_t>(m.packs, 1, m.inner < m.pack ? 32 : kLineThreads))),
        lines(kLineThreads / across),
        unit(static_cast<int>(std::gcd(m.inner, int64_t{m.pack}))),
        units(m.pack / unit),
        inner(m.inner / unit),
        tiles(ceil_div(m.packs, across)) {
    if (m.rows == 0 || m.width == 0) return;
    slots = std::min(m.channels, (tile() + inner - 2) / inner + 1);
    lanes = static_cast<int>(std::bit_floor(static_cast<uint64_t>(std::clamp<int64_t>(kLineThreads / slots, 1, 32))));
    // A thread adds at most kMaxRun terms, for accuracy, and a few at a time; more if a block has to store many sums.
    const int64_t least = m.inner < m.pack ? 2 * kAtOnce : kAtOnce,
                  wanted = std::clamp<int64_t>(m.rows * tiles / kBlocks, least * lines, kMaxRun * lines);
    part_rows = ceil_div(ceil_div(m.rows, ceil_div(m.rows, wanted)), kAtOnce * lines) * kAtOnce * lines;
    parts = ceil_div(m.rows, part_rows);
  }
#endif
  static constexpr int kAtOnce = 4, kMaxRun = 64, kBlocks = 512;

  TANDEM_HD int64_t tile() const { return int64_t{across} * units; }
  TANDEM_HD int64_t first_channel(const Columns& m, int64_t t) const {
    return m.by_inner.quotient(t * across * m.pack);
  }
  /// Where a block stores its sums of its first channel.
  TANDEM_HD int64_t place(int64_t part, int64_t t) const { return (part * tiles + t) * slots; }
};

}  // namespace tandem::cuda_impl
