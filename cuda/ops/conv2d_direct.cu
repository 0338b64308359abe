// A block of threads keeps a part of the images and of the weight in shared memory, in float32. The gradient of the input
// is a forward convolution of the other gradient, with the weight turned around.
#include "tandem/cuda/device.h"

#include "tandem/cuda/ops/conv2d_direct.h"

#include <algorithm>

#include "tandem/cuda/fast_divide.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/pack.h"
#include "tandem/cuda/unroll.h"

namespace tandem::cuda_impl {
namespace {

// A thread's results: channels of the output, and neighbouring elements of a row.
constexpr int kOuts = 8, kColumns = 4;
constexpr int kMostThreads = 256;
constexpr int64_t kMostFloats = 12 << 10;  // of a block's shared memory, which leaves room for several blocks
using Four = Pack<float, kColumns>;

// A tensor of images, or of weights: the elements from one to the next along each axis.
struct Elements {
  const void* data;
  ScalarType dtype;
  int n, c, h, w;

  __device__ float operator[](int i) const {
    if (dtype == kHalf) return static_cast<float>(static_cast<const Half*>(data)[i]);
    if (dtype == kBFloat16) return static_cast<float>(static_cast<const BFloat16*>(data)[i]);
    return static_cast<const float*>(data)[i];
  }
  __device__ void set(int i, float value) const {
    void* to = const_cast<void*>(data);
    if (dtype == kHalf)
      static_cast<Half*>(to)[i] = static_cast<Half>(value);
    else if (dtype == kBFloat16)
      static_cast<BFloat16*>(to)[i] = static_cast<BFloat16>(value);
    else
      static_cast<float*>(to)[i] = value;
  }
};
Elements elements_of(const Tensor& t) {
  const auto s = [&](std::size_t d) { return static_cast<int>(t.strides()[d]); };
  return {t.data_ptr(), t.scalar_type(), s(0), s(1), s(2), s(3)};
}

struct Sizes {
  int n, c, h, w;
};
Sizes sizes_of(const std::array<int64_t, 4>& s) {
  return {static_cast<int>(s[0]), static_cast<int>(s[1]), static_cast<int>(s[2]), static_cast<int>(s[3])};
}

// The kernel and how it moves. Its width and the stride along a row are constants of a kernel.
struct Window {
  int kernel_h, stride_h, pad_h, pad_w;
};
Window window_of(const ConvKey& key) {
  return {static_cast<int>(key.weight[2]), static_cast<int>(key.p.stride[0]), static_cast<int>(key.p.padding[0]),
          static_cast<int>(key.p.padding[1])};
}

// A part of images in shared memory: [images, channels, rows, pitch]. What is outside of an image is 0.
struct Part {
  int images, channels, rows, pitch;

  __host__ __device__ int64_t floats() const { return int64_t{images} * channels * rows * pitch; }
  // From these places on. Neighbouring threads read neighbouring elements of a row, or of a pixel of channels-last images.
  __device__ void load(float* to, const Elements& from, const Sizes& sizes, int image, int channel, int row,
                       int column) const {
    const int inner = from.c == 1 ? channels : 1, outer = channels / inner;
    const int lanes = pitch * inner > 16 ? 32 : 16, lane = static_cast<int>(threadIdx.x) % lanes;
    const int lines = images * outer * rows, at_once = static_cast<int>(blockDim.x) / lanes;
    for (int line = static_cast<int>(threadIdx.x) / lanes; line < lines; line += at_once) {
      const int y = line % rows, c = line / rows % outer, i = line / rows / outer;
      const bool inside = image + i < sizes.n && row + y >= 0 && row + y < sizes.h;
      const int at = inside ? (image + i) * from.n + (row + y) * from.h : 0;
      for (int place = lane; place < pitch * inner; place += lanes) {
        const int x = inner == 1 ? place : place / inner, ci = c + place - x * inner;
        const bool there = inside && column + x >= 0 && column + x < sizes.w && channel + ci < sizes.c;
        to[((i * channels + ci) * rows + y) * pitch + x] =
            there ? from[at + (channel + ci) * from.c + (column + x) * from.w] : 0.0f;
      }
    }
  }
};

// Elements of a row of the input that kColumns neighbouring elements of the output see, in whole packs.
constexpr int segment(int kernel, int stride) {
  return ((kColumns - 1) * stride + kernel + kColumns - 1) / kColumns * kColumns;
}
template <int kLength>
__device__ void load_segment(float (&to)[kLength], const float* from) {
  TANDEM_UNROLL
  for (int i = 0; i < kLength; i += kColumns) {
    const Four four = *reinterpret_cast<const Four*>(from + i);
    TANDEM_UNROLL
    for (int p = 0; p < kColumns; ++p) to[i + p] = four.x[p];
  }
}

// ---- the output

struct Forward : Window {
  Elements in, weight, out, bias;  // weight.n: to the next channel of the output, weight.c: of the input
  Sizes of_in, of_out;
  // A block: `images`, `groups` of kOuts channels of the output, `rows`, and `columns` of kColumns elements; `part` of the
  // input is in memory at a time.
  int images, groups, rows, columns;
  Part part;
  int row_tiles, column_tiles, group_tiles;
  FastDivide by_taps, by_plane;  // of a part of a channel of the output, and of one channel of the input

  __host__ __device__ int taps(int kernel_w) const { return part.channels * kernel_h * kernel_w; }
  // Of the weights in shared memory: from a tap to the next. Neighbouring taps are in other banks.
  __host__ __device__ int line() const { return groups * kOuts + kColumns; }
};

template <int kKernel, int kStride>
__global__ void __launch_bounds__(kMostThreads) forward_direct(Forward p) {
  constexpr int kSegment = segment(kKernel, kStride);
  float* const inputs = dynamic_shared<float>();
  float* const weights = inputs + p.part.floats();
  int tile = static_cast<int>(blockIdx.x);
  const int row0 = tile % p.row_tiles * p.rows;
  tile /= p.row_tiles;
  const int column0 = tile % p.column_tiles * p.columns * kColumns;
  tile /= p.column_tiles;
  const int out0 = tile % p.group_tiles * p.groups * kOuts, image0 = tile / p.group_tiles * p.images;

  // Threads without a place compute what the last one does.
  const int threads = p.images * p.groups * p.rows * p.columns, thread = static_cast<int>(threadIdx.x);
  int place = thread < threads ? thread : threads - 1;
  const int column = place % p.columns;
  place /= p.columns;
  const int row = place % p.rows;
  place /= p.rows;
  const int group = place % p.groups, image = place / p.groups;

  float sums[kOuts][kColumns] = {};
  const int outs = p.groups * kOuts, taps = p.taps(kKernel), plane = p.kernel_h * kKernel, line = p.line();
  for (int channel = 0; channel < p.of_in.c; channel += p.part.channels) {
    if (channel > 0) __syncthreads();
    p.part.load(inputs, p.in, p.of_in, image0, channel, row0 * p.stride_h - p.pad_h, column0 * kStride - p.pad_w);
    for (int i = thread; i < outs * taps; i += static_cast<int>(blockDim.x)) {
      const int o = static_cast<int>(p.by_taps.quotient(static_cast<uint32_t>(i))), tap = i - o * taps;
      const int c = static_cast<int>(p.by_plane.quotient(static_cast<uint32_t>(tap))), of_plane = tap - c * plane;
      const int y = of_plane / kKernel, x = of_plane % kKernel;
      const bool inside = out0 + o < p.of_out.c && channel + c < p.of_in.c;
      weights[tap * line + o] =
          inside ? p.weight[(out0 + o) * p.weight.n + (channel + c) * p.weight.c + y * p.weight.h + x * p.weight.w] : 0;
    }
    __syncthreads();
    for (int c = 0; c < p.part.channels; ++c)
      for (int y = 0; y < p.kernel_h; ++y) {
        float in[kSegment];
        load_segment(in, inputs + ((image * p.part.channels + c) * p.part.rows + row * p.stride_h + y) * p.part.pitch +
                             column * kColumns * kStride);
        const float* w = weights + (c * p.kernel_h + y) * kKernel * line + group * kOuts;
        TANDEM_UNROLL
        for (int x = 0; x < kKernel; ++x, w += line) {
          float of_outs[kOuts];
          load_segment(of_outs, w);
          TANDEM_UNROLL
          for (int o = 0; o < kOuts; ++o) {
            TANDEM_UNROLL
            for (int i = 0; i < kColumns; ++i) sums[o][i] = fmaf(in[i * kStride + x], of_outs[o], sums[o][i]);
          }
        }
      }
  }

  const int n = image0 + image, h = row0 + row, w = column0 + column * kColumns, o0 = out0 + group * kOuts;
  if (thread >= threads || n >= p.of_out.n || h >= p.of_out.h) return;
  TANDEM_UNROLL
  for (int o = 0; o < kOuts; ++o) {
    if (o0 + o >= p.of_out.c) continue;
    const float bias = p.bias.data != nullptr ? p.bias[(o0 + o) * p.bias.n] : 0.0f;
    TANDEM_UNROLL
    for (int i = 0; i < kColumns; ++i)
      if (w + i < p.of_out.w)
        p.out.set(n * p.out.n + (o0 + o) * p.out.c + h * p.out.h + (w + i) * p.out.w,
                  p.bias.data != nullptr ? sums[o][i] + bias : sums[o][i]);
  }
}

// ---- the gradient of the weight

// A thread has the taps of a row of the kernel for kOuts channels of the output and one of the input, and adds every
// `parts`-th row of the tiles of its block. A block has `channels` and `groups` and its share of all tiles; a tile is some
// rows of an image.
struct OfWeight : Window {
  Elements in, out;  // out: its gradient
  Sizes of_in, of_out;
  int channels, groups, parts, columns;
  Part in_part, out_part;
  int channel_tiles, group_tiles, row_tiles, shares;
  float* sums;  // [shares, O, C, kernel]

  __host__ __device__ int items() const { return groups * channels * kernel_h; }
};

template <int kKernel, int kStride>
__global__ void __launch_bounds__(kMostThreads) weight_direct(OfWeight p) {
  constexpr int kSegment = segment(kKernel, kStride), kTaps = kOuts * kKernel;
  float* const inputs = dynamic_shared<float>();
  float* const grads = inputs + p.in_part.floats();
  int tile = static_cast<int>(blockIdx.x);
  const int share = tile % p.shares;
  tile /= p.shares;
  const int out0 = tile % p.group_tiles * p.groups * kOuts, channel0 = tile / p.group_tiles * p.channels;

  const int items = p.items(), thread = static_cast<int>(threadIdx.x), part = thread / items, item = thread % items;
  const int y = item % p.kernel_h, c = item / p.kernel_h % p.channels, group = item / p.kernel_h / p.channels;
  float sums[kOuts][kKernel] = {};
  const int tiles = p.of_out.n * p.row_tiles;
  const auto first_tile = [&](int s) { return static_cast<int>(int64_t{tiles} * s / p.shares); };
  for (int t = first_tile(share); t < first_tile(share + 1); ++t) {
    const int image = t / p.row_tiles, row0 = t % p.row_tiles * p.out_part.rows;
    __syncthreads();
    p.in_part.load(inputs, p.in, p.of_in, image, channel0, row0 * p.stride_h - p.pad_h, -p.pad_w);
    p.out_part.load(grads, p.out, p.of_out, image, out0, row0, 0);
    __syncthreads();
    if (part >= p.parts) continue;
    const int rows = min(p.out_part.rows, p.of_out.h - row0);
    for (int row = part; row < rows; row += p.parts) {
      const float* in_row = inputs + (c * p.in_part.rows + row * p.stride_h + y) * p.in_part.pitch;
      const float* grad_row = grads + (group * kOuts * p.out_part.rows + row) * p.out_part.pitch;
      // The last column may have fewer elements: what the input has behind them may be no number.
      const auto add_column = [&](int column, auto whole) {
        float in[kSegment];
        load_segment(in, in_row + column * kColumns * kStride);
        TANDEM_UNROLL
        for (int o = 0; o < kOuts; ++o) {
          float grad[kColumns];
          load_segment(grad, grad_row + o * p.out_part.rows * p.out_part.pitch + column * kColumns);
          TANDEM_UNROLL
          for (int i = 0; i < kColumns; ++i) {
            if (!whole.value && column * kColumns + i >= p.of_out.w) continue;
            TANDEM_UNROLL
            for (int x = 0; x < kKernel; ++x) sums[o][x] = fmaf(grad[i], in[i * kStride + x], sums[o][x]);
          }
        }
      };
      const int whole_columns = p.of_out.w / kColumns;
      for (int column = 0; column < whole_columns; ++column) add_column(column, std::true_type());
      if (whole_columns < p.columns) add_column(whole_columns, std::false_type());
    }
  }
  // The sums of the parts are added in order.
  __syncthreads();
  float* const of_parts = dynamic_shared<float>();  // [parts, kTaps, items]
  if (part < p.parts) {
    TANDEM_UNROLL
    for (int o = 0; o < kOuts; ++o) {
      TANDEM_UNROLL
      for (int x = 0; x < kKernel; ++x) of_parts[(part * kTaps + o * kKernel + x) * items + item] = sums[o][x];
    }
  }
  __syncthreads();
  for (int i = thread; i < kTaps * items; i += static_cast<int>(blockDim.x)) {
    float sum = 0;
    for (int k = 0; k < p.parts; ++k) sum += of_parts[k * kTaps * items + i];
    const int of_item = i % items, tap = i / items, h = of_item % p.kernel_h, w = tap % kKernel;
    const int channel = channel0 + of_item / p.kernel_h % p.channels;
    const int out = out0 + of_item / p.kernel_h / p.channels * kOuts + tap / kKernel;
    if (channel < p.of_in.c && out < p.of_out.c)
      p.sums[(((int64_t{share} * p.of_out.c + out) * p.of_in.c + channel) * p.kernel_h + h) * kKernel + w] = sum;
  }
}

// to[o, c, h, w] = the sum of the shares. `sizes` are those of the weight. A warp adds every kWarps-th share of 32 elements,
// and the first one adds what the warps have.
constexpr int kWarps = 16;
__global__ void __launch_bounds__(32 * kWarps) add_shares(Elements to, const float* sums, Sizes sizes, int shares) {
  __shared__ float of_warps[kWarps][32];
  const int count = sizes.n * sizes.c * sizes.h * sizes.w;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int i = static_cast<int>(blockIdx.x) * 32 + lane;
  float sum = 0;
  if (i < count)
    for (int s = warp; s < shares; s += kWarps) sum += sums[int64_t{s} * count + i];
  of_warps[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || i >= count) return;
  for (int other = 1; other < kWarps; ++other) sum += of_warps[other][lane];
  const int w = i % sizes.w, h = i / sizes.w % sizes.h, c = i / sizes.w / sizes.h % sizes.c,
            n = i / sizes.w / sizes.h / sizes.c;
  to.set(n * to.n + c * to.c + h * to.h + w * to.w, sum);
}

// ---- host

int ceil_of(int a, int b) { return static_cast<int>(ceil_div(a, b)); }

// Calls run(kernel, stride) with the width of the kernel and its stride as constants.
template <class Run>
void by_kernel(int64_t kernel, int64_t stride, Run run) {
  const auto strided = [&](auto constant) {
    if (stride == 1) return run(constant, std::integral_constant<int, 1>());
    run(constant, std::integral_constant<int, 2>());
  };
  if (kernel == 3) return strided(std::integral_constant<int, 3>());
  if (kernel == 4) return strided(std::integral_constant<int, 4>());
  if (kernel == 5) return strided(std::integral_constant<int, 5>());
  if (kernel == 6) return strided(std::integral_constant<int, 6>());
  strided(std::integral_constant<int, 7>());
}

// Cuts a convolution into blocks of at most kMostThreads threads, and into at least two for each multiprocessor if it is
// large enough. No sum depends on this.
void cut(Forward& p, int kernel, int stride, int multiprocessors) {
  const int columns = ceil_of(p.of_out.w, kColumns), groups = ceil_of(p.of_out.c, kOuts);
  p.columns = std::min(columns, 32);
  p.rows = std::min(p.of_out.h, kMostThreads / p.columns);
  p.column_tiles = ceil_of(columns, p.columns);
  p.row_tiles = ceil_of(p.of_out.h, p.rows);
  p.groups = std::min(groups, kMostThreads / (p.columns * p.rows));
  p.group_tiles = ceil_of(groups, p.groups);
  const int tiles = p.column_tiles * p.row_tiles * p.group_tiles, places = p.columns * p.rows * p.groups;
  p.images = std::clamp(p.of_out.n * tiles / (2 * multiprocessors), 1, std::min(kMostThreads / places, p.of_out.n));
  p.part = {p.images, p.of_in.c, (p.rows - 1) * p.stride_h + p.kernel_h,
            (p.columns - 1) * kColumns * stride + segment(kernel, stride)};
  const auto floats = [&] {
    p.part.images = p.images;
    return p.part.floats() + p.taps(kernel) * p.line();
  };
  while (floats() > kMostFloats && p.part.channels > 1) p.part.channels = ceil_of(p.part.channels, 2);
  while (floats() > kMostFloats && p.images > 1) p.images = ceil_of(p.images, 2);
  p.by_taps = FastDivide(static_cast<uint32_t>(p.taps(kernel)));
  p.by_plane = FastDivide(static_cast<uint32_t>(p.kernel_h * kernel));
}

// An odd number of packs, so that rows beside each other are in other banks.
int odd_packs(int floats) { return floats / kColumns % 2 == 0 ? floats + kColumns : floats; }

OfWeight of_weight(const ConvKey& key) {
  OfWeight p{window_of(key)};
  p.of_in = sizes_of(key.input);
  p.of_out = sizes_of(key.output);
  const int kernel = static_cast<int>(key.weight[3]), stride = static_cast<int>(key.p.stride[1]);
  const int groups = ceil_of(p.of_out.c, kOuts);
  p.groups = std::min(groups, 4);
  p.channels = std::min(p.of_in.c, kMostThreads / (p.groups * p.kernel_h));
  p.columns = ceil_of(p.of_out.w, kColumns);
  const auto cut_rows = [&](int rows) {
    p.out_part = {1, p.groups * kOuts, rows, p.columns * kColumns};
    p.in_part = {1, p.channels, (rows - 1) * p.stride_h + p.kernel_h,
                 odd_packs((p.columns - 1) * kColumns * stride + segment(kernel, stride))};
    return p.in_part.floats() + p.out_part.floats();
  };
  int rows = p.of_out.h;
  while (cut_rows(rows) > kMostFloats && rows > 1) rows = ceil_of(rows, 2);
  while (cut_rows(rows) > kMostFloats && p.channels > 1) p.channels = ceil_of(p.channels, 2);
  while (cut_rows(rows) > kMostFloats && p.groups > 1) p.groups = ceil_of(p.groups, 2);
  p.channel_tiles = ceil_of(p.of_in.c, p.channels);
  p.group_tiles = ceil_of(groups, p.groups);
  p.row_tiles = ceil_of(p.of_out.h, rows);
  p.parts = std::min(kMostThreads / p.items(), rows);
  constexpr int64_t kBlocks = 256;
  p.shares = static_cast<int>(
      std::clamp<int64_t>(kBlocks / (p.group_tiles * p.channel_tiles), 1, int64_t{p.of_out.n} * p.row_tiles));
  return p;
}
int64_t shared_floats(const OfWeight& p, int kernel) {
  return std::max(p.in_part.floats() + p.out_part.floats(), int64_t{p.parts} * p.items() * kOuts * kernel);
}

void run_forward(Context& c, const ConvKey& key, const ConvTensors& t, const Tensor& bias) {
  Forward p{window_of(key)};
  p.weight = elements_of(t.weight);
  const int kernel = static_cast<int>(key.weight[3]), stride = static_cast<int>(key.p.stride[1]);
  if (key.pass == ConvPass::kForward) {
    p.in = elements_of(t.input);
    p.out = elements_of(t.output);
    p.of_in = sizes_of(key.input);
    p.of_out = sizes_of(key.output);
    if (bias.defined()) p.bias = {bias.data_ptr(), bias.scalar_type(), static_cast<int>(bias.stride(0)), 0, 0, 0};
  } else {
    p.in = elements_of(t.output);
    p.out = elements_of(t.input);
    p.of_in = sizes_of(key.output);
    p.of_out = sizes_of(key.input);
    std::swap(p.weight.n, p.weight.c);
    const int64_t last = (p.kernel_h - 1) * int64_t{p.weight.h} + (kernel - 1) * int64_t{p.weight.w};
    p.weight.data = static_cast<const char*>(p.weight.data) + last * static_cast<int64_t>(t.weight.element_size());
    p.weight.h = -p.weight.h;
    p.weight.w = -p.weight.w;
    p.pad_h = p.kernel_h - 1 - p.pad_h;
    p.pad_w = kernel - 1 - p.pad_w;
  }
  cut(p, kernel, stride, c.gpu().multiprocessors);
  const int64_t blocks = int64_t{p.row_tiles} * p.column_tiles * p.group_tiles * ceil_of(p.of_out.n, p.images);
  const int threads = p.images * p.groups * p.rows * p.columns;
  const Grid grid{blocks, ceil_of(threads, 32) * 32,
                  static_cast<std::size_t>(p.part.floats() + p.taps(kernel) * p.line()) * sizeof(float)};
  by_kernel(kernel, stride, [&](auto k, auto s) { launch("conv2d", c, grid, forward_direct<k.value, s.value>, p); });
}

void run_weight(Context& c, const ConvKey& key, const ConvTensors& t, const Tensor& workspace) {
  OfWeight p = of_weight(key);
  p.in = elements_of(t.input);
  p.out = elements_of(t.output);
  p.sums = reinterpret_cast<float*>(workspace.data_ptr());
  const int kernel = static_cast<int>(key.weight[3]);
  const int64_t blocks = int64_t{p.shares} * p.group_tiles * p.channel_tiles;
  const Grid grid{blocks, ceil_of(p.parts * p.items(), 32) * 32,
                  static_cast<std::size_t>(shared_floats(p, kernel)) * sizeof(float)};
  by_kernel(kernel, key.p.stride[1],
            [&](auto k, auto s) { launch("conv2d", c, grid, weight_direct<k.value, s.value>, p); });
  launch("conv2d", c, Grid{ceil_div(t.weight.numel(), 32), 32 * kWarps}, add_shares, elements_of(t.weight),
         static_cast<const float*>(p.sums), sizes_of(key.weight), p.shares);
}

}  // namespace

bool has_direct(const ConvKey& key) {
  if (key.dtype == kDouble || key.p.groups != 1 || key.p.dilation != std::array<int64_t, 2>{1, 1}) return false;
  if (key.weight[0] > 64 || key.weight[1] > 64) return false;
  for (std::size_t d = 0; d < 2; ++d) {
    const int64_t kernel = key.weight[2 + d], stride = key.p.stride[d];
    if (kernel < 3 || kernel > 7 || key.p.padding[d] >= kernel || stride > 2) return false;
    if (key.pass == ConvPass::kInput && stride != 1) return false;
  }
  if (key.pass != ConvPass::kWeight) return true;
  const OfWeight p = of_weight(key);
  return p.in_part.floats() + p.out_part.floats() <= kMostFloats;
}

std::size_t direct_workspace(const ConvKey& key) {
  if (key.pass != ConvPass::kWeight) return 0;
  const auto& [o, c, h, w] = key.weight;
  return static_cast<std::size_t>(of_weight(key).shares * o * c * h * w) * sizeof(float);
}

void run_direct(Context& c, const ConvKey& key, const ConvTensors& t, const Tensor& workspace, const Tensor& bias) {
  if (key.pass == ConvPass::kWeight) return run_weight(c, key, t, workspace);
  run_forward(c, key, t, bias);
}

}  // namespace tandem::cuda_impl
