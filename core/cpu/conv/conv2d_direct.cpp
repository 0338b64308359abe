// Convolution without columns: one tile of output positions of a row, or of two short rows, times two vectors of output
// channels. The tile's left operand is read where it lies in the padded input, so that each input is copied once, not
// once per tap.
//
// The input rows that a few output rows of one image need are copied to a strip [input row][channel][padded width], the
// weights of two vectors of output channels to a panel. The sums of a tile run over channels, kernel rows and kernel
// columns in the order of the weights. A strip and a panel stay in the L2 cache.
#include "tandem/core/cpu/conv/conv2d.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include "tandem/core/cpu/conv/conv2d_line.h"
#include "tandem/core/cpu/conv/conv2d_tiles.h"
#include "tandem/core/cpu/linalg/transpose.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/simd.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kStripBytes = 256 << 10;
constexpr int64_t kKeptBytes = 2 << 20;  // of strips of all images
constexpr int64_t kEnoughPanels = 8, kEnoughTasks = 16;
constexpr int64_t kChunkPositions = 224;  // outputs that are transposed at once
constexpr int kMaxPositions = kVectorRegisters == 32 ? 14 : 6;

template <class T>
struct DirectTile {
  const T* x;
  const T* w;     // [channels][kernel_h][kernel_w][kPanel]
  const T* bias;  // [kPanel]
  T* out;         // [rows][positions][kPanel]
  int64_t channels, kernel_h, kernel_w;
  int64_t channel_step, row_step, column_step;  // in x
  int64_t out_step;                             // in x, between output rows
};
template <class T>
using DirectKernel = void (*)(const DirectTile<T>&);

template <class T, int kRows, int kPositions, int kStride>
void run_tile(const DirectTile<T>& tile) {
  Vec<T> sum[kRows * kPositions][2] = {};
  const T* w = tile.w;
  const T* plane = tile.x;
  const int64_t column_step = tile.column_step;
  for (int64_t c = tile.channels; c > 0; --c, plane += tile.channel_step) {
    const T* row = plane;
    for (int64_t r = tile.kernel_h; r > 0; --r, row += tile.row_step) {
      const T* x = row;
      for (int64_t q = tile.kernel_w; q > 0; --q, x += column_step, w += kPanel<T>) {
        const Vec<T> first = load(w), second = load(w + kLanes<T>);
#pragma GCC unroll 16
        for (int p = 0; p < kRows * kPositions; ++p) {
          const T value = x[p / kPositions * tile.out_step + p % kPositions * kStride];
          sum[p][0] = fma(value, first, sum[p][0]);
          sum[p][1] = fma(value, second, sum[p][1]);
        }
      }
    }
  }
  const Vec<T> first = load(tile.bias), second = load(tile.bias + kLanes<T>);
#pragma GCC unroll 16
  for (int p = 0; p < kRows * kPositions; ++p) {
    store(tile.out + p * kPanel<T>, sum[p][0] + first);
    store(tile.out + p * kPanel<T> + kLanes<T>, sum[p][1] + second);
  }
}

#ifdef __AVX512F__
// The same of pairs: a loop of its own, as only a function with the attribute may use the instruction.
template <int kRows, int kPositions, int kStride>
[[gnu::target("avx512bf16")]] void run_pair_tile(const DirectTile<float>& tile) {
  Vec<float> sum[kRows * kPositions][2] = {};
  const float *w = tile.w, *plane = tile.x;
  const int64_t column_step = tile.column_step;
  for (int64_t c = tile.channels; c > 0; --c, plane += tile.channel_step) {
    const float* row = plane;
    for (int64_t r = tile.kernel_h; r > 0; --r, row += tile.row_step) {
      const float* x = row;
      for (int64_t q = tile.kernel_w; q > 0; --q, x += column_step, w += kPanel<float>) {
        const auto first = reinterpret_cast<__m512bh>(_mm512_loadu_ps(w)),
                   second = reinterpret_cast<__m512bh>(_mm512_loadu_ps(w + kLanes<float>));
#pragma GCC unroll 16
        for (int p = 0; p < kRows * kPositions; ++p) {
          const float value = x[p / kPositions * tile.out_step + p % kPositions * kStride];
          const auto pair = reinterpret_cast<__m512bh>(_mm512_set1_ps(value));
          sum[p][0] = _mm512_dpbf16_ps(sum[p][0], pair, first);
          sum[p][1] = _mm512_dpbf16_ps(sum[p][1], pair, second);
        }
      }
    }
  }
  const Vec<float> first = _mm512_loadu_ps(tile.bias), second = _mm512_loadu_ps(tile.bias + kLanes<float>);
#pragma GCC unroll 16
  for (int p = 0; p < kRows * kPositions; ++p) {
    _mm512_storeu_ps(tile.out + p * kPanel<float>, sum[p][0] + first);
    _mm512_storeu_ps(tile.out + p * kPanel<float> + kLanes<float>, sum[p][1] + second);
  }
}
#endif

template <class T, int kRows, int kStride, int... kPositions>
DirectKernel<T> pick(int64_t positions, [[maybe_unused]] bool pairs, std::integer_sequence<int, kPositions...>) {
#ifdef __AVX512F__
  if constexpr (std::is_same_v<T, float>) {
    static constexpr DirectKernel<T> of_pairs[] = {run_pair_tile<kRows, kPositions + 1, kStride>...};
    if (pairs) return of_pairs[positions - 1];
  }
#endif
  static constexpr DirectKernel<T> kernels[] = {run_tile<T, kRows, kPositions + 1, kStride>...};
  return kernels[positions - 1];
}
// For one row, or two of at most kMaxPositions / 2 positions.
template <class T>
DirectKernel<T> direct_kernel(int64_t rows, int64_t positions, int64_t stride, bool pairs) {
  constexpr auto kAll = std::make_integer_sequence<int, kMaxPositions>{};
  constexpr auto kHalf = std::make_integer_sequence<int, kMaxPositions / 2>{};
  if (rows == 2) return stride == 1 ? pick<T, 2, 1>(positions, pairs, kHalf) : pick<T, 2, 2>(positions, pairs, kHalf);
  return stride == 1 ? pick<T, 1, 1>(positions, pairs, kAll) : pick<T, 1, 2>(positions, pairs, kAll);
}

template <class T>
struct Plan {
  const Conv2dShape& s;
  const T* x;
  int64_t out_h, out_w, padded_w, panels, tiles;
  int64_t rows, blocks;  // output rows of a strip, strips per image and group
  int64_t strip_size, panel_size;
  const ConvWeight<T>& weight;
  const Epilogue<T>& epilogue;

  Plan(const Conv2dShape& shape, const T* source, const ConvWeight<T>& w, const Epilogue<T>& e)
      : s(shape), x(source), out_h(s.out_h()), out_w(s.out_w()), padded_w(s.padded_w()), weight(w), epilogue(e) {
    panels = ceil_div(s.group_out(), kPanel<T>);
    tiles = ceil_div(out_w, kMaxPositions);
    const int64_t row_bytes = s.group_in() * padded_w * static_cast<int64_t>(sizeof(T));
    const int64_t extra = (s.kernel_h - 1) * s.p.dilation[0] + 1;
    const int64_t fit = (kStripBytes / row_bytes - extra) / s.p.stride[0] + 1;
    rows = std::clamp<int64_t>(fit, 1, out_h);
    // With few images the rows are cut further, so that all threads have work.
    blocks = std::max(ceil_div(out_h, rows), ceil_div(kEnoughTasks, s.batch * s.p.groups * panels));
    rows = ceil_div(out_h, std::min(blocks, out_h));
    blocks = ceil_div(out_h, rows);
    strip_size = strip_rows() * s.group_in() * padded_w;
    panel_size = s.depth() * kPanel<T>;
  }
  int64_t strips() const { return s.batch * s.p.groups * blocks; }
  int64_t strip_rows() const { return (rows - 1) * s.p.stride[0] + (s.kernel_h - 1) * s.p.dilation[0] + 1; }
};

// Strip i of [image][group][block]: [row][channel][padded_w], from the first row of the padded input that the block's
// outputs need. Reads each channel's rows in order, which the processor prefetches.
template <class T>
void make_strip(const Plan<T>& plan, int64_t i, T* strip) {
  const Conv2dShape& s = plan.s;
  const T* image = plan.x + i / plan.blocks * s.group_in() * s.in_plane();
  const int64_t row = s.group_in() * plan.padded_w, top = i % plan.blocks * plan.rows * s.p.stride[0] - s.p.padding[0],
                begin = std::clamp<int64_t>(-top, 0, plan.strip_rows()),
                end = std::clamp<int64_t>(s.in_h - top, begin, plan.strip_rows());
  std::fill_n(strip, begin * row, T(0));
  std::fill(strip + end * row, strip + plan.strip_rows() * row, T(0));
  for (int64_t c = 0; c < s.group_in(); ++c)
    for (int64_t r = begin; r < end; ++r)
      copy_padded(image + c * s.in_plane() + (top + r) * s.in_w, s.in_w, s.p.padding[1],
                  strip + r * row + c * plan.padded_w);
}

// The outputs of strip i in the channels of one panel of its group. `weights` and `bias` are those of that panel.
template <class T>
void multiply_strip(const Plan<T>& plan, int64_t i, const T* strip, int64_t panel, const T* weights, const T* bias,
                    T* y) {
  const Conv2dShape& s = plan.s;
  const int64_t row = s.group_in() * plan.padded_w, plane = plan.out_h * plan.out_w,
                first = i % plan.blocks * plan.rows, count = std::min(plan.rows, plan.out_h - first),
                channels = std::min(kPanel<T>, s.group_out() - panel * kPanel<T>);
  const int64_t chunk = std::max<int64_t>(1, kChunkPositions / plan.out_w);
  const int64_t base = plan.out_w / plan.tiles, wider = plan.out_w % plan.tiles;
  const int64_t most = ceil_div(std::max(kChunkPositions, plan.out_w), kLanes<T>) * kLanes<T>;
  T* sums = scratch<T>(Scratch::kConvOutput, 2 * most * kPanel<T>);
  T* rows = sums + most * kPanel<T>;
  const int64_t at = (i / plan.blocks * s.group_out() + panel * kPanel<T>)*plane + first * plan.out_w;
  DirectTile<T> tile{.w = weights,
                     .bias = bias,
                     .channels = s.group_in(),
                     .kernel_h = s.kernel_h,
                     .kernel_w = s.kernel_w,
                     .channel_step = plan.padded_w,
                     .row_step = s.p.dilation[0] * row,
                     .column_step = s.p.dilation[1],
                     .out_step = s.p.stride[0] * row};
  for (int64_t h = 0; h < count; h += chunk) {
    const int64_t here = std::min(chunk, count - h);
    tile.out = sums;
    for (int64_t r = h, together = 1; r < h + here; r += together) {
      together = 2 * plan.out_w <= kMaxPositions && r + 2 <= h + here ? 2 : 1;
      // A share of what is written when all rows are computed.
      const int64_t begin = channels * (r - h) / here, end = channels * (r - h + together) / here;
      prefetch_rows(plan.epilogue, y, at + h * plan.out_w + begin * plane, end - begin, plane, here * plan.out_w);
      int64_t q = 0;
      for (int64_t t = 0; t < plan.tiles; ++t) {
        const int64_t positions = base + (t < wider);
        tile.x = strip + r * tile.out_step + q * s.p.stride[1];
        direct_kernel<T>(together, positions, s.p.stride[1], s.pairs)(tile);
        tile.out += together * positions * kPanel<T>;
        q += positions;
      }
    }
    put_channels(plan.epilogue, sums, here * plan.out_w, channels, rows, y, at + h * plan.out_w, plane);
  }
}

// Panel i of [group][panel]: the weights [depth][kPanel].
template <class T>
void make_panel(const Plan<T>& plan, int64_t i, T* to) {
  const Conv2dShape& s = plan.s;
  const int64_t first = i % plan.panels * kPanel<T>, channels = std::min(kPanel<T>, s.group_out() - first);
  if (channels < kPanel<T>) std::fill_n(to, s.depth() * kPanel<T>, T(0));
  weight_rows(s, plan.weight, i / plan.panels * s.group_out() + first, channels, 0, s.depth(), to, kPanel<T>);
}

// What all strips are multiplied with: [group][panel][kPanel] is the bias, [group][panel][depth][kPanel] are the
// weights, if they are kept.
template <class T>
struct Panels {
  const T* bias;
  const T* kept;
};

// For little input and many weights: keeps all strips, and uses each panel where it has just been packed.
template <class T>
void run_panels(const Plan<T>& plan, const Panels<T>& panels, T* y) {
  const Workspace<T> memory(plan.strips() * plan.strip_size);
  T* strips = memory.data();
  parallel_for(plan.strips(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) make_strip(plan, i, strips + i * plan.strip_size);
  });
  parallel_for(plan.s.p.groups * plan.panels, 1, [&](int64_t begin, int64_t end) {
    T* packed = panels.kept ? nullptr : scratch<T>(Scratch::kConvWeight, plan.panel_size);
    for (int64_t p = begin; p < end; ++p) {
      if (packed) make_panel(plan, p, packed);
      const T* weights = packed ? packed : panels.kept + p * plan.panel_size;
      for (int64_t i = 0; i < plan.strips(); ++i)
        if (i / plan.blocks % plan.s.p.groups == p / plan.panels)
          multiply_strip(plan, i, strips + i * plan.strip_size, p % plan.panels, weights, panels.bias + p * kPanel<T>,
                         y);
    }
  });
}

// For little input: keeps all strips and all panels, whose pairs are the tasks.
template <class T>
void run_pairs(const Plan<T>& plan, const Panels<T>& panels, T* y) {
  const int64_t count = panels.kept ? 0 : plan.s.p.groups * plan.panels;  // of panels to make
  const Workspace<T> memory(count * plan.panel_size + plan.strips() * plan.strip_size);
  T *packed = memory.data(), *strips = packed + count * plan.panel_size;
  parallel_for(count + plan.strips(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      i < count ? make_panel(plan, i, packed + i * plan.panel_size)
                : make_strip(plan, i - count, strips + (i - count) * plan.strip_size);
  });
  const T* weights = panels.kept ? panels.kept : packed;
  parallel_for(plan.strips() * plan.panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t i = t / plan.panels, panel = t % plan.panels,
                    p = i / plan.blocks % plan.s.p.groups * plan.panels + panel;
      multiply_strip(plan, i, strips + i * plan.strip_size, panel, weights + p * plan.panel_size,
                     panels.bias + p * kPanel<T>, y);
    }
  });
}

// Otherwise: keeps all panels, and makes each strip where it is used.
template <class T>
void run_strips(const Plan<T>& plan, const Panels<T>& panels, T* y) {
  const int64_t count = panels.kept ? 0 : plan.s.p.groups * plan.panels;  // of panels to make
  const Workspace<T> memory(count * plan.panel_size);
  T* packed = memory.data();
  parallel_for(count, std::max<int64_t>(1, 16384 / plan.panel_size), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) make_panel(plan, p, packed + p * plan.panel_size);
  });
  const T* weights = panels.kept ? panels.kept : packed;
  parallel_for(plan.strips(), 1, [&](int64_t begin, int64_t end) {
    T* strip = scratch<T>(Scratch::kConvColumns, plan.strip_size);
    for (int64_t i = begin; i < end; ++i) {
      make_strip(plan, i, strip);
      const int64_t group = i / plan.blocks % plan.s.p.groups * plan.panels;
      for (int64_t panel = 0; panel < plan.panels; ++panel)
        multiply_strip(plan, i, strip, panel, weights + (group + panel) * plan.panel_size,
                       panels.bias + (group + panel) * kPanel<T>, y);
    }
  });
}

}  // namespace

template <class T>
void direct_forward(const Conv2dShape& s, const T* x, const ConvWeight<T>& w, T* y, const Epilogue<T>& e) {
  const Plan<T> plan(s, x, w, e);
  const T* bias = e.bias;
  T* padded_bias = scratch<T>(Scratch::kConvInput, s.p.groups * plan.panels * kPanel<T>);
  for (int64_t i = 0; i < s.p.groups * plan.panels; ++i)
    for (int64_t c = 0; c < kPanel<T>; ++c) {
      const int64_t channel = i % plan.panels * kPanel<T> + c;
      const bool exists = bias != nullptr && channel < s.group_out();
      padded_bias[i * kPanel<T> + c] = exists ? bias[i / plan.panels * s.group_out() + channel] : T(0);
    }
  const auto kept = kept_tiles(s, plan.weight, kPanel<T>);
  const Panels<T> panels{padded_bias, static_cast<const T*>(kept.get())};
  const bool little = plan.strips() * plan.strip_size * static_cast<int64_t>(sizeof(T)) <= kKeptBytes;
  if (little && plan.panels >= kEnoughPanels) return run_panels(plan, panels, y);
  if (little) return run_pairs(plan, panels, y);
  run_strips(plan, panels, y);
}

#define TANDEM_INSTANTIATE(T) \
  template void direct_forward<T>(const Conv2dShape&, const T*, const ConvWeight<T>&, T*, const Epilogue<T>&);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(double)

}  // namespace tandem::cpu
