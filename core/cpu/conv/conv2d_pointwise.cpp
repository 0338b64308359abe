// Convolution with a 1 x 1 kernel and stride 1. The planes of the input are themselves the right operand of the
// product, so that nothing but the weights is copied.
#include "tandem/core/cpu/conv/conv2d.h"

#include <algorithm>

#include "tandem/core/cpu/conv/conv2d_tiles.h"
#include "tandem/core/cpu/linalg/microkernel.h"
#include "tandem/core/cpu/linalg/transpose.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/simd.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kTaskWork = 1 << 20;  // minimum multiplications per task
// Panels of one image whose tiles take turns: memory moves long pieces of rows faster than short ones.
constexpr int64_t kPanelsAtOnce = 4;
constexpr int64_t kEnoughTasks = 32;

// y[image][group][out][places] = weights[group][out][in] * x[image][group][in][places].
template <class T>
struct Product {
  int64_t batch, groups, in, out, places;
  const T* x;
  const ConvWeight<T>& w;
  T* y;
  const Epilogue<T>& epilogue;
  int64_t tiles = ceil_div(out, kMaxTileRows[2]);
  int64_t tile_rows = ceil_div(out, tiles);
  int64_t panels = ceil_div(places, kPanel<T>);  // per image
};

// One tile of a panel of positions of image and group i. The last panel of an image ends at its last position, and
// overlaps the one before.
template <class T>
void multiply_tile(const Product<T>& p, int64_t i, int64_t panel, int64_t tile, TileKernel<T> kernel, const T* weights,
                   const T* bias, T* edge) {
  const int64_t first = panel * kPanel<T>, place = std::min(first, p.places - kPanel<T>), skip = first - place;
  const int64_t row = tile * p.tile_rows, rows = std::min(p.tile_rows, p.out - row);
  const TileSegment<T> segment{weights + row * p.in, p.x + i * p.in * p.places + place, p.in};
  const T* tile_bias = bias == nullptr ? nullptr : bias + row;
  const int64_t at = (i * p.out + row) * p.places + place;  // in y
  prefetch_rows(p.epilogue, at + skip, rows, p.places, kPanel<T> - skip);
  if (skip == 0 && rows == p.tile_rows) {
    const T* addend = p.epilogue.residual ? p.epilogue.residual + at : nullptr;
    kernel({&segment, 1, p.places, p.y + at, p.places, T(1), false, tile_bias, addend, p.epilogue.relu});
    return;
  }
  kernel({&segment, 1, p.places, edge, kPanel<T>, T(1), false, tile_bias});
  for (int64_t r = 0; r < rows; ++r)
    std::copy_n(edge + r * kPanel<T> + skip, kPanel<T> - skip, p.y + at + r * p.places + skip);
  finish_rows(p.epilogue, p.y, at + skip, rows, p.places, kPanel<T> - skip);
}

// `fill` as pack_weight_tiles calls it.
template <class T, class F>
void run(const Product<T>& p, F fill) {
  const WeightTiles<T> packed = pack_weight_tiles(p.w, p.groups, p.out, p.in, p.tile_rows, p.epilogue.bias, fill);
  const int64_t group_rows = p.tiles * p.tile_rows;
  const int64_t work = p.in * p.out * kPanel<T>, panels = p.batch * p.groups * p.panels;
  const int64_t grain = std::max(kTaskWork / work, std::clamp<int64_t>(panels / kEnoughTasks, 1, kPanelsAtOnce));
  parallel_for(panels, grain, [&](int64_t begin, int64_t end) {
    T* edge = scratch<T>(Scratch::kGemmTile, p.tile_rows * kPanel<T>);
    const TileKernel<T> kernel = tile_kernel<T>(static_cast<int>(p.tile_rows), 2);
    for (int64_t t = begin; t < end;) {
      const int64_t i = t / p.panels, group = i % p.groups, panel = t % p.panels,
                    count = std::min({kPanelsAtOnce, end - t, p.panels - panel});
      for (int64_t tile = 0; tile < p.tiles; ++tile)
        for (int64_t j = panel; j < panel + count; ++j)
          multiply_tile(p, i, j, tile, kernel, packed.weights + group * group_rows * p.in,
                        packed.bias ? packed.bias + group * group_rows : nullptr, edge);
      t += count;
    }
  });
}

}  // namespace

template <class T>
void pointwise_forward(const Conv2dShape& s, const T* x, const ConvWeight<T>& w, T* y, const Epilogue<T>& e) {
  const int64_t in = s.group_in(), out = s.group_out();
  const Product<T> p{s.batch, s.p.groups, in, out, s.in_plane(), x, w, y, e};
  run<T>(p, [&](int64_t group, int64_t first, int64_t rows, T* to) {
    transpose(rows, in, w.data + (group * out + first) * in, in, to, p.tile_rows);
  });
}

template <class T>
void pointwise_backward_input(const Conv2dShape& s, const T* dy, const T* w, T* dx) {
  const int64_t in = s.group_in(), out = s.group_out();
  const ConvWeight<T> weight{w};
  const Epilogue<T> nothing;
  const Product<T> p{s.batch, s.p.groups, out, in, s.in_plane(), dy, weight, dx, nothing};
  run<T>(p, [&](int64_t group, int64_t first, int64_t rows, T* to) {
    for (int64_t o = 0; o < out; ++o) std::copy_n(w + (group * out + o) * in + first, rows, to + o * p.tile_rows);
  });
}

#define TANDEM_INSTANTIATE(T)                                                                                     \
  template void pointwise_forward<T>(const Conv2dShape&, const T*, const ConvWeight<T>&, T*, const Epilogue<T>&); \
  template void pointwise_backward_input<T>(const Conv2dShape&, const T*, const T*, T*);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(double)

}  // namespace tandem::cpu
