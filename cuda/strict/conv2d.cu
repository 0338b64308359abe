// A thread computes one position of up to kOuts channels, whose weights lie side by side in memory that is packed before:
// threads of a block read the same weights and neighbouring inputs.
#include "tandem/cuda/device.h"

#include "tandem/cuda/strict/conv2d.h"

#include <type_traits>
#include <utility>

#include "tandem/core/element_types.h"
#include "tandem/core/formulas/conv2d_order.h"
#include "tandem/core/formulas/math.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/pack.h"
#include "tandem/cuda/unroll.h"

namespace tandem::cuda_impl::strict {
namespace {

using conv2d_order::WeightSum;

constexpr int kMostOuts = 8;

// Images, or weights: the elements from one to the next along each axis.
template <class T>
struct Elements {
  T* data;
  int64_t n, c, h, w;
};
template <class T>
Elements<T> elements_of(const Tensor& t) {
  const auto strides = t.strides();
  return {t.ptr<std::remove_const_t<T>>(), strides[0], strides[1], strides[2], strides[3]};
}

__device__ int64_t thread_number() { return int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }

// Weights, or images, as [group][tile of kOuts channels][a][b][c][kOuts]: what a thread multiplies in the order of a, b
// and c.
struct PackedOrder {
  int64_t start, group, out, a, b, c;    // elements from one to the next where they lie
  int64_t outs, size_a, size_b, size_c;  // outs: channels of a group
  __host__ __device__ int64_t tiles(int width) const { return ceil_div(outs, width); }
};

template <class T, int kOuts>
__global__ void pack(const PackedOrder order, const T* from, computed_t<T>* packed, int64_t count) {
  const int64_t i = thread_number();
  if (i >= count) return;
  int64_t rest = i / kOuts, at = order.start;
  const auto next = [&](int64_t size) {
    const int64_t index = rest % size;
    rest /= size;
    return index;
  };
  at += next(order.size_c) * order.c;
  at += next(order.size_b) * order.b;
  at += next(order.size_a) * order.a;
  const int64_t out = next(order.tiles(kOuts)) * kOuts + i % kOuts;
  packed[i] =
      out < order.outs ? static_cast<computed_t<T>>(from[at + rest * order.group + out * order.out]) : computed_t<T>(0);
}

// Adds a product with each of kOuts packed factors to its sum: spelled out, for builds that unroll no loops.
template <class S, int kOuts, int... o>
TANDEM_HD inline void add_each(S x, const Pack<S, kOuts>& factors, S (&sums)[kOuts], std::integer_sequence<int, o...>) {
  ((sums[o] = math::fma(factors.x[o], x, sums[o])), ...);
}
template <class S, int kOuts>
TANDEM_HD inline void add_products(S x, const S* packed, S (&sums)[kOuts]) {
  add_each(x, *reinterpret_cast<const Pack<S, kOuts>*>(packed), sums, std::make_integer_sequence<int, kOuts>());
}

// The place of a result: thread numbers are [group][tile][image][place].
struct Place {
  int64_t place, image, tile, group, packed_tile;

  __device__ Place(int64_t number, int64_t places, int64_t batch, int64_t tiles)
      : place(number % places),
        image(number / places % batch),
        tile(number / places / batch % tiles),
        group(number / places / batch / tiles),
        packed_tile(number / places / batch) {}
};

// Outputs, or the gradient of the input of a shape that turns(). Products with the padding are left out.
template <class T, int kOuts>
__global__ void convolve(const Conv2dShape s, const Elements<const T> x, const computed_t<T>* weights, const T* bias,
                         bool begins_with_bias, const Elements<T> y, int64_t count) {
  using S = computed_t<T>;
  const int64_t number = thread_number();
  if (number >= count) return;
  const int64_t out_w = s.out_w(), group_in = s.group_in(), group_out = s.group_out();
  const Place at(number, s.out_h() * out_w, s.batch, ceil_div(group_out, kOuts));
  const int64_t p = at.place / out_w, q = at.place % out_w, channel = at.group * group_out + at.tile * kOuts;
  const int outs = static_cast<int>(group_out - at.tile * kOuts < kOuts ? group_out - at.tile * kOuts : kOuts);
  // The taps that meet the input.
  const int64_t top = p * s.p.stride[0] - s.p.padding[0], left = q * s.p.stride[1] - s.p.padding[1],
                down = s.p.dilation[0], right = s.p.dilation[1];
  const int64_t first_r = top < 0 ? ceil_div(-top, down) : 0, first_q = left < 0 ? ceil_div(-left, right) : 0;
  const int64_t fit_r = top < s.in_h ? ceil_div(s.in_h - top, down) : 0,
                fit_q = left < s.in_w ? ceil_div(s.in_w - left, right) : 0;
  const int64_t last_r = fit_r < s.kernel_h ? fit_r : s.kernel_h, last_q = fit_q < s.kernel_w ? fit_q : s.kernel_w;

  S sums[kOuts], biases[kOuts];
  TANDEM_UNROLL
  for (int o = 0; o < kOuts; ++o) {
    biases[o] = bias != nullptr && o < outs ? static_cast<S>(bias[channel + o]) : S(0);
    sums[o] = begins_with_bias ? biases[o] : S(0);
  }
  const T* plane = x.data + at.image * x.n + at.group * group_in * x.c + top * x.h + left * x.w;
  const S* w = weights + at.packed_tile * s.depth() * kOuts;
  for (int64_t c = 0; c < group_in; ++c, plane += x.c)
    for (int64_t r = 0; r < s.kernel_h; ++r, w += s.kernel_w * kOuts) {
      if (r < first_r || r >= last_r) continue;
      const T* row = plane + r * down * x.h;
      for (int64_t t = first_q; t < last_q; ++t)
        add_products<S, kOuts>(static_cast<S>(row[t * right * x.w]), w + t * kOuts, sums);
    }
  T* to = y.data + at.image * y.n + channel * y.c + p * y.h + q * y.w;
  TANDEM_UNROLL
  for (int o = 0; o < kOuts; ++o)
    if (o < outs) to[o * y.c] = static_cast<T>(bias != nullptr && !begins_with_bias ? sums[o] + biases[o] : sums[o]);
}

// The gradient of the input of other shapes: sums over the output channels, in pieces, for each tap. The taps of the
// gradient's rows [0, rows) are added, then those of the next ones.
template <class T, int kOuts>
__global__ void add_taps(const Conv2dShape s, const Elements<const T> dy, const computed_t<T>* weights, int64_t rows,
                         int64_t depth, const Elements<T> dx, int64_t count) {
  using S = computed_t<T>;
  const int64_t number = thread_number();
  if (number >= count) return;
  const int64_t out_h = s.out_h(), out_w = s.out_w(), group_in = s.group_in(), group_out = s.group_out();
  const Place at(number, s.in_h * s.in_w, s.batch, ceil_div(group_in, kOuts));
  const int64_t h = at.place / s.in_w, w = at.place % s.in_w, channel = at.group * group_in + at.tile * kOuts;
  const T* gradients = dy.data + at.image * dy.n + at.group * group_out * dy.c;
  const S* taps = weights + at.packed_tile * s.kernel_size() * group_out * kOuts;
  // The position of the output that sees this one with tap 0, and those that each further tap adds.
  const int64_t bottom = h + s.p.padding[0], end = w + s.p.padding[1];
  S sums[kOuts] = {};
  const int64_t last_row = bottom / s.p.stride[0] < out_h ? bottom / s.p.stride[0] : out_h - 1;
  for (int64_t first = 0; first <= last_row; first += rows)
    for (int64_t r = 0; r < s.kernel_h; ++r) {
      const int64_t down = bottom - r * s.p.dilation[0], p = down / s.p.stride[0];
      if (down < 0 || down % s.p.stride[0] != 0 || p < first || p >= first + rows || p >= out_h) continue;
      for (int64_t t = 0; t < s.kernel_w; ++t) {
        const int64_t across = end - t * s.p.dilation[1], q = across / s.p.stride[1];
        if (across < 0 || across % s.p.stride[1] != 0 || q >= out_w) continue;
        const T* from = gradients + p * dy.h + q * dy.w;
        const S* factors = taps + (r * s.kernel_w + t) * group_out * kOuts;
        S column[kOuts];
        for (int64_t begin = 0; begin < group_out; begin += depth) {
          const int64_t stop = begin + depth < group_out ? begin + depth : group_out;
          S piece[kOuts] = {};
          for (int64_t o = begin; o < stop; ++o)
            add_products<S, kOuts>(static_cast<S>(from[o * dy.c]), factors + o * kOuts, piece);
          TANDEM_UNROLL
          for (int i = 0; i < kOuts; ++i) column[i] = begin == 0 ? piece[i] : piece[i] + column[i];
        }
        TANDEM_UNROLL
        for (int i = 0; i < kOuts; ++i) sums[i] += column[i];
      }
    }
  T* to = dx.data + at.image * dx.n + channel * dx.c + h * dx.h + w * dx.w;
  TANDEM_UNROLL
  for (int i = 0; i < kOuts; ++i)
    if (at.tile * kOuts + i < group_in) to[i * dx.c] = static_cast<T>(sums[i]);
}

// What the gradient of the weights is computed from.
template <class T>
struct WeightFactors {
  Conv2dShape s;
  WeightSum order;
  int64_t columns;  // weights of an output channel, and the bias if its gradient is computed
  Elements<const T> x;
  const computed_t<T>* dy;  // packed: [group][tile][image][row][column][kOuts]
};

// Adds the products of the positions begin + lane, begin + lane + lanes … below `end` to the sums. Position 0 is the first
// one of an image, at x and at dy; its tap is `top` and `left` from there. What is outside of images has the value
// `outside`.
template <class T, int kOuts>
TANDEM_HD inline void add_positions(const WeightFactors<T>& f, const T* x, const computed_t<T>* dy, int64_t top,
                                    int64_t left, computed_t<T> outside, int64_t begin, int64_t end, int64_t lane,
                                    computed_t<T> (&sums)[kOuts]) {
  using S = computed_t<T>;
  const int64_t out_h = f.s.out_h(), out_w = f.s.out_w(), in_h = f.s.in_h, in_w = f.s.in_w, lanes = f.order.lanes,
                stride_h = f.s.p.stride[0], stride_w = f.s.p.stride[1], step = f.x.w;
  int64_t i = begin + lane, q = i % out_w, p = i / out_w % out_h, image = i / out_w / out_h;
  while (i < end) {
    const int64_t h = top + p * stride_h, last = q + (end - i) < out_w ? q + (end - i) : out_w;
    const bool inside = h >= 0 && h < in_h;
    const T* row = x + image * f.x.n + h * f.x.h;
    for (; q < last; q += lanes, i += lanes) {
      const int64_t w = left + q * stride_w;
      add_products<S, kOuts>(inside && w >= 0 && w < in_w ? static_cast<S>(row[w * step]) : outside, dy + i * kOuts,
                             sums);
    }
    for (q -= out_w; q >= out_w; q -= out_w) ++p;
    for (++p; p >= out_h; p -= out_h) ++image;
  }
}

// partial[part][lane][output channel][column]; thread numbers are [part][group][tile of channels][column][lane].
template <class T, int kOuts>
__global__ void sum_weights(const WeightFactors<T> f, computed_t<T>* partial, int64_t count) {
  using S = computed_t<T>;
  const Conv2dShape& s = f.s;
  const WeightSum& order = f.order;
  int64_t rest = thread_number();
  if (rest >= count) return;
  const auto next = [&](int64_t size) {
    const int64_t index = rest % size;
    rest /= size;
    return index;
  };
  const int64_t lane = next(order.lanes), column = next(f.columns), tiles = ceil_div(s.group_out(), kOuts),
                row = next(tiles) * kOuts, group = next(s.p.groups), part = rest, plane = s.out_plane();
  const int64_t chunk = part / order.chunk_parts() * order.chunk_images, parts_before = part % order.chunk_parts(),
                chunk_end = chunk + order.chunk_images < s.batch ? chunk + order.chunk_images : s.batch,
                first_image = chunk + parts_before * order.part_images,
                last_image = first_image + order.part_images < chunk_end ? first_image + order.part_images : chunk_end;
  // The column behind the weights has an input that is outside of all images, and 1.
  const bool ones = column == s.depth();
  const int64_t tap = column % s.kernel_size(),
                top = ones ? s.in_h : tap / s.kernel_w * s.p.dilation[0] - s.p.padding[0],
                left = tap % s.kernel_w * s.p.dilation[1] - s.p.padding[1];
  const T* x = f.x.data + (group * s.group_in() + (ones ? 0 : column / s.kernel_size())) * f.x.c;
  const S* dy = f.dy + (group * tiles + row / kOuts) * s.batch * plane * kOuts;
  S total[kOuts] = {};
  bool begun = order.from_zero;
  for (int64_t image = first_image; image < last_image; image += order.block_images) {
    const int64_t images = image + order.block_images < last_image ? order.block_images : last_image - image,
                  positions = images * plane;
    for (int64_t band = 0, band_end; band < positions; band = band_end) {
      band_end = order.band < positions - band ? band + order.band : positions;
      const int64_t piece = order.piece > 0 ? order.piece : piece_depth<S>(band_end - band);
      for (int64_t begin = band; begin < band_end; begin += piece) {
        S sums[kOuts] = {};
        add_positions<T, kOuts>(f, x + image * f.x.n, dy + image * plane * kOuts, top, left, ones ? S(1) : S(0), begin,
                                begin + piece < band_end ? begin + piece : band_end, lane, sums);
        TANDEM_UNROLL
        for (int o = 0; o < kOuts; ++o) total[o] = begun ? sums[o] + total[o] : sums[o];
        begun = true;
      }
    }
  }
  const int outs = static_cast<int>(s.group_out() - row < kOuts ? s.group_out() - row : kOuts);
  S* to = partial + ((part * order.lanes + lane) * s.out_channels + group * s.group_out() + row) * f.columns + column;
  TANDEM_UNROLL
  for (int o = 0; o < kOuts; ++o)
    if (o < outs) to[o * f.columns] = total[o];
}

template <class T>
__global__ void add_parts(const Conv2dShape s, const WeightSum order, int64_t columns, int64_t parts,
                          const computed_t<T>* partial, const Elements<T> dw, T* db) {
  using S = computed_t<T>;
  const int64_t number = thread_number(), count = s.out_channels * columns;
  if (number >= count) return;
  partial += number;
  S total = 0;
  for (int64_t part = 0; part < parts; ++part) {
    S sum = 0;
    for (int64_t lane = 0; lane < order.lanes; ++lane, partial += count)
      sum = lane == 0 && !order.from_zero ? *partial : sum + *partial;
    total = part == 0 && !order.from_zero ? sum : total + sum;
  }
  const int64_t channel = number / columns, k = number % columns;
  if (k == s.depth()) {
    db[channel] = static_cast<T>(total);
    return;
  }
  const int64_t c = k / s.kernel_size(), tap = k % s.kernel_size();
  dw.data[channel * dw.n + c * dw.c + tap / s.kernel_w * dw.h + tap % s.kernel_w * dw.w] = static_cast<T>(total);
}

// The gradient of the bias: a block adds up one channel, an image at a time in lanes of which each has four sums. What
// fills no lanes of an image is added apart.
template <class T>
__global__ void sum_channel(const T* dy, int64_t batch, int64_t plane, int64_t image_step, int64_t channel_step,
                            int64_t step, T* db) {
  using S = computed_t<T>;
  constexpr int kWidth = static_cast<int>(conv2d_order::kVector<S>), kThreads = 256, kImages = kThreads / kWidth;
  __shared__ S sums[kThreads];
  dy += blockIdx.x * channel_step;
  const int lane = static_cast<int>(threadIdx.x) % kWidth, mine = static_cast<int>(threadIdx.x) / kWidth;
  const int64_t whole = plane / kWidth * kWidth;
  S total = 0;
  for (int64_t first = 0; first < batch; first += kImages) {
    if (first + mine < batch) {
      const T* image = dy + (first + mine) * image_step;
      S s[4] = {};
      int64_t i = lane;
      for (; i - lane + 4 * kWidth <= plane; i += 4 * kWidth) {
        TANDEM_UNROLL
        for (int k = 0; k < 4; ++k) s[k] += static_cast<S>(image[(i + k * kWidth) * step]);
      }
      for (; i < whole; i += kWidth) s[0] += static_cast<S>(image[i * step]);
      sums[threadIdx.x] = (s[0] + s[1]) + (s[2] + s[3]);
    }
    __syncthreads();
    for (int k = 0; mine == 0 && k < kImages && first + k < batch; ++k) total += sums[k * kWidth + lane];
    __syncthreads();
  }
  if (mine == 0) sums[lane] = total;
  __syncthreads();
  if (threadIdx.x != 0) return;
  S rest = 0, sum = 0;
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t i = whole; i < plane; ++i) rest += static_cast<S>(dy[n * image_step + i * step]);
  for (int k = 0; k < kWidth; ++k) sum += sums[k];
  db[blockIdx.x] = static_cast<T>(rest + sum);
}

// ---- the host

// Calls f(Type<T>{}) for the type of the elements.
template <class F>
void dispatch_stored_type(const Tensor& t, F f) {
  dispatch(t.dtype(), StoredFloats{}, "conv2d", f);
}
// Calls f(integral constant) with the results of a thread, of `outs` of a group.
template <class F>
void dispatch_outs(int64_t outs, F f) {
  outs == 1 ? f(std::integral_constant<int, 1>{}) : f(std::integral_constant<int, kMostOuts>{});
}

template <class T, int kOuts>
Tensor packed(const char* operation, Context& c, const Tensor& from, int64_t groups, const PackedOrder& order) {
  const int64_t count = groups * order.tiles(kOuts) * order.size_a * order.size_b * order.size_c * kOuts;
  const Tensor to = empty_raw({count}, scalar_type_of<computed_t<T>>, c.device());
  launch(operation, c, grid_for(count), pack<T, kOuts>, order, from.ptr<T>(), to.ptr<computed_t<T>>(), count);
  return to;
}

template <class T>
void convolve_all(const char* operation, const Conv2dShape& s, const Tensor& x, const Tensor& weight,
                  const PackedOrder& order, const Tensor& bias, const Tensor& y) {
  Context& c = context(y.device());
  dispatch_outs(s.group_out(), [&]<int kOuts>(std::integral_constant<int, kOuts>) {
    const Tensor weights = packed<T, kOuts>(operation, c, weight, s.p.groups, order);
    const int64_t count = s.p.groups * order.tiles(kOuts) * s.batch * s.out_plane();
    launch(operation, c, grid_for(count), convolve<T, kOuts>, s, elements_of<const T>(x), weights.ptr<computed_t<T>>(),
           bias.defined() ? bias.ptr<T>() : nullptr, s.is_depthwise(), elements_of<T>(y), count);
  });
}

}  // namespace

void conv2d_forward(const Tensor& out, const Tensor& input, const Tensor& weight, const Tensor& bias,
                    const Conv2dParameters& p) {
  if (weight.numel() == 0) {  // empty sums
    if (!bias.defined()) return fill_raw(out, 0);
    return copy_raw(out, alias(bias, out.sizes(), {0, 1, 0, 0}, bias.storage_offset()));
  }
  const Conv2dShape s = conv2d_shape(input, weight, p);
  const auto w = weight.strides();
  const PackedOrder order{0,    s.group_out() * w[0], w[0],         w[1],       w[2],
                          w[3], s.group_out(),        s.group_in(), s.kernel_h, s.kernel_w};
  dispatch_stored_type(out, [&]<class T>(Type<T>) { convolve_all<T>("conv2d", s, input, weight, order, bias, out); });
}

void conv2d_backward_input(const Tensor& grad_input, const Tensor& grad_output, const Tensor& weight,
                           const Conv2dParameters& p) {
  if (const auto taps = used_taps(grad_input, grad_output, weight, p))
    return conv2d_backward_input(grad_input, grad_output, taps->of(weight), taps->p);
  constexpr const char* kName = "conv2d_backward_input";
  const Conv2dShape s = conv2d_shape(grad_input, weight, p);
  const auto w = weight.strides();
  const int64_t group = s.group_out() * w[0];
  if (s.turns()) {
    const int64_t last = (s.kernel_h - 1) * w[2] + (s.kernel_w - 1) * w[3];
    const PackedOrder order{last, group, w[1], w[0], -w[2], -w[3], s.group_in(), s.group_out(), s.kernel_h, s.kernel_w};
    return dispatch_stored_type(grad_input, [&]<class T>(Type<T>) {
      convolve_all<T>(kName, s.turned(), grad_output, weight, order, Tensor(), grad_input);
    });
  }
  const PackedOrder order{0, group, w[1], w[2], w[3], w[0], s.group_in(), s.kernel_h, s.kernel_w, s.group_out()};
  Context& c = context(grad_input.device());
  dispatch_stored_type(grad_input, [&]<class T>(Type<T>) {
    dispatch_outs(s.group_in(), [&]<int kOuts>(std::integral_constant<int, kOuts>) {
      const Tensor weights = packed<T, kOuts>(kName, c, weight, s.p.groups, order);
      const int64_t count = s.p.groups * order.tiles(kOuts) * s.batch * s.in_plane();
      launch(kName, c, grid_for(count), add_taps<T, kOuts>, s, elements_of<const T>(grad_output),
             weights.ptr<computed_t<T>>(), conv2d_order::backward_input_rows<computed_t<T>>(s),
             piece_depth<computed_t<T>>(s.group_out()), elements_of<T>(grad_input), count);
    });
  });
}

void conv2d_backward_weight(const Tensor& grad_weight, const Tensor& grad_bias, const Tensor& grad_output,
                            const Tensor& input, const Conv2dParameters& p) {
  if (const auto taps = used_taps(input, grad_output, grad_weight, p)) {
    fill_raw(grad_weight, 0);
    return conv2d_backward_weight(taps->of(grad_weight), grad_bias, grad_output, input, taps->p);
  }
  constexpr const char* kName = "conv2d_backward_weight";
  const Conv2dShape s = conv2d_shape(input, grad_weight, p);
  const auto dy = grad_output.strides();
  const PackedOrder by_position{0,     s.group_out() * dy[1], dy[1],   dy[0],     dy[2],
                                dy[3], s.group_out(),         s.batch, s.out_h(), s.out_w()};
  Context& c = context(grad_weight.device());
  dispatch_stored_type(grad_weight, [&]<class T>(Type<T>) {
    using S = computed_t<T>;
    const WeightSum order = conv2d_order::weight_sum<S>(conv2d_order::choose_backward_weight<S>(s), s);
    const bool ones = order.ones && grad_bias.defined();
    if (!ones && grad_bias.defined()) conv2d_backward_bias(grad_bias, grad_output);
    const int64_t columns = s.depth() + (ones ? 1 : 0), parts = order.parts(s.batch), sums = s.out_channels * columns;
    const Tensor partial = empty_raw({parts * order.lanes * sums}, scalar_type_of<S>, c.device());
    dispatch_outs(s.group_out(), [&]<int kOuts>(std::integral_constant<int, kOuts>) {
      const Tensor gradients = packed<T, kOuts>(kName, c, grad_output, s.p.groups, by_position);
      const int64_t count = parts * order.lanes * s.p.groups * by_position.tiles(kOuts) * columns;
      launch(kName, c, grid_for(count), sum_weights<T, kOuts>,
             WeightFactors<T>{s, order, columns, elements_of<const T>(input), gradients.ptr<S>()}, partial.ptr<S>(),
             count);
    });
    launch(kName, c, grid_for(sums), add_parts<T>, s, order, columns, parts, partial.ptr<S>(),
           elements_of<T>(grad_weight), ones ? grad_bias.ptr<T>() : nullptr);
  });
}

void conv2d_backward_bias(const Tensor& grad_bias, const Tensor& grad_output) {
  if (grad_output.numel() == 0) return fill_raw(grad_bias, 0);
  const int64_t channels = grad_output.size(1), plane = grad_output.size(2) * grad_output.size(3);
  const bool planes = grad_output.is_contiguous();
  dispatch_stored_type(grad_bias, [&]<class T>(Type<T>) {
    launch("conv2d_backward_bias", context(grad_bias.device()), {channels, 256}, sum_channel<T>, grad_output.ptr<T>(),
           grad_output.size(0), plane, channels * plane, planes ? plane : 1, planes ? 1 : channels, grad_bias.ptr<T>());
  });
}

}  // namespace tandem::cuda_impl::strict
