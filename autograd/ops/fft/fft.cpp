// The functions of torch.fft: checks, lengths and norms around the transforms of fft_op.h.
#include "tandem/autograd/ops/fft/fft.h"

#include <cmath>

#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/fft/fft_op.h"
#include "tandem/autograd/ops/nn/pad.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/view/cat.h"
#include "tandem/autograd/ops/view/flip.h"

namespace tandem {
namespace {
using namespace autograd;

/// The factor of a transform of n points.
double factor(const char* operation, const FftNorm& norm, double n, bool inverse) {
  const std::string_view name = norm.value_or("backward");
  check(name == "backward" || name == "forward" || name == "ortho", operation, ": Invalid normalization mode: \"", name,
        "\"; expected \"backward\", \"forward\" or \"ortho\"");
  if (name == "ortho") return 1 / std::sqrt(n);
  return (name == "backward") == inverse ? 1 / n : 1;
}

Tensor real_input(const char* operation, const Tensor& self) {
  check(!self.is_complex(), operation, " expects a real input tensor, but got ", self);
  return fft_input(operation, self);
}

/// Cut or padded with zeros at the end of dimension `dim`, from 0.
Tensor resized(const Tensor& x, int64_t dim, int64_t n) {
  const int64_t size = x.size(dim);
  if (size == n) return x;
  if (size > n) return x.narrow(dim, 0, n);
  std::vector<int64_t> padding(static_cast<std::size_t>(2 * (x.dim() - dim)), 0);
  padding.back() = n - size;
  return constant_pad_nd(x, padding);
}
Tensor resized(Tensor x, IntArrayRef dims, IntArrayRef sizes) {
  for (std::size_t i = 0; i < dims.size(); ++i) x = resized(x, dims[i], sizes[i]);
  return x;
}

/// The dimensions of a transform and the lengths of the signal.
struct Axes {
  Dims dims, sizes;
  double points() const {
    double product = 1;
    for (const int64_t size : sizes) product *= static_cast<double>(size);
    return product;
  }
};

Axes one_axis(const char* operation, const Tensor& x, int64_t dim) {
  check_index(x.dim() > 0, operation, ": dimension ", dim, " of a tensor without dimensions");
  dim = wrap_dim(dim, x.dim());
  return {{dim}, {x.size(dim)}};
}

/// `hermitian`: x has the first half of the last of the dimensions,
/// so the default length of the signal is 2 (size - 1).
Axes axes_of(const char* operation, const Tensor& x, const OptionalIntArrayRef& s, const OptionalIntArrayRef& dim,
             bool hermitian = false) {
  Axes axes;
  const auto rank = static_cast<std::size_t>(x.dim());
  check(!s.has_value() || !dim.has_value() || s->size() == dim->size(), operation,
        ": When given, dim and shape arguments must have the same length");
  check(!s.has_value() || s->size() <= rank, operation, ": got a shape with ", s.has_value() ? s->size() : 0,
        " values for a tensor with only ", rank, " dimensions");
  const std::size_t count = dim.has_value() ? dim->size() : s.has_value() ? s->size() : rank;
  for (std::size_t i = 0; i < count; ++i) {
    check_index(rank > 0, operation, ": dimension ", dim.has_value() ? (*dim)[i] : 0,
                " of a tensor without dimensions");
    const int64_t d = dim.has_value() ? wrap_dim((*dim)[i], x.dim()) : static_cast<int64_t>(rank - count + i);
    for (const int64_t other : axes.dims) check(other != d, operation, ": FFT dims must be unique, got ", d, " twice");
    axes.dims.push_back(d);
    const bool half = hermitian && i + 1 == count;
    const bool given = s.has_value() && (*s)[i] != -1;
    axes.sizes.push_back(given ? (*s)[i] : half ? 2 * (x.size(d) - 1) : x.size(d));
    check_points(operation, axes.sizes.back());
  }
  return axes;
}
void check_some(const char* operation, const Axes& axes) {
  check(!axes.dims.empty(), operation, " must transform at least one axis");
}

IntArrayRef all_but_last(const Dims& dims) { return {dims.data(), dims.size() - 1}; }

Tensor complex_transform(const char* operation, const Tensor& self, const Axes& axes, const FftNorm& norm,
                         bool inverse) {
  const Tensor x = fft_input(operation, self);
  const double scale = factor(operation, norm, axes.points(), inverse);
  if (x.is_complex() || axes.dims.empty())
    return view_as_complex(fft_pairs(resized(fft_as_pairs(x), axes.dims, axes.sizes), axes.dims, inverse, scale));
  const Tensor last =
      fft_real(resized(x, axes.dims, axes.sizes), axes.dims.back(), true, inverse, axes.dims.size() == 1 ? scale : 1);
  if (axes.dims.size() == 1) return view_as_complex(last);
  return view_as_complex(fft_pairs(last, all_but_last(axes.dims), inverse, scale));
}

Tensor from_real(const char* operation, const Tensor& self, const Axes& axes, const FftNorm& norm, bool inverse) {
  const Tensor x = resized(real_input(operation, self), axes.dims, axes.sizes);
  const double scale = factor(operation, norm, axes.points(), inverse);
  const bool one = axes.dims.size() == 1;
  const Tensor last = fft_real(x, axes.dims.back(), false, inverse, one ? scale : 1);
  return view_as_complex(one ? last : fft_pairs(last, all_but_last(axes.dims), inverse, scale));
}

Tensor to_real(const char* operation, const Tensor& self, const Axes& axes, const FftNorm& norm, bool inverse) {
  const int64_t n = axes.sizes.back();
  Dims given = axes.sizes;
  given.back() = n / 2 + 1;
  Tensor x = resized(fft_as_pairs(fft_input(operation, self)), axes.dims, given);
  const double scale = factor(operation, norm, axes.points(), inverse);
  if (axes.dims.size() > 1) x = fft_pairs(x, all_but_last(axes.dims), inverse, 1);
  return fft_hermitian(x, axes.dims.back(), n, inverse, scale);
}

using Transform = Tensor (*)(const char*, const Tensor&, const Axes&, const FftNorm&, bool);
Tensor along_one(Transform transform, const char* operation, const Tensor& self, const optional<int64_t>& n,
                 int64_t dim, const FftNorm& norm, bool inverse) {
  Axes axes = one_axis(operation, self, dim);
  int64_t& points = axes.sizes[0];
  if (transform == to_real) points = 2 * (points - 1);
  points = n.value_or(points);
  check_points(operation, points);
  return transform(operation, self, axes, norm, inverse);
}
Tensor along_several(Transform transform, const char* operation, const Tensor& self, const OptionalIntArrayRef& s,
                     const OptionalIntArrayRef& dim, const FftNorm& norm, bool inverse) {
  const Axes axes = axes_of(operation, self, s, dim, transform == to_real);
  if (transform != complex_transform) check_some(operation, axes);
  return transform(operation, self, axes, norm, inverse);
}

/// 0, 1, …, count - 1 divided by n d, where those from `negative` on stand for the frequencies below 0.
Tensor frequencies(const char* operation, int64_t n, double d, int64_t count, int64_t negative,
                   const TensorOptions& options) {
  check(is_floating_point(options.dtype()), operation, ": requires a floating point dtype, but got ", options.dtype());
  Tensor out = arange(count, TensorOptions(options).dtype(options.dtype()).requires_grad(false));
  out.slice(0, negative).sub_(n);
  out.mul_(1.0 / (static_cast<double>(n) * d));
  return options.requires_grad() ? out.requires_grad_() : out;
}

Tensor shifted(const Tensor& self, const OptionalIntArrayRef& dim, int64_t round_up) {
  Dims dims, shifts;
  if (dim.has_value())
    dims = *dim;
  else
    for (int64_t d = 0; d < self.dim(); ++d) dims.push_back(d);
  for (const int64_t d : dims) shifts.push_back((self.size(d) + round_up) / 2);
  return roll(self, shifts, dims);
}

}  // namespace

namespace autograd {
Tensor fft_input(const char* operation, const Tensor& self) {
  if (const auto to = autocast::full_precision(self)) return fft_input(operation, to(self));
  check(self.dtype() != kHalf && self.dtype() != kBFloat16, operation, ": Unsupported dtype ", self,
        "; convert it with .to(kFloat)");
  return self.is_floating_point() || self.is_complex() ? self : self.to(get_default_dtype());
}
Tensor fft_as_pairs(const Tensor& x) { return x.is_complex() ? view_as_real(x) : stack({x, zeros_like(x)}, -1); }
}  // namespace autograd

// The six transforms and their names: NAME transforms one dimension, NAMEn and NAME2 several.
#define TANDEM_FFT(name, transform, inverse)                                                               \
  Tensor fft_##name(const Tensor& self, optional<int64_t> n, int64_t dim, FftNorm norm) {                  \
    return along_one(transform, "fft." #name, self, n, dim, norm, inverse);                                \
  }                                                                                                        \
  Tensor fft_##name##n(const Tensor& self, OptionalIntArrayRef s, OptionalIntArrayRef dim, FftNorm norm) { \
    return along_several(transform, "fft." #name "n", self, s, dim, norm, inverse);                        \
  }                                                                                                        \
  Tensor fft_##name##2(const Tensor& self, OptionalIntArrayRef s, IntArrayRef dim, FftNorm norm) {         \
    return along_several(transform, "fft." #name "2", self, s, dim, norm, inverse);                        \
  }
TANDEM_FFT(fft, complex_transform, false)
TANDEM_FFT(ifft, complex_transform, true)
TANDEM_FFT(rfft, from_real, false)
TANDEM_FFT(irfft, to_real, true)
TANDEM_FFT(hfft, to_real, false)
TANDEM_FFT(ihfft, from_real, true)
#undef TANDEM_FFT

Tensor fft_fftfreq(int64_t n, double d, const TensorOptions& options) {
  return frequencies("fft.fftfreq", n, d, n, (n + 1) / 2, options);
}
Tensor fft_rfftfreq(int64_t n, double d, const TensorOptions& options) {
  return frequencies("fft.rfftfreq", n, d, n / 2 + 1, n / 2 + 1, options);
}

Tensor fft_fftshift(const Tensor& self, OptionalIntArrayRef dim) { return shifted(self, dim, 0); }
Tensor fft_ifftshift(const Tensor& self, OptionalIntArrayRef dim) { return shifted(self, dim, 1); }

}  // namespace tandem
