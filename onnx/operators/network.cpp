// Convolutions, pooling, dropout, and rearranging pixels.
#include <algorithm>
#include <cmath>

#include "tandem/autograd/ops/detail/half.h"
#include "tandem/core/base/checked_sizes.h"
#include "tandem/onnx/operators.h"
#include "tandem/onnx/operators/convolution.h"

namespace tandem::onnx {
namespace {

using List = std::vector<int64_t>;

// ---- windows

/// How windows move over the spatial dimensions; one number per dimension.
struct Windows {
  List kernel, stride, dilation, begin, end;
  std::size_t rank() const { return kernel.size(); }
  int64_t span(std::size_t d) const { return dilation[d] * (kernel[d] - 1) + 1; }
  bool is_symmetric() const { return begin == end && *std::min_element(begin.begin(), begin.end()) >= 0; }
  bool is_dilated() const { return *std::max_element(dilation.begin(), dilation.end()) > 1; }
  /// The number of windows along a dimension of `size`. With `ceil`, also one that begins within but ends outside.
  int64_t count(std::size_t d, int64_t size, bool ceil) const {
    const int64_t room = size + begin[d] + end[d] - span(d);
    check(room >= 0, "no window of ", kernel, " fits");
    int64_t out = (room + (ceil ? stride[d] - 1 : 0)) / stride[d] + 1;
    if (ceil && (out - 1) * stride[d] >= size + begin[d]) --out;
    return out;
  }
};

/// One number per dimension, from `least` to INT32_MAX.
List numbers_of(const Call& c, const char* attribute, std::size_t count, int64_t otherwise, int64_t least) {
  List out = c.integers(attribute);
  if (out.empty()) out.assign(count, otherwise);
  check(out.size() == count, attribute, " must hold ", count, " numbers, got ", out);
  for (const int64_t number : out)
    check(number >= least && number <= INT32_MAX, attribute, " must be from ", least, " to ", INT32_MAX, ", got ", out);
  return out;
}
void read_pads(const Call& c, Windows& w) {
  const List pads = numbers_of(c, "pads", 2 * w.rank(), 0, -INT32_MAX);
  const auto half = pads.begin() + static_cast<std::ptrdiff_t>(w.rank());
  w.begin.assign(pads.begin(), half);
  w.end.assign(half, pads.end());
}
/// Splits `total` between the sides; an odd one more goes to the end for SAME_UPPER.
void split_pads(Windows& w, std::size_t d, int64_t total, bool upper) {
  w.begin[d] = upper ? total / 2 : total - total / 2;
  w.end[d] = total - w.begin[d];
}
std::string auto_pad_of(const Call& c) {
  std::string mode = c.text("auto_pad", "NOTSET");
  check(mode.empty() || mode == "NOTSET" || mode == "VALID" || mode == "SAME_UPPER" || mode == "SAME_LOWER",
        "unknown auto_pad '", mode, "'");
  return mode;
}

/// `kernel`: empty to read kernel_shape.
Windows windows_of(const Call& c, const Tensor& x, IntArrayRef kernel = {}) {
  check(x.dim() >= 3 && x.dim() <= 5, "expected [N, C] and 1 to 3 more dimensions, got ", x);
  const auto rank = static_cast<std::size_t>(x.dim() - 2);
  Windows w;
  w.kernel = kernel.empty() || c.has("kernel_shape") ? numbers_of(c, "kernel_shape", rank, 0, 1)
                                                     : List(kernel.begin(), kernel.end());
  check(kernel.empty() || kernel == IntArrayRef(w.kernel), "kernel_shape ", w.kernel,
        " is not that of the weight: ", kernel);
  w.stride = numbers_of(c, "strides", rank, 1, 1);
  w.dilation = numbers_of(c, "dilations", rank, 1, 1);
  read_pads(c, w);
  const std::string mode = auto_pad_of(c);
  if (mode.empty() || mode == "NOTSET") return w;
  for (std::size_t d = 0; d < rank; ++d) {
    const int64_t size = x.sizes()[d + 2], count = (size + w.stride[d] - 1) / w.stride[d];
    const int64_t total = mode == "VALID" ? 0 : std::max<int64_t>((count - 1) * w.stride[d] + w.span(d) - size, 0);
    split_pads(w, d, total, mode == "SAME_UPPER");
  }
  return w;
}

/// Padding in the order of pad(): the last dimension first.
Tensor padded(const Tensor& x, const List& begin, const List& end, const Scalar& value = 0) {
  List pads;
  bool any = false;
  for (std::size_t d = begin.size(); d-- > 0;) {
    pads.insert(pads.end(), {begin[d], end[d]});
    any = any || begin[d] != 0 || end[d] != 0;
  }
  return any ? constant_pad_nd(x, pads, value) : x;
}

/// A row as an image of height 1, for operations that exist in two and three dimensions.
struct Flat {
  Tensor x;
  Windows w;
  bool was_row = false;
  Flat(Tensor tensor, Windows windows) : x(std::move(tensor)), w(std::move(windows)), was_row(w.rank() == 1) {
    if (!was_row) return;
    x = x.unsqueeze(2);
    for (List* list : {&w.kernel, &w.stride, &w.dilation}) list->insert(list->begin(), 1);
    for (List* list : {&w.begin, &w.end}) list->insert(list->begin(), 0);
  }
  Tensor back(const Tensor& out) const { return was_row ? out.squeeze(2) : out; }
};

// ---- convolutions

}  // namespace

Tensor convolve(const Call& c, Tensor x, const Tensor& weight, const Tensor& bias, const Tensor& residual) {
  check(weight.dim() == x.dim() && weight.dim() >= 3, "the weight must have the dimensions of the input\n  input  ", x,
        "\n  weight ", weight);
  Windows w = windows_of(c, x, weight.sizes().slice(2, weight.sizes().size() - 2));
  const int64_t groups = c.integer("group", 1);
  if (!w.is_symmetric()) {  // what both sides have in common stays with the convolution
    List begin, end, common;
    for (std::size_t d = 0; d < w.rank(); ++d) {
      common.push_back(std::max<int64_t>(std::min(w.begin[d], w.end[d]), 0));
      begin.push_back(w.begin[d] - common[d]);
      end.push_back(w.end[d] - common[d]);
    }
    x = padded(x, begin, end);
    w.begin = common;
  }
  const auto activation = static_cast<FusedActivation>(c.integer(kActivation, 0));
  // What follows may broadcast, which a convolution's own residual does not.
  const auto sizes_fit = [&] {
    if (!residual.defined() || residual.dim() != 4) return !residual.defined();
    bool fits = residual.size(0) == x.size(0) && residual.size(1) == weight.size(0);
    for (std::size_t d = 0; d < 2; ++d) {
      const int64_t room = x.sizes()[d + 2] + 2 * w.begin[d] - w.span(d);
      fits = fits && residual.sizes()[d + 2] == room / w.stride[d] + 1;
    }
    return fits;
  };
  if (w.rank() == 2) {
    const bool fits = sizes_fit();
    Tensor out = autograd::conv2d_with_epilogue(
        x, weight, {bias, fits ? residual : Tensor(), fits ? activation : FusedActivation::kIdentity}, w.stride,
        IntArrayRef(w.begin), w.dilation, groups, c.kept());
    return fits ? out : autograd::activated_(out + residual, activation);
  }
  Tensor out = w.rank() == 1 ? conv1d(x, weight, bias, w.stride, w.begin, w.dilation, groups)
                             : conv3d(x, weight, bias, w.stride, w.begin, w.dilation, groups);
  if (residual.defined()) out = out + residual;
  return autograd::activated_(out, activation);
}

namespace {

Tensor conv(Call& c) { return convolve(c, c[0], c[1], c.optional(2), c.optional(kResidual)); }

Tensor conv_transpose(Call& c) {
  const Tensor& x = c[0];
  const Tensor& weight = c[1];
  check(weight.dim() == x.dim() && x.dim() >= 3 && x.dim() <= 5, "expected [N, C] and 1 to 3 more dimensions, and a ",
        "weight of as many\n  input  ", x, "\n  weight ", weight);
  const std::size_t rank = x.sizes().size() - 2;
  Windows w;
  w.kernel.assign(weight.sizes().begin() + 2, weight.sizes().end());
  check(!c.has("kernel_shape") || numbers_of(c, "kernel_shape", rank, 0, 1) == w.kernel,
        "kernel_shape is not that of the weight: ", w.kernel);
  w.stride = numbers_of(c, "strides", rank, 1, 1);
  w.dilation = numbers_of(c, "dilations", rank, 1, 1);
  List extra = numbers_of(c, "output_padding", rank, 0, 0);
  read_pads(c, w);

  const std::string mode = auto_pad_of(c);
  List wanted = c.integers("output_shape");
  if (wanted.size() == rank + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  check(wanted.empty() || wanted.size() == rank, "output_shape must hold ", rank, " numbers, got ", wanted);
  const bool same = mode.starts_with("SAME");
  if (mode == "VALID") w.begin = w.end = List(rank, 0);
  if (same || !wanted.empty())
    for (std::size_t d = 0; d < rank; ++d) {
      const int64_t in = x.sizes()[d + 2];
      check(in <= INT32_MAX, "the input is too large: ", x);
      if (!wanted.empty()) check(wanted[d] >= 1 && wanted[d] <= INT32_MAX, "output_shape is out of range: ", wanted);
      const int64_t out = wanted.empty() ? in * w.stride[d] : wanted[d];
      const int64_t total = w.stride[d] * (in - 1) + extra[d] + w.span(d) - out;
      // Version 1 names the sides the other way round, but its tests and those who implement it do not.
      split_pads(w, d, std::max<int64_t>(total, 0), mode == "SAME_UPPER");
      extra[d] -= std::min<int64_t>(total, 0);
    }

  // Where the sides differ, or more is to be added than the operation does, the result is cropped and extended.
  bool direct = w.is_symmetric(), extended = false;
  List begin, end, common;
  for (std::size_t d = 0; d < rank; ++d) {
    direct = direct && extra[d] < std::max(w.stride[d], w.dilation[d]);
    common.push_back(std::max<int64_t>(std::min(w.begin[d], w.end[d] - extra[d]), 0));
    begin.push_back(common[d] - w.begin[d]);
    end.push_back(extra[d] + common[d] - w.end[d]);
    extended = extended || begin[d] > 0 || end[d] > 0;
  }
  const int64_t groups = c.integer("group", 1);
  const Tensor bias = direct || !extended ? c.optional(2) : Tensor();
  const List& around = direct ? w.begin : common;
  if (!direct) extra.assign(rank, 0);
  Tensor out = rank == 1   ? conv_transpose1d(x, weight, bias, w.stride, around, extra, groups, w.dilation)
               : rank == 2 ? conv_transpose2d(x, weight, bias, w.stride, around, extra, groups, w.dilation)
                           : conv_transpose3d(x, weight, bias, w.stride, around, extra, groups, w.dilation);
  if (direct) return out;
  out = padded(out, begin, end);
  if (!c.has(2) || bias.defined()) return out;
  Dims channels(rank + 2, 1);
  check(c[2].dim() == 1 && c[2].size(0) == out.size(1), "the bias must be [", out.size(1), "], got ", c[2]);
  channels[1] = out.size(1);
  return out + c[2].view(channels);
}

Results causal_conv(Call& c) {
  const Tensor& x = c[0];
  const Tensor& weight = c[1];
  check(x.dim() == 3 && weight.dim() == 3 && weight.size(0) == x.size(1) && weight.size(1) == 1 && weight.size(2) > 0,
        "expected an input [N, C, length] and a weight [C, 1, kernel]\n  input  ", x, "\n  weight ", weight);
  const int64_t kept = weight.size(2) - 1;
  const Tensor past = c.has(3) ? c[3] : zeros({x.size(0), x.size(1), kept}, x.options().requires_grad(false));
  check(past.dim() == 3 && past.size(2) == kept, "past_state must have ", kept, " positions, got ", past);
  const Tensor all = kept == 0 ? x : cat({past, x}, 2);
  Tensor out = conv1d(all, weight, c.optional(2), 1, 0, 1, x.size(1));
  const std::string activation = c.text("activation", "none");
  check(activation == "none" || activation == "silu" || activation == "swish", "unknown activation '", activation, "'");
  if (activation != "none") out = silu(out);
  return Results::of({out, kept == 0 ? past : all.narrow(2, all.size(2) - kept, kept)});
}

// Reads the input at the shifted position of every weight, and multiplies what was read with the weights.
Tensor deform_conv(Call& c) {
  const Tensor& x = c[0];
  const Tensor& weight = c[1];
  const Tensor& offset = c[2];
  check((x.dim() == 4 || x.dim() == 5) && weight.dim() == x.dim() && offset.dim() == x.dim(),
        "expected an input of 4 or 5 dimensions, and a weight and offsets of as many\n  input   ", x, "\n  weight  ",
        weight, "\n  offsets ", offset);
  const Windows w = windows_of(c, x, weight.sizes().slice(2, weight.sizes().size() - 2));
  const auto rank = static_cast<int64_t>(w.rank());
  const int64_t n = x.size(0), channels = x.size(1), outputs = weight.size(0);
  const int64_t groups = c.integer("group", 1), shifts = c.integer("offset_group", 1);
  check(groups > 0 && shifts > 0 && channels % groups == 0 && channels % shifts == 0 && outputs % groups == 0 &&
            weight.size(1) == channels / groups,
        "group ", groups, " and offset_group ", shifts, " do not fit\n  input  ", x, "\n  weight ", weight);
  int64_t taps = 1, places = 1;
  Dims out_sizes{n, outputs};
  for (std::size_t d = 0; d < w.rank(); ++d) {
    taps = multiply_sizes("DeformConv", taps, w.kernel[d]);
    out_sizes.push_back(w.count(d, x.sizes()[d + 2], false));
    places = multiply_sizes("DeformConv", places, out_sizes.back());
    check(offset.sizes()[d + 2] == out_sizes.back(), "the offsets do not have the sizes of the output: ", offset);
  }
  check(offset.size(0) == n && offset.size(1) == shifts * taps * rank, "the offsets must be [", n, ", ",
        shifts * taps * rank, ", ...], got ", offset);

  // Positions along each dimension [N shifts, taps, places], scaled to [-1, 1], the last dimension first.
  const Tensor moved = offset.to(kDouble).reshape({n * shifts, taps, rank, places});
  const TensorOptions options = x.options().dtype(kDouble).requires_grad(false);
  std::vector<Tensor> grid;
  for (std::size_t d = w.rank(); d-- > 0;) {
    Dims tap(w.rank(), 1), place(w.rank(), 1);
    tap[d] = w.kernel[d];
    place[d] = out_sizes[d + 2];
    const Tensor at_tap = (arange(w.kernel[d], options) * w.dilation[d]).view(tap);
    const Tensor at_place = (arange(out_sizes[d + 2], options) * w.stride[d] - w.begin[d]).view(place);
    const Tensor base = at_tap.expand(w.kernel).reshape({taps, 1}) +
                        at_place.expand(IntArrayRef(out_sizes).slice(2, w.rank())).reshape({1, places});
    const Tensor at = moved.select(2, static_cast<int64_t>(d)) + base;
    grid.push_back((at * 2 + 1) / static_cast<double>(x.sizes()[d + 2]) - 1);
  }
  Dims images(x.sizes()), grids{n * shifts, taps, places, rank};
  images[0] = n * shifts;
  images[1] = channels / shifts;
  if (rank == 3) grids.insert(1, 1);
  // In float64, because scaling to [-1, 1] and back would move the positions.
  const Tensor read_wide = grid_sampler(x.reshape(images).to(kDouble), stack(grid, -1).view(grids), 0, 0, false);
  Tensor read = read_wide.to(x.scalar_type()).reshape({n, shifts, channels / shifts, taps, places});
  if (c.has(4)) read = read * c[4].reshape({n, shifts, 1, taps, places});
  const int64_t depth = channels / groups * taps;
  Tensor out = matmul(weight.reshape({groups, outputs / groups, depth}), read.reshape({n, groups, depth, places}))
                   .reshape(out_sizes);
  if (!c.has(3)) return out;
  Dims bias(out_sizes.size(), 1);
  bias[1] = outputs;
  return out + c[3].view(bias);
}

Tensor col2im_of(Call& c) {
  const Tensor& x = c[0];
  const List image = c.integers(1), kernel = c.integers(2);
  const std::size_t rank = image.size();
  check(rank >= 1 && rank <= 5 && kernel.size() == rank && x.dim() == 3, "expected an input [N, C, places], and as ",
        "many sizes of images and of blocks\n  input ", x, "\n  image_shape ", image, ", block_shape ", kernel);
  Windows w;
  w.kernel = kernel;
  w.stride = numbers_of(c, "strides", rank, 1, 1);
  w.dilation = numbers_of(c, "dilations", rank, 1, 1);
  read_pads(c, w);
  int64_t taps = 1, places = 1, pixels = 1;
  Dims around, counts;
  for (std::size_t d = 0; d < rank; ++d) {
    check(image[d] >= 1 && image[d] <= INT32_MAX && kernel[d] >= 1 && kernel[d] <= INT32_MAX && w.begin[d] >= 0 &&
              w.end[d] >= 0,
          "sizes must be positive, and pads not negative: ", image, " ", kernel);
    counts.push_back(w.count(d, image[d], false));
    around.push_back(image[d] + w.begin[d] + w.end[d]);
    taps = multiply_sizes("Col2Im", taps, kernel[d]);
    places = multiply_sizes("Col2Im", places, counts[d]);
    pixels = multiply_sizes("Col2Im", pixels, around[d]);
  }
  check(x.size(2) == places && x.size(1) % taps == 0, "the input must be [N, C ", taps, ", ", places, "], got ", x);
  const int64_t n = x.size(0), channels = x.size(1) / taps;
  Tensor out;
  if (rank == 2) {
    out = col2im(x, around, kernel, w.dilation, 0, w.stride);
  } else {
    // The position in the padded image of each tap of each block.
    Tensor at = zeros({1, 1}, x.options().dtype(kLong).requires_grad(false));
    for (std::size_t d = 0; d < rank; ++d) {
      Dims tap(rank, 1), place(rank, 1);
      tap[d] = kernel[d];
      place[d] = counts[d];
      const Tensor at_tap = (arange(kernel[d], at.options()) * w.dilation[d]).view(tap).expand(kernel);
      const Tensor at_place = (arange(counts[d], at.options()) * w.stride[d]).view(place).expand(counts);
      at = at * around[d] + (at_tap.reshape({taps, 1}) + at_place.reshape({1, places}));
    }
    out = index_add(zeros({n, channels, pixels}, x.options().requires_grad(false)), 2, at.reshape({-1}),
                    x.reshape({n, channels, taps * places}));
    Dims sizes{n, channels};
    for (const int64_t size : around) sizes.push_back(size);
    out = out.view(sizes);
  }
  for (std::size_t d = 0; d < rank; ++d) out = out.narrow(static_cast<int64_t>(d) + 2, w.begin[d], image[d]);
  return out;
}

// ---- pooling

/// The windows of a pooling operator, which do not begin or end with nothing but padding.
Windows pool_windows(const Call& c, const Tensor& x) {
  Windows w = windows_of(c, x);
  for (std::size_t d = 0; d < w.rank(); ++d)
    check(w.begin[d] < w.span(d) && w.end[d] < w.span(d), "padding must be less than the kernel ", w.kernel, ", got ",
          w.begin, " and ", w.end);
  return w;
}
/// Whether the pooling operations do these windows themselves.
bool pools_directly(const Windows& w) {
  bool half = w.is_symmetric();
  for (std::size_t d = 0; d < w.rank(); ++d) half = half && w.begin[d] <= w.kernel[d] / 2;
  return half;
}
/// Makes the padding of the last windows so large that they end within it, and returns the windows along each
/// dimension.
List cover(Windows& w, const Tensor& x, bool ceil) {
  List counts;
  for (std::size_t d = 0; d < w.rank(); ++d) {
    const int64_t size = x.sizes()[d + 2];
    counts.push_back(w.count(d, size, ceil));
    w.end[d] = (counts[d] - 1) * w.stride[d] + w.span(d) - size - w.begin[d];
  }
  return counts;
}

// ONNX numbers the elements of the whole tensor; storage_order 1 counts the first dimension of a plane fastest.
Tensor positions_in_tensor(Tensor at, const Tensor& x, const Windows& w, const List& padded_sizes, bool columns) {
  const std::size_t rank = w.rank();
  const Dims sizes(x.sizes().slice(2, rank));
  int64_t plane = 1;
  for (const int64_t size : sizes) plane *= size;
  if (columns || IntArrayRef(padded_sizes) != IntArrayRef(sizes)) {
    Tensor rest = at, out;
    int64_t stride = columns ? plane : 1;
    for (std::size_t d = rank; d-- > 0;) {
      Tensor place = rest.remainder(padded_sizes[d]);
      rest = rest.div(padded_sizes[d], "floor");
      place = (place - w.begin[d]).clamp(0, sizes[d] - 1);
      if (columns) stride /= sizes[d];
      out = out.defined() ? out + place * stride : place * stride;
      if (!columns) stride *= sizes[d];
    }
    at = out;
  }
  Dims of_planes(at.sizes().size(), 1);
  of_planes[0] = x.size(0);
  of_planes[1] = x.size(1);
  return at + (arange(x.size(0) * x.size(1), at.options()) * plane).view(of_planes);
}

Results max_pool(Call& c) {
  const Tensor& given = c[0];
  const bool ceil = c.flag("ceil_mode"), small = isIntegralType(given.scalar_type(), false);
  check(!small || given.element_size() == 1, "expected floating point, int8 or uint8, got ", given);
  Windows w = pool_windows(c, given);
  for (std::size_t d = 0; d < w.rank(); ++d) w.count(d, given.sizes()[d + 2], ceil);
  Tensor x = small ? given.to(kFloat) : given;  // holds the values of 8 bits
  const bool direct = pools_directly(w);
  List sizes(x.sizes().begin() + 2, x.sizes().end()), around = w.begin;
  if (!direct) {
    cover(w, x, ceil);
    const double lowest = given.dtype() == kByte ? 0 : given.dtype() == kChar ? -128 : -INFINITY;
    x = padded(x, w.begin, w.end, lowest);
    sizes.assign(x.sizes().begin() + 2, x.sizes().end());
    around.assign(w.rank(), 0);
  }
  const bool up = direct && ceil;
  Tensor out, at;
  if (!c.wants(1)) {
    out = w.rank() == 1   ? max_pool1d(x, w.kernel, w.stride, around, w.dilation, up)
          : w.rank() == 2 ? max_pool2d(x, w.kernel, w.stride, around, w.dilation, up)
                          : max_pool3d(x, w.kernel, w.stride, around, w.dilation, up);
  } else {
    std::tie(out, at) = w.rank() == 1   ? max_pool1d_with_indices(x, w.kernel, w.stride, around, w.dilation, up)
                        : w.rank() == 2 ? max_pool2d_with_indices(x, w.kernel, w.stride, around, w.dilation, up)
                                        : max_pool3d_with_indices(x, w.kernel, w.stride, around, w.dilation, up);
    if (direct) w.begin.assign(w.rank(), 0);  // its positions are in the input already
    at = positions_in_tensor(at, given, w, sizes, c.flag("storage_order"));
  }
  if (small) out = out.to(given.scalar_type());
  return Results::of({out, at});
}

/// The sums over windows of [N, C, H, W] or [N, C, D, H, W] that do not exceed it.
Tensor window_sums(const Tensor& x, const Windows& w) {
  if (!w.is_dilated())
    return w.rank() == 2 ? avg_pool2d(x, w.kernel, w.stride, 0, false, true, 1)
                         : avg_pool3d(x, w.kernel, w.stride, 0, false, true, 1);
  Dims planes(x.sizes()), weight{1, 1};
  planes[0] = x.size(0) * x.size(1);
  planes[1] = 1;
  for (const int64_t k : w.kernel) weight.push_back(k);
  const Tensor ones_ = ones(weight, x.options().requires_grad(false));
  const Tensor out = convolution(x.reshape(planes), ones_, {}, w.stride, 0, w.dilation, false, 0, 1);
  planes = out.sizes();
  planes[0] = x.size(0);
  planes[1] = x.size(1);
  return out.view(planes);
}

Tensor average_pool(Call& c) {
  const bool ceil = c.flag("ceil_mode"), include = c.flag("count_include_pad");
  Windows given = pool_windows(c, c[0]);
  for (std::size_t d = 0; d < given.rank(); ++d) given.count(d, c[0].sizes()[d + 2], ceil);
  if (pools_directly(given) && !given.is_dilated())
    return given.rank() == 1   ? avg_pool1d(c[0], given.kernel, given.stride, given.begin, ceil, include)
           : given.rank() == 2 ? avg_pool2d(c[0], given.kernel, given.stride, given.begin, ceil, include)
                               : avg_pool3d(c[0], given.kernel, given.stride, given.begin, ceil, include);
  Flat f(c[0], given);
  Windows& w = f.w;
  const Tensor x = autograd::widened(f.x);  // sums are rounded once
  const List pad_end = w.end, counts = cover(w, x, ceil);
  Tensor out = window_sums(padded(x, w.begin, w.end), w);
  // The divisor is a product of one count per dimension.
  for (std::size_t d = 0; d < w.rank(); ++d) {
    const int64_t size = x.sizes()[d + 2];
    const int64_t from = include ? -w.begin[d] : 0, to = include ? size + pad_end[d] : size;
    std::vector<double> divisors;
    for (int64_t i = 0; i < counts[d]; ++i) {
      // The taps k with from <= start + k dilation < to.
      const int64_t start = i * w.stride[d] - w.begin[d], step = w.dilation[d];
      const auto before = [&](int64_t end) { return end <= start ? 0 : (end - start + step - 1) / step; };
      const int64_t inside = std::min(before(to), w.kernel[d]) - std::min(before(from), w.kernel[d]);
      divisors.push_back(static_cast<double>(std::max<int64_t>(inside, 1)));
    }
    Dims shape(w.rank() + 2, 1);
    shape[d + 2] = counts[d];
    out = out / tensor(divisors, x.options().requires_grad(false)).view(shape);
  }
  return f.back(out).to(c[0].scalar_type());
}

/// The exponent, a float in version 1.
double exponent_of(const Call& c) {
  const double p = c.version() < 2 ? c.number("p", 2.0) : static_cast<double>(c.integer("p", 2));
  check(p > 0, "p must be positive, got ", p);
  return p;
}

Tensor lp_pool(Call& c) {
  const double p = exponent_of(c);
  const bool ceil = c.flag("ceil_mode");
  Flat f(c[0], pool_windows(c, c[0]));
  const Tensor x = autograd::widened(f.x);  // powers overflow half types
  cover(f.w, x, ceil);
  const Tensor powers = p == 1 ? x.abs() : p == 2 ? x.square() : x.abs().pow(p);
  const Tensor sums = window_sums(padded(powers, f.w.begin, f.w.end), f.w);
  return f.back(p == 1 ? sums : p == 2 ? sums.sqrt() : sums.pow(1 / p)).to(c[0].scalar_type());
}

List spatial_dims(const Tensor& x) {
  check(x.dim() >= 3, "expected [N, C] and more dimensions, got ", x);
  List out;
  for (int64_t d = 2; d < x.dim(); ++d) out.push_back(d);
  return out;
}
Tensor global_average_pool(Call& c) {
  return c[0].dim() == 4 ? adaptive_avg_pool2d(c[0], {1, 1}) : c[0].mean(spatial_dims(c[0]), true);
}

// The indices count in the sizes that follow from the windows; a larger output_shape only adds zeros.
Tensor max_unpool(Call& c) {
  const Tensor& x = c[0];
  check(c[1].sizes() == x.sizes() && isIntegralType(c[1].scalar_type(), false),
        "there must be one index for each element\n  input   ", x, "\n  indices ", c[1]);
  const Windows w = windows_of(c, x);
  Dims sizes{x.size(0), x.size(1)};
  int64_t count = multiply_sizes("MaxUnpool", x.size(0), x.size(1));
  for (std::size_t d = 0; d < w.rank(); ++d) {
    const int64_t in = x.sizes()[d + 2];
    check(in >= 1 && in <= INT32_MAX, "the sizes are out of range: ", x);
    sizes.push_back((in - 1) * w.stride[d] + w.kernel[d] - w.begin[d] - w.end[d]);
    check(sizes.back() >= 1, "the output would be empty: ", IntArrayRef(sizes));
    count = multiply_sizes("MaxUnpool", count, sizes.back());
  }
  const Tensor zero = zeros({count}, x.options().requires_grad(false));
  const Tensor out = zero.scatter(0, c[1].reshape({-1}).to(kLong), x.reshape({-1})).view(sizes);
  if (!c.has(2)) return out;
  const List wanted = c.integers(2);
  check(wanted.size() == sizes.size(), "output_shape must hold ", sizes.size(), " numbers, got ", wanted);
  List begin(wanted.size(), 0), end;
  for (std::size_t d = 0; d < wanted.size(); ++d) {
    check(wanted[d] >= sizes[d] && wanted[d] <= INT32_MAX, "output_shape ", wanted, " must be at least ",
          IntArrayRef(sizes));
    end.push_back(wanted[d] - sizes[d]);
  }
  return padded(out, begin, end);
}

// ---- dropout and pixels

// The attribute `seed` has no effect: draws come from the default generator.
Results dropout_of(Call& c) {
  const Tensor& x = c[0];
  const double ratio = c.has(1) ? c.number(std::size_t{1}) : c.number("ratio", 0.5);
  bool drops = c.training() || (c.version() < 7 && !c.flag("is_test"));
  if (c.has(2)) drops = drops || c.number(std::size_t{2}) != 0;
  check(ratio >= 0 && ratio < 1, "ratio must be in [0, 1), got ", ratio);
  const ScalarType mask_type = c.version() < 10 ? x.scalar_type() : kBool;
  if (!drops || ratio == 0)
    return Results::of({x, c.wants(1) ? ones(x.sizes(), x.options().dtype(mask_type).requires_grad(false)) : Tensor()});
  if (!c.wants(1)) return dropout(x, ratio, true);
  const Tensor mask = rand(x.sizes(), x.options().dtype(kFloat).requires_grad(false)).ge(ratio);
  return Results::of({x * mask.to(x.scalar_type()) / (1 - ratio), mask.to(mask_type)});
}

int64_t block_of(const Call& c) {
  const int64_t block = c.integer("blocksize");
  check(block >= 1 && block <= INT32_MAX, "blocksize must be positive, got ", block);
  check(c[0].dim() == 4, "expected [N, C, H, W], got ", c[0]);
  return block;
}
bool columns_first(const Call& c) {
  const std::string mode = c.text("mode", "DCR");
  check(mode == "DCR" || mode == "CRD", "unknown mode '", mode, "'");
  return mode == "CRD";
}
Tensor depth_to_space(Call& c) {
  const Tensor& x = c[0];
  const int64_t b = block_of(c), n = x.size(0), depth = x.size(1), h = x.size(2), w = x.size(3);
  if (columns_first(c)) return pixel_shuffle(x, b);
  check(depth % (b * b) == 0, "the channels are no multiple of ", b * b, ": ", x);
  return x.reshape({n, b, b, depth / (b * b), h, w})
      .permute({0, 3, 4, 1, 5, 2})
      .reshape({n, depth / (b * b), h * b, w * b});
}
Tensor space_to_depth(Call& c) {
  const Tensor& x = c[0];
  const int64_t b = block_of(c), n = x.size(0), depth = x.size(1), h = x.size(2), w = x.size(3);
  if (columns_first(c)) return pixel_unshuffle(x, b);
  check(h % b == 0 && w % b == 0, "height and width are no multiples of ", b, ": ", x);
  return x.reshape({n, depth, h / b, b, w / b, b})
      .permute({0, 3, 5, 1, 2, 4})
      .reshape({n, depth * b * b, h / b, w / b});
}

}  // namespace

std::span<const Operator> network_operators() {
  static const Operator table[] = {
      {"Conv", [](Call& c) { return conv(c); }},
      {"ConvTranspose", [](Call& c) { return conv_transpose(c); }, Folding::kNever},
      {"CausalConvWithState", [](Call& c) { return causal_conv(c); }},
      {"DeformConv", [](Call& c) { return deform_conv(c); }},
      {"Col2Im", [](Call& c) { return col2im_of(c); }, Folding::kNever, 0b110},
      {"MaxPool", [](Call& c) { return max_pool(c); }},
      {"AveragePool", [](Call& c) { return average_pool(c); }},
      {"LpPool", [](Call& c) { return lp_pool(c); }},
      {"GlobalAveragePool", [](Call& c) { return global_average_pool(c); }},
      {"GlobalMaxPool", [](Call& c) { return c[0].amax(spatial_dims(c[0]), true); }},
      {"GlobalLpPool", [](Call& c) { return norm(c[0], exponent_of(c), spatial_dims(c[0]), true); }},
      {"MaxUnpool", [](Call& c) { return max_unpool(c); }, Folding::kNever, 0b100},
      {"Dropout", [](Call& c) { return dropout_of(c); }, Folding::kNever, 0b110},
      {"DepthToSpace", [](Call& c) { return depth_to_space(c); }},
      {"SpaceToDepth", [](Call& c) { return space_to_depth(c); }},
  };
  return table;
}

}  // namespace tandem::onnx
