// Convolutions, and col2im.
#include "tandem/onnx/operators/convolution.h"

#include <algorithm>
#include <cmath>

#include "tandem/core/base/checked_sizes.h"
#include "tandem/onnx/operators/windows.h"

namespace tandem::onnx {

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
        IntArrayRef(w.begin), w.dilation, groups, c.kept(),
        c.integer(kLaysOut, 0) != 0 ? optional(MemoryFormat::ChannelsLast) : nullopt);
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
      // Version 1 names the sides the other way round, but its tests and implementations do not.
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
  check(c[2].dim() == 1 && c[2].size(0) == out.size(1), "the bias must be [", out.size(1), "], got ", c[2]);
  return out + c[2].view(line(rank + 2, 1, out.size(1)));
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
    const int64_t count = out_sizes[d + 2];
    const Tensor at_tap = (arange(w.kernel[d], options) * w.dilation[d]).view(line(w.rank(), d, w.kernel[d]));
    const Tensor at_place = (arange(count, options) * w.stride[d] - w.begin[d]).view(line(w.rank(), d, count));
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
  return c.has(3) ? out + c[3].view(line(out_sizes.size(), 1, outputs)) : out;
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
      const Tensor tap = (arange(kernel[d], at.options()) * w.dilation[d]).view(line(rank, d, kernel[d]));
      const Tensor place = (arange(counts[d], at.options()) * w.stride[d]).view(line(rank, d, counts[d]));
      at = at * around[d] + (tap.expand(kernel).reshape({taps, 1}) + place.expand(counts).reshape({1, places}));
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

}  // namespace

Operators convolution_operators() {
  return {
      {"Conv", conv},
      {"ConvTranspose", conv_transpose},
      {"CausalConvWithState", causal_conv},
      {"DeformConv", deform_conv},
      {"Col2Im", col2im_of, 0b110},
  };
}

}  // namespace tandem::onnx
