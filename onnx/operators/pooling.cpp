// Pooling.
#include <algorithm>
#include <cmath>

#include "tandem/autograd/ops/detail/half.h"
#include "tandem/core/base/checked_sizes.h"
#include "tandem/onnx/operators/windows.h"

namespace tandem::onnx {
namespace {

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
    out = out / tensor(divisors, x.options().requires_grad(false)).view(line(w.rank() + 2, d + 2, counts[d]));
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
  return dims_of(x, 2);
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

}  // namespace

Operators pooling_operators() {
  return {
      {"MaxPool", max_pool},
      {"AveragePool", average_pool},
      {"LpPool", lp_pool},
      {"GlobalAveragePool", global_average_pool},
      {"GlobalMaxPool", [](Call& c) { return c[0].amax(spatial_dims(c[0]), true); }},
      {"GlobalLpPool", [](Call& c) { return norm(c[0], exponent_of(c), spatial_dims(c[0]), true); }},
      {"MaxUnpool", max_unpool, 0b100},
  };
}

}  // namespace tandem::onnx
