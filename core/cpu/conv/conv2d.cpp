// Chooses how a convolution is computed, and calls the method. Also the gradient of the bias, and the CPU's table.
#include "tandem/core/cpu/conv/conv2d.h"

#include "tandem/core/backend/conv.h"
#include "tandem/core/backend/kernel_arguments.h"
#include "tandem/core/cpu/conv/conv2d_half.h"
#include "tandem/core/cpu/conv/conv2d_tiles.h"
#include "tandem/core/cpu/simd.h"
#include "tandem/core/cpu/tables.h"
#include "tandem/core/profile.h"

namespace tandem::cpu {
namespace {

using Method = ConvMethod;
using conv2d_order::has_few_positions, conv2d_order::image_bytes, conv2d_order::kFilled, conv2d_order::kMaxImageBytes;

// Lanes of whole vectors for all images.
template <class T>
int64_t lanes_of(const Conv2dShape& s) {
  return ceil_div(s.batch, Wide<T>::kCount) * Wide<T>::kCount;
}

// The images fill the lanes of vectors, and one vector's images fit into the cache.
template <class T>
bool lanes_fit(const Conv2dShape& s) {
  return lanes_of<T>(s) * 3 <= s.batch * 4 && image_bytes<T>(s) * Wide<T>::kCount <= kMaxImageBytes &&
         s.depth() >= 32 && s.group_in() >= (s.pairs ? 2 : 4);
}

// In the gradient of the input: empty lanes cost less than the zeros around dy, of which columns are built, which takes as
// long as about 32 channels of results.
template <class T>
bool lanes_pay(const Conv2dShape& s) {
  constexpr int64_t kBuilding = 32;
  return lanes_of<T>(s) * s.out_plane() * s.group_in() <= s.batch * s.in_plane() * (s.group_in() + kBuilding) &&
         image_bytes<T>(s) * Wide<T>::kCount <= kMaxImageBytes;
}

// Sums are long enough, and the input of one output row stays in the cache.
template <class T>
bool direct_fits(const Conv2dShape& s) {
  constexpr int64_t kMaxBytes = 1 << 20;
  const int64_t rows = (s.kernel_h - 1) * s.p.dilation[0] + 1,
                bytes = rows * s.group_in() * s.padded_w() * static_cast<int64_t>(sizeof(T));
  return s.kernel_size() > 1 && s.group_out() >= (s.p.groups == 1 ? 8 : 16) && s.depth() >= 64 && bytes <= kMaxBytes;
}

// The rest of the epilogue, after the bias.
template <class M>
void finish_half(int64_t elements, M* y, const M* residual, FusedActivation activation) {
  if (activation == FusedActivation::kIdentity && residual == nullptr) return;
  parallel_for(elements, 16384, [&](int64_t begin, int64_t end) {
    finish_rounded(y + begin, residual == nullptr ? nullptr : residual + begin, activation, end - begin);
  });
}
template <class T>
void finish_all(const Conv2dShape& s, const Epilogue<T>& e, T* y) {
  if (s.pairs)
    return finish_half(s.batch * s.out_channels * s.out_plane(), reinterpret_cast<BFloat16*>(e.rounded.y),
                       reinterpret_cast<const BFloat16*>(e.rounded.residual), e.activation);
  if (e.activation == FusedActivation::kIdentity && e.residual == nullptr) return;
  parallel_for(s.batch * s.out_channels * s.out_plane(), 16384,
               [&](int64_t begin, int64_t end) { finish(e, y, begin, end - begin); });
}

// Whether channels-last tensors are computed as they are: not groups that fill no vector, and depthwise convolutions only by
// their own method, which has an order of its own.
template <class T>
bool takes_channels_last(const Conv2dShape& s) {
  if (s.is_depthwise()) return can_forward<T>(Method::kDepthwise, s);
  return s.p.groups == 1 || s.group_out() * 2 >= Wide<T>::kCount;
}

// Sum of one channel over the batch: per lane, then across lanes, then the remainder of each plane.
template <class T>
T sum_channel(const Conv2dShape& s, const T* dy) {
  constexpr int64_t kWidth = Wide<T>::kCount;
  const int64_t plane = s.out_plane();
  Wide<T> total{};
  T rest = 0;
  for (int64_t n = 0; n < s.batch; ++n, dy += s.out_channels * plane) {
    Wide<T> sums[4] = {};
    int64_t i = 0;
    for (; i + 4 * kWidth <= plane; i += 4 * kWidth)
      for (int k = 0; k < 4; ++k) sums[k] += load_block<T>(dy + i + k * kWidth);
    for (; i + kWidth <= plane; i += kWidth) sums[0] += load_block<T>(dy + i);
    total += (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (; i < plane; ++i) rest += dy[i];
  }
  return rest + sum_lanes(total);
}

}  // namespace

const char* name_of(Method method) {
  constexpr const char* kNames[] = {"conv2d_depthwise", "conv2d_shallow", "conv2d_lanes", "conv2d_direct",
                                    "conv2d_channels",  "conv2d_columns", "conv2d_rows"};
  return kNames[static_cast<std::size_t>(method)];
}

template <class T>
bool can_forward(Method method, const Conv2dShape& s) {
  if (method == Method::kDepthwise)
    return s.group_in() == 1 && !s.pairs &&
           (!s.channels_last || (s.group_out() == 1 && s.in_channels >= Wide<T>::kCount && !s.planes_in));
  if (s.channels_last) return method == Method::kDirect && !s.pairs;
  if (method == Method::kShallow) return !s.pairs;
  return method != Method::kChannels && method != Method::kRows;
}

template <class T>
bool can_backward_input(Method method, const Conv2dShape& s) {
  if (method == Method::kColumns && !s.channels_last) return true;
  if (method == Method::kShallow || (method == Method::kDepthwise && s.group_out() != 1)) return false;
  return s.turns() && can_forward<T>(method, s);
}

template <class T>
bool can_backward_weight(Method method, const Conv2dShape& s) {
  if (s.channels_last) return false;
  if (method == Method::kShallow) return !s.pairs;
  return method == Method::kChannels || method == Method::kColumns || method == Method::kRows;
}

// The rules. A figure says how much longer all convolutions of a network take without the rule, with the best of the
// other methods: docs/results/convolution.md.
template <class T>
Method choose_forward(const Conv2dShape& s) {
  if (s.channels_last) return can_forward<T>(Method::kDepthwise, s) ? Method::kDepthwise : Method::kDirect;
  // Few positions and many channels.
  const bool few = has_few_positions(s, 512) && s.group_out() >= 4 * kFilled<T> && s.depth() >= 64;
  // No channels to sum over, so there is no matrix product. MobileNetV2: 21 %.
  if (can_forward<T>(Method::kDepthwise, s) && s.is_depthwise()) return Method::kDepthwise;
  // So few products per output that packing takes longer than they do. LeNet: 4 % (and 15 % in the gradient below).
  if (can_forward<T>(Method::kShallow, s) && s.depth() <= 32 && s.group_in() <= 2 && s.group_out() >= 4 &&
      s.out_plane() >= 4 * Wide<T>::kCount)
    return Method::kShallow;
  // Small planes, where other methods waste lanes at edges. LeNet: 39 %. Tiles of one vector are slow with pairs.
  const bool direct =
      direct_fits<T>(s) && (s.pairs || (s.group_out() % kFilled<T> == 0 && s.depth() >= 256 && s.out_w() >= 7));
  if (!few && !direct && lanes_fit<T>(s)) return Method::kLanes;
  // Copies each input once, not once per tap. ResNet-18: 16 %. Or uses weights, most of the data, where they are packed.
  if (few || direct_fits<T>(s)) return Method::kDirect;
  // Groups that fill no tile.
  if (!s.pairs && s.p.groups > 1 && s.group_out() < 16) return Method::kShallow;
  // Any shape.
  return Method::kColumns;
}

template <class T>
Method choose_backward_input(const Conv2dShape& s) {
  // As in the forward pass. MobileNetV2: 20 %.
  if (can_backward_input<T>(Method::kDepthwise, s)) return Method::kDepthwise;
  // As in the forward pass. LeNet: 30 %.
  if (!s.channels_last && s.turns() && lanes_fit<T>(s)) return Method::kLanes;
  // The convolution of dy. ResNet-18: 8 %.
  if (s.channels_last || s.turns_well())
    if (const Method method = choose_forward<T>(s.turned()); can_backward_input<T>(method, s)) return method;
  // The padded dy is mostly zeros, which lanes leave out. LeNet with 8 images: 40 % of this gradient.
  if (s.turns() && lanes_pay<T>(s)) return Method::kLanes;
  // Any shape.
  return Method::kColumns;
}

template <class T>
void conv2d_forward(Method method, const Conv2dShape& s, const T* x, const ConvWeight<T>& w, T* y,
                    const Epilogue<T>& e) {
  const profiler::Record span(name_of(method), "method");
  switch (method) {
    case Method::kDepthwise:
      return depthwise_forward(s, x, w, y, e);
    case Method::kShallow:
      shallow_forward(s, x, w, y, e);
      break;
    case Method::kLanes:
      lanes_forward(s, x, w, y, e);
      break;
    case Method::kDirect:
      return direct_forward(s, x, w, y, e);
    default:
      return columns_forward(s, x, w, y, e);
  }
  finish_all(s, e, y);
}

template <class T>
void conv2d_backward_input(Method method, const Conv2dShape& s, const T* dy, const T* w, T* dx) {
  if (method != Method::kDepthwise && s.turns())
    return conv2d_forward<T>(method, s.turned(), dy, {.data = w, .turned = true}, dx, {});
  const profiler::Record span(name_of(method), "method");
  method == Method::kDepthwise ? depthwise_backward_input(s, dy, w, dx) : columns_backward_input(s, dy, w, dx);
}

template <class T>
void conv2d_backward_weight(Method method, const Conv2dShape& s, const T* x, const T* dy, T* dw, T* db) {
  const profiler::Record span(name_of(method), "method");
  switch (method) {
    case Method::kShallow:
      return shallow_backward_weight(s, x, dy, dw, db);
    case Method::kRows:
      if (rows_backward_weight(s, x, dy, dw, db)) return;
      break;
    case Method::kChannels:
      channels_backward_weight(s, x, dy, dw);
      break;
    default:
      columns_backward_weight(s, x, dy, dw);
  }
  if (db != nullptr) conv2d_backward_bias(s, dy, db);
}

template <class T>
void conv2d_backward_bias(const Conv2dShape& s, const T* dy, T* db) {
  parallel_for_each(s.out_channels, 1, [&](int64_t o) { db[o] = sum_channel(s, dy + o * s.out_plane()); });
}

#define TANDEM_INSTANTIATE(T)                                                                          \
  template bool can_forward<T>(ConvMethod, const Conv2dShape&);                                        \
  template bool can_backward_input<T>(ConvMethod, const Conv2dShape&);                                 \
  template bool can_backward_weight<T>(ConvMethod, const Conv2dShape&);                                \
  template Method choose_forward<T>(const Conv2dShape&);                                               \
  template Method choose_backward_input<T>(const Conv2dShape&);                                        \
  template void conv2d_forward<T>(ConvMethod, const Conv2dShape&, const T*, const ConvWeight<T>&, T*,  \
                                  const Epilogue<T>&);                                                 \
  template void conv2d_backward_input<T>(ConvMethod, const Conv2dShape&, const T*, const T*, T*);      \
  template void conv2d_backward_weight<T>(ConvMethod, const Conv2dShape&, const T*, const T*, T*, T*); \
  template void conv2d_backward_bias<T>(const Conv2dShape&, const T*, T*);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(double)

namespace {

// Whether both are channels-last; sizes of 1 may make a tensor both. An input may be row-major beside it.
bool channels_last(const Tensor& input, const Tensor& output) {
  const bool any = output.is_contiguous(MemoryFormat::ChannelsLast);
  return output.is_contiguous() ? any && !input.is_contiguous() : any;
}

Conv2dShape shape_of(const Tensor& input, const Tensor& output, const Tensor& weight, const Conv2dParameters& p) {
  Conv2dShape s = conv2d_shape(input, weight, p);
  s.channels_last = channels_last(input, output);
  s.planes_in = !input.is_contiguous(MemoryFormat::ChannelsLast);
  return s;
}

// compute(result) on row-major memory.
template <class F>
void in_row_major(const Tensor& out, F compute) {
  if (out.is_contiguous()) return compute(out);
  const Tensor rows = empty_raw(out.sizes(), out.dtype(), out.device());
  compute(rows);
  copy_raw(out, rows);
}

const uint16_t* bits(const Tensor& t) { return t.defined() ? static_cast<const uint16_t*>(t.data_ptr()) : nullptr; }
uint16_t* result_bits(const Tensor& t) { return static_cast<uint16_t*>(t.data_ptr()); }

bool takes_channels_last(ScalarType type, const Conv2dShape& s) {
  return type == kFloat ? takes_channels_last<float>(s) : type == kDouble && takes_channels_last<double>(s);
}

// Whether to convolve the half type as it is.
bool takes_half(const Tensor& weight, const Conv2dShape& s) {
  return weight.numel() > 0 && pair_conv_fits(weight.dtype(), s);
}

void forward(const Tensor& out, const Tensor& input, const Tensor& weight, const ConvEpilogue<Tensor>& e,
             const Conv2dParameters& p, KeptWeight* kept) {
  if (out.numel() == 0) return;
  // Weights that are kept in their order cost a few images less than these alone, whose bits are the same.
  const bool as_kept = kept != nullptr && input.size(0) < 8 && !isReducedFloatingType(out.dtype());
  if (const auto taps = as_kept ? nullopt : used_taps(input, out, weight, p)) [[unlikely]]
    return forward(out, input, row_major(taps->of(weight)), e, taps->p, nullptr);
  const Conv2dShape s = shape_of(input, out, weight, p);
  if (s.channels_last && !takes_channels_last(out.dtype(), s))
    return in_row_major(out, [&](const Tensor& rows) {
      forward(rows, row_major(input), weight, {e.bias, row_major(e.residual), e.activation}, p, kept);
    });
  if (isReducedFloatingType(out.dtype())) {
    if (!takes_half(weight, s)) {
      const ConvEpilogue<Tensor> bias{e.bias};
      tandem::detail::call_in_float(forward, {}, out, input, weight, bias, p, static_cast<KeptWeight*>(nullptr));
      return dispatch(out.dtype(), TypeList<Half, BFloat16>{}, "conv2d", [&]<class M>(Type<M>) {
        finish_half(out.numel(), out.ptr<M>(), data_or_null<const M>(e.residual), e.activation);
      });
    }
    // Clamps may come before the rounding.
    const bool whole = e.activation != FusedActivation::kHardswish;
    pair_conv_forward(
        s, bits(input), {bits(weight), kept, &weight}, result_bits(out),
        {bits(e.bias), whole ? bits(e.residual) : nullptr, whole ? e.activation : FusedActivation::kIdentity});
    if (!whole) finish_half(out.numel(), out.ptr<BFloat16>(), data_or_null<const BFloat16>(e.residual), e.activation);
    return;
  }
  const bool empty = weight.numel() == 0;  // empty sums
  if (empty && !e.bias.defined()) fill_raw(out, 0);
  if (empty && e.bias.defined()) copy_raw(out, alias(e.bias, out.sizes(), {0, 1, 0, 0}, e.bias.storage_offset()));
  dispatch(out.dtype(), FloatTypes{}, "conv2d", [&]<class T>(Type<T>) {
    const Epilogue<T> epilogue{data_or_null<T>(e.bias), data_or_null<T>(e.residual), e.activation};
    if (empty) return finish_all(s, epilogue, out.ptr<T>());
    conv2d_forward<T>(choose_forward<T>(s), s, input.ptr<T>(), {weight.ptr<T>(), kept, &weight}, out.ptr<T>(),
                      epilogue);
  });
}

void backward_input(const Tensor& grad_input, const Tensor& grad_output, const Tensor& weight,
                    const Conv2dParameters& p) {
  if (grad_output.numel() == 0) return fill_raw(grad_input, 0);
  if (grad_input.numel() == 0) return;
  if (const auto taps = used_taps(grad_input, grad_output, weight, p)) [[unlikely]]
    return backward_input(grad_input, grad_output, row_major(taps->of(weight)), taps->p);
  const Conv2dShape s = shape_of(grad_input, grad_output, weight, p);
  if (s.channels_last && !(s.turns() && takes_channels_last(grad_input.dtype(), s.turned())))
    return in_row_major(grad_input,
                        [&](const Tensor& rows) { backward_input(rows, row_major(grad_output), weight, p); });
  if (isReducedFloatingType(grad_input.dtype())) {
    if (!takes_half(weight, s))
      return tandem::detail::call_in_float(backward_input, {}, grad_input, grad_output, weight, p);
    return pair_conv_backward_input(s, bits(grad_output), bits(weight), result_bits(grad_input));
  }
  dispatch(grad_input.dtype(), FloatTypes{}, "conv2d_backward_input", [&]<class T>(Type<T>) {
    conv2d_backward_input<T>(choose_backward_input<T>(s), s, grad_output.ptr<T>(), weight.ptr<T>(),
                             grad_input.ptr<T>());
  });
}

// Only the output's sizes matter here; with a 1 x 1 kernel the input plane has the same size.
void backward_bias(const Tensor& grad_bias, const Tensor& grad_output) {
  if (grad_output.numel() == 0) return fill_raw(grad_bias, 0);
  if (!grad_output.is_contiguous()) return backward_bias(grad_bias, row_major(grad_output));
  dispatch(grad_bias.dtype(), FloatTypes{}, "conv2d_backward_bias", [&]<class T>(Type<T>) {
    const Conv2dShape shape{.batch = grad_output.size(0),
                            .in_channels = 1,
                            .in_h = grad_output.size(2),
                            .in_w = grad_output.size(3),
                            .out_channels = grad_output.size(1)};
    conv2d_backward_bias<T>(shape, grad_output.ptr<T>(), grad_bias.ptr<T>());
  });
}

void backward_weight(const Tensor& grad_weight, const Tensor& grad_bias, const Tensor& grad_output, const Tensor& input,
                     const Conv2dParameters& p) {
  if (grad_output.numel() == 0) {
    fill_raw(grad_weight, 0);
    if (grad_bias.defined()) fill_raw(grad_bias, 0);
    return;
  }
  if (const auto taps = used_taps(input, grad_output, grad_weight, p)) [[unlikely]] {
    const Tensor used = taps->of(grad_weight), computed = empty_raw(used.sizes(), used.dtype(), used.device());
    backward_weight(computed, grad_bias, grad_output, input, taps->p);
    fill_raw(grad_weight, 0);
    return copy_raw(used, computed);
  }
  if (channels_last(input, grad_output))
    return backward_weight(grad_weight, grad_bias, row_major(grad_output), row_major(input), p);
  const Conv2dShape s = shape_of(input, grad_output, grad_weight, p);
  if (isReducedFloatingType(grad_output.dtype())) {
    if (!takes_half(grad_weight, s))
      return tandem::detail::call_in_float(backward_weight, {.outputs = 2}, grad_weight, grad_bias, grad_output, input,
                                           p);
    pair_conv_backward_weight(s, bits(input), bits(grad_output), result_bits(grad_weight));
    if (grad_bias.defined()) tandem::detail::call_in_float(backward_bias, {}, grad_bias, grad_output);
    return;
  }
  if (grad_weight.numel() == 0) {
    if (grad_bias.defined()) backward_bias(grad_bias, grad_output);
    return;
  }
  dispatch(grad_weight.dtype(), FloatTypes{}, "conv2d_backward_weight", [&]<class T>(Type<T>) {
    conv2d_backward_weight<T>(choose_backward_weight<T>(s), s, input.ptr<T>(), grad_output.ptr<T>(),
                              grad_weight.ptr<T>(), data_or_null<T>(grad_bias));
  });
}

}  // namespace

constinit const ConvKernels conv_kernels{.forward = {forward, kTakesHalf},
                                         .backward_input = {backward_input, kTakesHalf},
                                         .backward_weight = {backward_weight, kTakesHalf},
                                         .backward_bias = backward_bias};

}  // namespace tandem::cpu
