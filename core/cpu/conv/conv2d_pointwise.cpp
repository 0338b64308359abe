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
  prefetch_rows(p.epilogue, p.y, at + skip, rows, p.places, kPanel<T> - skip);
  const RoundedOutput& rounded = p.epilogue.rounded;
  if (skip == 0 && rows == p.tile_rows && rounded.residual == nullptr) {
    uint16_t* y = rounded.y ? rounded.y + at : nullptr;
    const T* addend = p.epilogue.residual ? p.epilogue.residual + at : nullptr;
    kernel({&segment, 1, p.places, y ? nullptr : p.y + at, p.places, T(1), false, tile_bias, addend,
            p.epilogue.activation, y});
    return;
  }
  kernel({&segment, 1, p.places, edge, kPanel<T>, T(1), false, tile_bias});
  put_rows(p.epilogue, edge + skip, kPanel<T>, p.y, at + skip, rows, p.places, kPanel<T> - skip);
}

}  // namespace

template <class T>
void pointwise_forward(const Conv2dShape& s, const T* x, const ConvWeight<T>& w, T* y, const Epilogue<T>& e) {
  const Product<T> p{s.batch, s.p.groups, s.group_in(), s.group_out(), s.in_plane(), x, y, e};
  const WeightTiles<T> packed = pack_weight_tiles(s, w, p.tile_rows, e.bias);
  const int64_t group_rows = p.tiles * p.tile_rows;
  const int64_t work = p.in * p.out * kPanel<T>, panels = p.batch * p.groups * p.panels;
  const int64_t grain = std::max(kTaskWork / work, std::clamp<int64_t>(panels / kEnoughTasks, 1, kPanelsAtOnce));
  parallel_for(panels, grain, [&](int64_t begin, int64_t end) {
    T* edge = scratch<T>(Scratch::kGemmTile, p.tile_rows * kPanel<T>);
    const TileKernel<T> kernel = tile_kernel<T>(static_cast<int>(p.tile_rows), 2, s.pairs);
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

#define TANDEM_INSTANTIATE(T) \
  template void pointwise_forward<T>(const Conv2dShape&, const T*, const ConvWeight<T>&, T*, const Epilogue<T>&);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(double)

}  // namespace tandem::cpu
