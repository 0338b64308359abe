// The gradient of the weights as products with all positions of all images together: for few output positions and many
// channels, as in the last stages of a network. There the planes do not fill whole vectors.
#include "tandem/core/cpu/conv/conv2d.h"

#include <algorithm>

#include "tandem/core/cpu/conv/conv2d_line.h"
#include "tandem/core/cpu/conv/conv2d_tiles.h"
#include "tandem/core/cpu/linalg/microkernel.h"
#include "tandem/core/cpu/linalg/transpose.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/simd.h"

namespace tandem::cpu {
namespace {

using conv2d_order::kDepthBlock;

// `count` rows of a left operand, cut into tiles.
struct Tiles {
  int64_t count, rows, tiles;
  bool pairs;
  Tiles(int64_t n, bool of_pairs) : count(n), rows(even_tile_rows(n)), tiles(ceil_div(n, rows)), pairs(of_pairs) {}
  int64_t padded() const { return tiles * rows; }
};

// Multiplies all tiles of `panels`, which are `depth` deep, with one block of columns: sums[padded][kPanel] = the sum
// over [first, last) of the depth in pieces, each of which is added. `fill(k, count, to)` writes rows [k, k + count) of the
// right operand as [count][kPanel].
template <class T, class F>
void multiply(const Tiles& tiles, int64_t depth, int64_t first, int64_t last, const T* panels, T* sums, F fill) {
  const TileKernel<T> kernel = tile_kernel<T>(static_cast<int>(tiles.rows), 2, tiles.pairs);
  T* right = scratch<T>(Scratch::kConvWeight, kDepthBlock * kPanel<T>);
  for (int64_t k = first; k < last; k += kDepthBlock) {
    const int64_t count = std::min(kDepthBlock, last - k);
    fill(k, count, right);
    for (int64_t t = 0; t < tiles.tiles; ++t) {
      const TileSegment<T> segment{panels + (t * depth + k) * tiles.rows, right, count};
      kernel({.segments = &segment,
              .segment_count = 1,
              .b_step = kPanel<T>,
              .c = sums + t * tiles.rows * kPanel<T>,
              .ldc = kPanel<T>,
              .accumulate = k > first});
    }
  }
}

}  // namespace

template <class T>
void channels_backward_weight(const Conv2dShape& s, const T* x, const T* dy, T* dw) {
  const int64_t places = s.out_plane(), weights = s.out_channels * s.depth();
  const Tiles tiles(s.group_out(), s.pairs);
  const int64_t blocks = ceil_div(s.depth(), kPanel<T>);
  // The batch is summed chunk by chunk, which bounds the memory of the panels.
  const WeightSum order = conv2d_order::channels_sum<T>(s);
  const int64_t chunk = order.chunk_images, part_images = order.part_images, parts = order.chunk_parts();
  const Workspace<T> memory(chunk * places * tiles.padded()), others((parts - 1) * weights);
  T* panels = memory.data();
  const InputLine<T> lines(s, x);
  for (int64_t begin_image = 0; begin_image < s.batch; begin_image += chunk) {
    const int64_t images = std::min(chunk, s.batch - begin_image), depth = images * places,
                  here_parts = ceil_div(images, part_images);
    for (int64_t group = 0; group < s.p.groups; ++group) {
      const T* from = dy + (begin_image * s.out_channels + group * s.group_out()) * places;
      parallel_for_each(tiles.tiles, 1, [&](int64_t t) {
        const int64_t first = t * tiles.rows, here = std::min(tiles.rows, s.group_out() - first);
        for (int64_t n = 0; n < images; ++n) {
          T* to = panels + (t * depth + n * places) * tiles.rows;
          transpose(here, places, from + (n * s.out_channels + first) * places, places, to, tiles.rows);
          for (int64_t p = 0; here < tiles.rows && p < places; ++p)
            std::fill(to + p * tiles.rows + here, to + (p + 1) * tiles.rows, T(0));
        }
      });
      parallel_for(here_parts * blocks, 1, [&](int64_t begin, int64_t end) {
        constexpr int64_t kLine = kDepthBlock + kLanes<T>;
        T* rows = scratch<T>(Scratch::kConvInput, kPanel<T> * kLine);
        T* sums = scratch<T>(Scratch::kConvOutput, tiles.padded() * kPanel<T>);
        for (int64_t t = begin; t < end; ++t) {
          const int64_t part = t / blocks, first = t % blocks * kPanel<T>,
                        wide = std::min(kPanel<T>, s.depth() - first);
          multiply(tiles, depth, part * part_images * places, std::min(depth, (part + 1) * part_images * places),
                   panels, sums, [&](int64_t k, int64_t count, T* to) {
                     for (int64_t i = 0; i < wide; ++i)
                       make_line(s, lines, x, group, first + i, begin_image * places + k, count, rows + i * kLine);
                     transpose(wide, count, rows, kLine, to, kPanel<T>);
                   });
          const bool add = part == 0 && begin_image > 0;
          T* to = (part == 0 ? dw : others.data() + (part - 1) * weights) + group * s.group_out() * s.depth() + first;
          for (int64_t o = 0; o < s.group_out(); ++o, to += s.depth())
            for (int64_t i = 0; i < wide; ++i) to[i] = add ? sums[o * kPanel<T> + i] + to[i] : sums[o * kPanel<T> + i];
        }
      });
    }
    for (int64_t part = 1; part < here_parts; ++part) {
      const T* from = others.data() + (part - 1) * weights;
      parallel_for(weights, 16384, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) dw[i] += from[i];
      });
    }
  }
}

#define TANDEM_INSTANTIATE(T) template void channels_backward_weight<T>(const Conv2dShape&, const T*, const T*, T*);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(double)

}  // namespace tandem::cpu
