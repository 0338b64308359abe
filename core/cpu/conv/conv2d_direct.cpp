// Convolution without columns: one tile of output positions of a row, or of two short rows, times two vectors of output
// channels. The tile's left operand is read where it lies in the padded input, so that each input is copied at most once,
// not once per tap.
//
// The input rows that a few output rows of one image need are copied to a strip, of channels-last tensors only where they
// need padding or would compete for few sets of the L1 cache; the weights of two vectors of output channels to a panel.
// The sums of a tile run over channels, kernel rows and kernel columns in the order of the weights. A strip and a panel stay
// in the L2 cache.
#include "tandem/core/cpu/conv/conv2d.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include "tandem/core/cpu/conv/conv2d_tiles.h"
#include "tandem/core/cpu/linalg/transpose.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/simd.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kStripBytes = 256 << 10;
constexpr int64_t kKeptBytes = 2 << 20;  // of strips of all images
constexpr int64_t kEnoughPanels = 8, kEnoughTasks = 16;
constexpr int64_t kChunkPositions = 224;  // outputs that are transposed at once
constexpr int kMaxPositions = kVectorRegisters == 32 ? 14 : 6;

// Positions of a strip are so many elements apart, unless it has few channels.
template <class T>
constexpr int64_t kColumn = Wide<T>::kCount;

template <class T>
struct DirectTile {
  const T* x;           // the input of the first position
  const T* w;           // [channels][taps][kPanel]
  const int64_t* taps;  // where in x
  int64_t tap_count, channels;
  int64_t block, block_step;        // channels that are adjacent in x, and the step to the next ones
  int64_t position_step, row_step;  // in x
  const T* bias;                    // [kPanel]
  T* out;
  int64_t out_step, out_row_step;  // between positions and rows
  const T* addend;                 // like out, or none
  FusedActivation activation;
  const T* ahead;       // weights to request, or none
  int64_t ahead_lines;  // of them for each channel
};
template <class T>
using DirectKernel = void (*)(const DirectTile<T>&);

// The inputs of a tile's positions at one tap: kColumn apart.
template <class T, int kRows, int kPositions>
struct ColumnInputs {
  const T* at[kRows];

  [[gnu::always_inline]] ColumnInputs(const DirectTile<T>& tile, const T* x) {
    for (int r = 0; r < kRows; ++r) at[r] = x + r * tile.row_step;
  }
  [[gnu::always_inline]] T operator[](int p) const { return at[p / kPositions][p % kPositions * kColumn<T>]; }
  [[gnu::always_inline]] void advance() {
    for (int r = 0; r < kRows; ++r) ++at[r];
  }
};
// Inputs of one row at any step: four pointers reach four positions each, and arithmetic on more would take the time of
// multiplications.
template <class T, int kPositions>
struct SteppedInputs {
  const T* at[4];
  int64_t step;

  [[gnu::always_inline]] SteppedInputs(const DirectTile<T>& tile, const T* x) : step(tile.position_step) {
    for (int i = 0; i < 4; ++i) at[i] = x + 4 * i * step;
  }
  [[gnu::always_inline]] T operator[](int p) const { return at[p / 4][p % 4 * step]; }
  [[gnu::always_inline]] void advance() {
    for (const T*& from : at) ++from;
  }
};

template <class T>
[[gnu::always_inline]] inline void request_ahead(const DirectTile<T>& tile, const T*& ahead) {
  for (int64_t i = 0; i < tile.ahead_lines; ++i, ahead += kColumn<T>) __builtin_prefetch(ahead, 0, 2);
}

template <class T, int kRows, int kPositions, int kVectors>
[[gnu::always_inline]] inline void finish_tile(const DirectTile<T>& tile,
                                               const Vec<T> (&sum)[kRows * kPositions][kVectors]) {
#pragma GCC unroll 16
  for (int p = 0; p < kRows * kPositions; ++p) {
    const int64_t at = p / kPositions * tile.out_row_step + p % kPositions * tile.out_step;
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      Vec<T> value = sum[p][v] + load(tile.bias + v * kLanes<T>);
      if (tile.addend != nullptr) value += load(tile.addend + at + v * kLanes<T>);
      store(tile.out + at + v * kLanes<T>, activated(value, tile.activation));
    }
  }
}

template <class T, int kRows, int kPositions, int kVectors, class Inputs>
void run_tile(const DirectTile<T>& tile) {
  Vec<T> sum[kRows * kPositions][kVectors] = {};
  const T *w = tile.w, *x = tile.x, *ahead = tile.ahead;
  const auto add = [&](const Inputs& inputs) __attribute__((always_inline)) {
    Vec<T> right[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) right[v] = load(w + v * kLanes<T>);
#pragma GCC unroll 16
    for (int p = 0; p < kRows * kPositions; ++p) {
      const T value = inputs[p];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[p][v] = fma(value, right[v], sum[p][v]);
    }
    w += kPanel<T>;
  };
  for (int64_t c = 0; c < tile.channels; c += tile.block, x += tile.block_step) {
    const int64_t count = std::min(tile.block, tile.channels - c);
    if (tile.tap_count == 1) {
      Inputs inputs(tile, x);
      for (int64_t i = 0; i < count; ++i, inputs.advance()) {
        request_ahead(tile, ahead);
        add(inputs);
      }
      continue;
    }
    for (int64_t i = 0; i < count; ++i) {
      request_ahead(tile, ahead);
      for (int64_t t = 0; t < tile.tap_count; ++t) add(Inputs(tile, x + i + tile.taps[t]));
    }
  }
  finish_tile<T, kRows, kPositions, kVectors>(tile, sum);
}

#ifdef __AVX512F__
// The same of pairs: a loop of its own, as only a function with the attribute may use the instruction.
template <int kRows, int kPositions, int kVectors>
[[gnu::target("avx512bf16")]] void run_pair_tile(const DirectTile<float>& tile) {
  Vec<float> sum[kRows * kPositions][kVectors] = {};
  const float *w = tile.w, *x = tile.x, *ahead = tile.ahead;
  for (int64_t c = 0; c < tile.channels; c += tile.block, x += tile.block_step)
    for (int64_t i = 0; i < std::min(tile.block, tile.channels - c); ++i) {
      request_ahead(tile, ahead);
      for (int64_t t = 0; t < tile.tap_count; ++t, w += kPanel<float>) {
        const ColumnInputs<float, kRows, kPositions> inputs(tile, x + i + tile.taps[t]);
        __m512bh right[kVectors];
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v)
          right[v] = reinterpret_cast<__m512bh>(_mm512_loadu_ps(w + v * kLanes<float>));
#pragma GCC unroll 16
        for (int p = 0; p < kRows * kPositions; ++p) {
          const auto pair = reinterpret_cast<__m512bh>(_mm512_set1_ps(inputs[p]));
#pragma GCC unroll 2
          for (int v = 0; v < kVectors; ++v) sum[p][v] = _mm512_dpbf16_ps(sum[p][v], pair, right[v]);
        }
      }
    }
  finish_tile<float, kRows, kPositions, kVectors>(tile, sum);
}
#endif

enum class TileKind { kColumns, kStepped, kPairs };

template <class T, int kRows, int kVectors, int... kPositions>
DirectKernel<T> pick(int64_t positions, TileKind kind, std::integer_sequence<int, kPositions...>) {
#ifdef __AVX512F__
  if constexpr (std::is_same_v<T, float>) {
    static constexpr DirectKernel<T> of_pairs[] = {run_pair_tile<kRows, kPositions + 1, kVectors>...};
    if (kind == TileKind::kPairs) return of_pairs[positions - 1];
  }
#endif
  if constexpr (kRows == 1) {
    static constexpr DirectKernel<T> stepped[] = {
        run_tile<T, 1, kPositions + 1, kVectors, SteppedInputs<T, kPositions + 1>>...};
    if (kind == TileKind::kStepped) return stepped[positions - 1];
  }
  static constexpr DirectKernel<T> kernels[] = {
      run_tile<T, kRows, kPositions + 1, kVectors, ColumnInputs<T, kRows, kPositions + 1>>...};
  return kernels[positions - 1];
}
// For one row, or two of at most kMaxPositions / 2 positions.
template <class T>
DirectKernel<T> direct_kernel(int64_t rows, int64_t positions, int64_t vectors, TileKind kind) {
  constexpr auto kAll = std::make_integer_sequence<int, kMaxPositions>{};
  constexpr auto kHalf = std::make_integer_sequence<int, kMaxPositions / 2>{};
  if (rows == 2) return vectors == 1 ? pick<T, 2, 1>(positions, kind, kHalf) : pick<T, 2, 2>(positions, kind, kHalf);
  return vectors == 1 ? pick<T, 1, 1>(positions, kind, kAll) : pick<T, 1, 2>(positions, kind, kAll);
}

template <class T>
struct Plan {
  Conv2dShape s;
  const T* x;
  int64_t in_plane, places, out_h, out_w, padded_w, panels;
  int64_t rows, blocks;  // output rows of a strip, strips per image and group
  TileKind kind;
  bool many_weights;
  bool in_place;  // strips are the input itself
  int64_t piece;  // positions of a row of a strip whose inputs are adjacent, for each remainder of the stride
  int64_t column, channel_blocks, row;  // of a strip: the steps between positions and rows, and the blocks of channels
  int64_t strip_size, panel_size;
  std::vector<int64_t> taps;  // where they are in a strip
  const ConvWeight<T>& weight;
  const Epilogue<T>& epilogue;

  Plan(const Conv2dShape& shape, const T* source, const ConvWeight<T>& w, const Epilogue<T>& e)
      : s(shape), x(source), weight(w), epilogue(e) {
    in_plane = s.in_plane(), places = s.out_plane();
    if (s.is_pointwise()) {  // rows of whole tiles; the last one may be shorter
      s.in_w = std::min<int64_t>(places, 4 * kMaxPositions);
      s.in_h = ceil_div(places, s.in_w);
    }
    out_h = s.out_h(), out_w = s.out_w(), padded_w = s.padded_w();
    panels = ceil_div(s.group_out(), kPanel<T>);
    // Not if positions are so far apart that they compete for a few sets of the L1 cache.
    in_place = s.last_in() && s.kernel_size() == 1 && s.p.padding[0] == 0 && s.p.padding[1] == 0 &&
               s.in_channels * s.p.stride[1] % (64 * kColumn<T>) != 0;
    column = in_place ? s.in_channels : !s.pairs && 2 * s.group_in() <= kColumn<T> ? s.group_in() : kColumn<T>;
    kind = s.pairs ? TileKind::kPairs : in_place || column != kColumn<T> ? TileKind::kStepped : TileKind::kColumns;
    piece = ceil_div(padded_w, s.p.stride[1]);
    channel_blocks = ceil_div(s.group_in(), kColumn<T>);
    row = in_place ? s.in_w * s.in_channels : channel_blocks * block_step();
    const int64_t row_bytes = row * static_cast<int64_t>(sizeof(T));
    const int64_t extra = (s.kernel_h - 1) * s.p.dilation[0] + 1;
    const int64_t fit = (kStripBytes / row_bytes - extra) / s.p.stride[0] + 1;
    panel_size = s.depth() * kPanel<T>;
    many_weights = panels * panel_size * static_cast<int64_t>(sizeof(T)) > 2 * kStripBytes;
    // Few weights stay in the cache, so that all outputs of a row can be written one after the other.
    rows = in_place && !many_weights ? 1 : std::clamp<int64_t>(fit, 1, out_h);
    // With few images the rows are cut further, so that all threads have work.
    blocks = ceil_div(out_h, rows);
    if (get_num_threads() > 1) blocks = std::max(blocks, ceil_div(kEnoughTasks, s.batch * s.p.groups * panels));
    rows = ceil_div(out_h, std::min(blocks, out_h));
    blocks = ceil_div(out_h, rows);
    strip_size = in_place ? 0 : strip_rows() * row;
    for (int64_t r = 0; r < s.kernel_h; ++r)
      for (int64_t q = 0; q < s.kernel_w; ++q) taps.push_back(r * s.p.dilation[0] * row + place(q * s.p.dilation[1]));
  }
  // Columns 0, stride, 2 stride … are adjacent, so that the inputs of one tap at adjacent outputs are.
  int64_t place(int64_t at) const { return (at % s.p.stride[1] * piece + at / s.p.stride[1]) * column; }
  int64_t block_step() const { return s.p.stride[1] * piece * column; }
  // Outputs of a row.
  int64_t width(int64_t r) const { return std::min(out_w, places - r * out_w); }
  // Of strip i of [image][group][block].
  int64_t image(int64_t i) const { return i / blocks / s.p.groups; }
  int64_t group(int64_t i) const { return i / blocks % s.p.groups; }
  int64_t strips() const { return s.batch * s.p.groups * blocks; }
  int64_t strip_rows() const { return s.rows_seen(rows); }
};

// Row r of the input of a group, whose first channel has the plane or the image `from`, to a row of a strip.
template <class T>
void copy_row(const Plan<T>& plan, const T* from, int64_t r, T* to) {
  const Conv2dShape& s = plan.s;
  const int64_t stride = s.p.stride[1], pad = s.p.padding[1], column = plan.column, block_step = plan.block_step(),
                plane = plan.in_plane, count = std::min(s.in_w, plane - r * s.in_w);
  for (int64_t q = pad == 0 ? count : 0; q < plan.padded_w; q = q + 1 == pad ? pad + count : q + 1)
    for (int64_t b = 0; b < plan.channel_blocks; ++b) std::fill_n(to + b * block_step + plan.place(q), column, T(0));
  // Calls put(q, place) for the columns of the input.
  const auto for_columns = [&](T* block, const auto& put) {
    for (int64_t phase = 0; phase < (s.kernel_w == 1 ? 1 : stride); ++phase) {
      const int64_t first = phase >= pad ? 0 : ceil_div(pad - phase, stride);
      T* at = block + (phase * plan.piece + first) * column;
      for (int64_t q = phase + first * stride - pad; q < count; q += stride, at += column) put(q, at);
    }
  };
  const int64_t q_step = s.last_in() ? s.in_channels : 1, c_step = s.last_in() ? 1 : plane;
  from += r * s.in_w * q_step;
  if (column < kColumn<T>)
    return for_columns(to, [&](int64_t q, T* at) {
      for (int64_t c = 0; c < column; ++c) at[c] = from[c * c_step + q * q_step];
    });
  const int64_t whole = s.group_in() / kColumn<T> * kColumn<T>;
  if (s.last_in())
    return for_columns(to, [&](int64_t q, T* at) {
      const T* channels = from + q * q_step;
      for (int64_t c = 0; c < whole; c += kColumn<T>, at += block_step) std::copy_n(channels + c, kColumn<T>, at);
      for (int64_t c = whole; c < s.group_in(); ++c) at[c - whole] = channels[c];
    });
  T* turned = scratch<T>(Scratch::kConvOutput, s.in_w * kColumn<T>);
  for (int64_t c = 0; c < s.group_in(); c += kColumn<T>, to += block_step) {
    transpose(std::min(kColumn<T>, s.group_in() - c), count, from + c * plane, plane,
              stride == 1 ? to + pad * kColumn<T> : turned, kColumn<T>);
    if (stride > 1) for_columns(to, [&](int64_t q, T* at) { std::copy_n(turned + q * kColumn<T>, kColumn<T>, at); });
  }
}

// Strip i of [image][group][block]: [row][channel block][column][channel], from the first row of the padded input that the
// block's outputs need. It is written to `memory`, which has room for it, unless it is in place.
template <class T>
const T* make_strip(const Plan<T>& plan, int64_t i, T* memory) {
  const Conv2dShape& s = plan.s;
  const int64_t plane = plan.in_plane;
  const int64_t top = i % plan.blocks * plan.rows * s.p.stride[0] - s.p.padding[0],
                begin = std::clamp<int64_t>(-top, 0, plan.strip_rows()),
                end = std::clamp<int64_t>(s.in_h - top, begin, plan.strip_rows());
  const T* from =
      plan.x + plan.image(i) * s.in_channels * plane + plan.group(i) * s.group_in() * (s.last_in() ? 1 : plane);
  if (plan.in_place) return from + top * plan.row;
  std::fill_n(memory, begin * plan.row, T(0));
  std::fill(memory + end * plan.row, memory + plan.strip_rows() * plan.row, T(0));
  const int64_t step = s.kernel_h == 1 ? s.p.stride[0] : 1;  // rows between are not read
  for (int64_t r = ceil_div(begin, step) * step; r < end; r += step)
    copy_row(plan, from, top + r, memory + r * plan.row);
  return memory;
}

// Weights that are used next and may not be in the cache: the tiles that come before each request a share.
template <class T>
struct Ahead {
  const T* at = nullptr;
  const T* end = nullptr;
};

// The outputs of strip i in the channels of one panel of its group. `weights` and `bias` belong to that panel.
template <class T>
void multiply_strip(const Plan<T>& plan, int64_t i, const T* strip, int64_t panel, const T* weights, const T* bias,
                    T* y, Ahead<T>* ahead = nullptr) {
  const Conv2dShape& s = plan.s;
  const int64_t plane = plan.places, first = i % plan.blocks * plan.rows,
                count = std::min(plan.rows, plan.out_h - first),
                channels = std::min(kPanel<T>, s.group_out() - panel * kPanel<T>),
                vectors = ceil_div(channels, kLanes<T>);
  // Sums are written where they belong, if they have whole vectors there.
  const bool direct = s.channels_last && channels == vectors * kLanes<T>;
  const int64_t chunk = direct ? count : std::max<int64_t>(1, kChunkPositions / plan.out_w);
  const int64_t most = ceil_div(std::max(kChunkPositions, plan.out_w), kLanes<T>) * kLanes<T>;
  T* sums = direct ? nullptr : scratch<T>(Scratch::kConvOutput, 2 * most * kPanel<T>);
  const int64_t channel = plan.group(i) * s.group_out() + panel * kPanel<T>;
  const int64_t place_step = s.channels_last ? s.out_channels : 1;
  const int64_t at = plan.image(i) * s.out_channels * plane + channel * (s.channels_last ? 1 : plane) +
                     first * plan.out_w * place_step;
  const bool pairs_rows = 2 * plan.out_w <= kMaxPositions && plan.kind != TileKind::kStepped;
  const int64_t tile_count = ceil_div(plan.out_w, kMaxPositions) * (pairs_rows ? ceil_div(count, 2) : count);
  DirectTile<T> tile{.w = weights,
                     .taps = plan.taps.data(),
                     .tap_count = s.kernel_size(),
                     .channels = s.group_in(),
                     .block = plan.in_place ? s.group_in() : kColumn<T>,
                     .block_step = plan.block_step(),
                     .position_step = plan.in_place ? s.p.stride[1] * s.in_channels : plan.column,
                     .row_step = s.p.stride[0] * plan.row,
                     .bias = bias,
                     .out_step = direct ? place_step : kPanel<T>};
  const int64_t lines = ceil_div(plan.panel_size / kColumn<T>, s.group_in() * tile_count * plan.strips() / s.p.groups);
  if (direct) tile.activation = plan.epilogue.activation;
  for (int64_t h = 0; h < count; h += chunk) {
    const int64_t here = std::min(chunk, count - h),
                  written = std::min(here * plan.out_w, plane - (first + h) * plan.out_w);
    tile.out = direct ? y + at : sums;
    if (direct && plan.epilogue.residual != nullptr) tile.addend = plan.epilogue.residual + at;
    for (int64_t r = h, together = 1; r < h + here; r += together) {
      together = pairs_rows && r + 2 <= h + here ? 2 : 1;
      if (!s.channels_last) {  // a share of what is written when all rows are computed
        const int64_t begin = channels * (r - h) / here, end = channels * (r - h + together) / here;
        prefetch_rows(plan.epilogue, y, at + h * plan.out_w + begin * plane, end - begin, plane, written);
      }
      const int64_t width = plan.width(first + r);
      for (int64_t q = 0, left = ceil_div(width, kMaxPositions), positions; q < width; q += positions, --left) {
        positions = ceil_div(width - q, left);
        tile.x = strip + r * tile.row_step + q * tile.position_step;
        tile.out_row_step = positions * tile.out_step;
        tile.ahead_lines = 0;
        if (ahead != nullptr && ahead->at < ahead->end) {
          tile.ahead = ahead->at, tile.ahead_lines = lines;
          ahead->at += s.group_in() * lines * kColumn<T>;
        }
        direct_kernel<T>(together, positions, vectors, plan.kind)(tile);
        const int64_t step = together * positions * tile.out_step;
        tile.out += step;
        if (tile.addend != nullptr) tile.addend += step;
      }
    }
    if (direct) break;
    if (s.channels_last)
      put_rows(plan.epilogue, sums, kPanel<T>, y, at + h * plan.out_w * place_step, written, place_step, channels);
    else
      put_channels(plan.epilogue, sums, written, channels, sums + most * kPanel<T>, y, at + h * plan.out_w, plane);
  }
}

// For little input and many weights: keeps all strips, and uses each panel where it has just been packed, unless it is kept.
template <class T>
void run_panels(const Plan<T>& plan, const T* const* strips, const T* kept, const T* bias, T* y) {
  parallel_for(plan.s.p.groups * plan.panels, 1, [&](int64_t begin, int64_t end) {
    T* packed = kept ? nullptr : scratch<T>(Scratch::kConvColumns, plan.panel_size);
    for (int64_t p = begin; p < end; ++p) {
      if (packed) pack_tile(plan.s, plan.weight, kPanel<T>, p, packed);
      const T* weights = packed ? packed : kept + p * plan.panel_size;
      Ahead<T> ahead;
      if (!packed && p + 1 < end) ahead = {weights + plan.panel_size, weights + 2 * plan.panel_size};
      for (int64_t i = 0; i < plan.strips(); ++i)
        if (plan.group(i) == p / plan.panels)
          multiply_strip(plan, i, strips[i], p % plan.panels, weights, bias + p * kPanel<T>, y, &ahead);
    }
  });
}

// Otherwise packs all panels. Without strips that are kept, makes each where it is used.
template <class T>
void run_strips(const Plan<T>& plan, const T* const* strips, const T* weights, const T* bias, T* y) {
  const int64_t at_once = strips ? 1 : plan.panels;  // panels of a task
  parallel_for(plan.strips() * plan.panels / at_once, 1, [&](int64_t begin, int64_t end) {
    T* memory = strips ? nullptr : scratch<T>(Scratch::kConvColumns, plan.strip_size);
    for (int64_t t = begin; t < end; ++t) {
      const int64_t i = t * at_once / plan.panels, first = t * at_once % plan.panels,
                    group = plan.group(i) * plan.panels;
      const T* strip = strips ? strips[i] : make_strip(plan, i, memory);
      for (int64_t panel = first; panel < first + at_once; ++panel)
        multiply_strip(plan, i, strip, panel, weights + (group + panel) * plan.panel_size,
                       bias + (group + panel) * kPanel<T>, y);
    }
  });
}

}  // namespace

template <class T>
void direct_forward(const Conv2dShape& s, const T* x, const ConvWeight<T>& w, T* y, const Epilogue<T>& e) {
  const Plan<T> plan(s, x, w, e);
  const bool little = plan.strips() * plan.strip_rows() * plan.row * static_cast<int64_t>(sizeof(T)) <= kKeptBytes,
             by_panel = little && plan.panels >= kEnoughPanels && plan.many_weights;
  const Workspace<T> memory(little ? plan.strips() * plan.strip_size : 0);
  std::vector<const T*> strips(static_cast<std::size_t>(little ? plan.strips() : 0));
  parallel_for_each(static_cast<int64_t>(strips.size()), 1, [&](int64_t i) {
    strips[static_cast<std::size_t>(i)] = make_strip(plan, i, memory.data() + i * plan.strip_size);
  });
  const std::vector<T> zeros(static_cast<std::size_t>(e.bias ? 0 : s.p.groups * plan.panels * kPanel<T>));
  const WeightTiles<T> packed = pack_weight_tiles(s, w, kPanel<T>, e.bias, !by_panel);
  const T* bias = e.bias ? packed.bias : zeros.data();
  if (by_panel) return run_panels(plan, strips.data(), packed.weights, bias, y);
  run_strips(plan, little ? strips.data() : nullptr, packed.weights, bias, y);
}

#define TANDEM_INSTANTIATE(T) \
  template void direct_forward<T>(const Conv2dShape&, const T*, const ConvWeight<T>&, T*, const Epilogue<T>&);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(double)

}  // namespace tandem::cpu
