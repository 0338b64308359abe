// Resampling, one dimension at a time: weighted sums of index_select. A dimension that would be copied is left out.
#include "tandem/autograd/ops/nn/interpolate.h"
#include "tandem/autograd/ops/detail/constant.h"
#include "tandem/autograd/ops/detail/precision.h"
#include "tandem/autograd/ops/detail/row_major.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "tandem/autograd/ops/detail/refuse_complex.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/nn/resize_windows.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/view/view.h"

namespace tandem {
namespace autograd {
namespace {

struct Axis {
  int64_t in, out;
  double step;  // input positions per output position
  bool corners;

  bool is_copied() const { return in == out && step == 1; }
};

// Like PyTorch, computes the nearest position in float32.
int64_t nearest(const Axis& axis, int64_t i, bool exact) {
  const auto step = static_cast<float>(axis.step);
  const float at = exact ? (static_cast<float>(i) + 0.5F) * step : static_cast<float>(i) * step;
  return std::min(static_cast<int64_t>(std::floor(at)), axis.in - 1);
}
double centre(const Axis& axis, int64_t i, bool cubic) {
  if (axis.corners) return axis.step * static_cast<double>(i);
  const double at = axis.step * (static_cast<double>(i) + 0.5) - 0.5;
  return cubic ? at : std::max(at, 0.0);
}
std::array<double, 4> cubic_weights(double t) {
  constexpr double a = -0.75;
  const auto near = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

// One neighbour of every output: its position (int64) and its weight (float64), on the host.
struct Taps {
  Tensor index, weight;
};

std::vector<Taps> taps_of(Resampling kind, const Axis& axis) {
  const std::size_t count = kind == Resampling::kCubic ? 4 : kind == Resampling::kLinear ? 2 : 1;
  std::vector<Taps> taps(count);
  for (Taps& t : taps)
    t = {autograd::host_table({axis.out}, kLong), count > 1 ? autograd::host_table({axis.out}, kDouble) : Tensor()};
  for (int64_t i = 0; i < axis.out; ++i) {
    if (count == 1) {
      taps[0].index.ptr<int64_t>()[i] = nearest(axis, i, kind == Resampling::kNearestExact);
      continue;
    }
    const double at = centre(axis, i, count == 4);
    const double base = count == 4 ? std::floor(at) : std::min(std::floor(at), static_cast<double>(axis.in - 1));
    const double t = std::clamp(at - base, 0.0, 1.0);
    const auto cubic = cubic_weights(t);
    for (std::size_t k = 0; k < count; ++k) {
      const int64_t place = static_cast<int64_t>(base) + static_cast<int64_t>(k) - (count == 4 ? 1 : 0);
      taps[k].index.ptr<int64_t>()[i] = std::clamp<int64_t>(place, 0, axis.in - 1);
      taps[k].weight.ptr<double>()[i] = count == 4 ? cubic[k] : k == 0 ? 1 - t : t;
    }
  }
  return taps;
}

// Checks the sizes after all axes first, before spending work on a result that does not fit into memory.
void check_result(const char* operation, const Tensor& self, IntArrayRef output_size) {
  Dims sizes(self.sizes());
  int64_t count = 1;
  bool fits = true;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (d >= 2) {
      check(sizes[d] > 0 && output_size[d - 2] > 0, operation, ": sizes must be positive, got ", self, " → ",
            output_size);
      sizes[d] = output_size[d - 2];
    }
    fits = fits && !__builtin_mul_overflow(count, sizes[d], &count);
  }
  check(fits && count < int64_t{1} << 42, operation, ": the result would have too many elements: ", sizes);
}

// The shape of one number for each of `count` places along dim.
Dims line(const Tensor& x, int64_t count, int64_t dim) {
  Dims shape(x.sizes().size(), 1);
  shape[static_cast<std::size_t>(dim)] = count;
  return shape;
}

Tensor along_axis(const Tensor& x, Resampling kind, const Axis& axis, int64_t dim) {
  Tensor out;
  for (const Taps& taps : taps_of(kind, axis)) {
    Tensor part = x.index_select(dim, autograd::constant_on(taps.index, x.device()));
    if (taps.weight.defined())
      part = part * autograd::constant_on(taps.weight, x.device(), x.dtype()).view(line(x, axis.out, dim));
    out = out.defined() ? out + part : part;
  }
  return out;
}

// The windows have different lengths, so their elements are laid out one window after the other and then added up.
Tensor antialiased(const Tensor& x, Resampling kind, const Axis& axis, int64_t dim) {
  const ResizeWindows windows = resize_windows(axis.in, 0, axis.out, axis.step, kind == Resampling::kCubic);
  const auto count = static_cast<int64_t>(windows.weights.size());
  const Tensor from = autograd::host_table({count}, kLong), to = autograd::host_table({count}, kLong),
               weight = autograd::host_table({count}, kDouble);
  std::copy(windows.weights.begin(), windows.weights.end(), weight.ptr<double>());
  int64_t at = 0;
  for (int64_t i = 0; i < axis.out; ++i)
    for (int64_t k = 0; k < windows.count[static_cast<std::size_t>(i)]; ++k, ++at) {
      from.ptr<int64_t>()[at] = windows.first[static_cast<std::size_t>(i)] + k;
      to.ptr<int64_t>()[at] = i;
    }
  const Tensor parts = x.index_select(dim, autograd::constant_on(from, x.device())) *
                       autograd::constant_on(weight, x.device(), x.dtype()).view(line(x, count, dim));
  Dims sizes(x.sizes());
  sizes[static_cast<std::size_t>(dim)] = axis.out;
  return zeros(sizes, x.options().requires_grad(false)).index_add(dim, autograd::constant_on(to, x.device()), parts);
}

// Whether PyTorch, on the CPU, computes positions from the ratio of the sizes, although a factor is given: it copies
// along a dimension whose size stays, and its kernel for nearest neighbours in two dimensions repeats elements where it
// doubles.
bool takes_ratio(Resampling kind, bool antialias, const Axis& axis, int64_t rank) {
  if (kind == Resampling::kNearest && rank == 2) return axis.out == axis.in || axis.out == 2 * axis.in;
  return (kind == Resampling::kLinear || antialias) && axis.out == axis.in;
}

}  // namespace

Tensor resample(const char* operation, const Tensor& self, Resampling kind, IntArrayRef output_size, bool align_corners,
                ArrayRef<double> scales, bool antialias) {
  if (const auto to = autograd::in_full_precision_on_cuda(self))
    return to.rounded(resample(operation, to(self), kind, output_size, align_corners, scales, antialias));
  autograd::refuse_complex(operation, self);
  const auto count = static_cast<int64_t>(output_size.size());
  check(self.dim() == count + 2, operation, ": expected [N, C] and ", count, " dimensions, got ", self);
  const bool weighted = kind == Resampling::kLinear || kind == Resampling::kCubic;
  check(!weighted || self.is_floating_point(), operation, ": expected floating point, got ", self);
  check_result(operation, self, output_size);
  // Channels-last tensors are resampled with the channels behind the other dimensions.
  const bool last = is_channels_last(self.suggest_memory_format());
  Tensor out = last ? self.movedim(1, -1) : self;
  for (int64_t k = 0; k < count; ++k) {
    const auto n = static_cast<std::size_t>(k);
    Axis axis{self.size(k + 2), output_size[n], 0, weighted && align_corners};
    if (axis.corners)
      axis.step = axis.out > 1 ? static_cast<double>(axis.in - 1) / static_cast<double>(axis.out - 1) : 0;
    else if (scales.empty() || !(scales[n] > 0) || takes_ratio(kind, antialias, axis, count))
      axis.step = static_cast<double>(axis.in) / static_cast<double>(axis.out);
    else
      axis.step = 1 / scales[n];
    if (axis.is_copied()) continue;
    const int64_t dim = last ? k + 1 : k + 2;
    out = antialias ? antialiased(out, kind, axis, dim) : along_axis(out, kind, axis, dim);
  }
  if (out.is_alias_of(self)) return self.clone();
  return last ? channels_last_result(out) : out;
}

}  // namespace autograd

namespace {
using autograd::resample;
using autograd::Resampling;

Tensor sized(const char* operation, const Tensor& self, Resampling kind, IntArrayRef size, bool align_corners,
             std::initializer_list<optional<double>> scales) {
  check(size.size() == scales.size(), operation, ": expected ", scales.size(), " sizes, got ", size);
  std::vector<double> factors;
  for (const optional<double>& scale : scales) factors.push_back(scale.value_or(0));
  return resample(operation, self, kind, size, align_corners, factors);
}
}  // namespace

std::vector<int64_t> autograd::scaled_sizes(const char* operation, const Tensor& self, ArrayRef<double> factors) {
  std::vector<int64_t> out;
  for (std::size_t d = 0; d < factors.size(); ++d) {
    const double size = static_cast<double>(self.sizes()[d + 2]) * factors[d];
    check(std::abs(size) < 0x1p60, operation, ": factor ", factors[d], " is too large for ", self);
    out.push_back(static_cast<int64_t>(std::floor(size)));
  }
  return out;
}

Tensor autograd::resample_either(const char* operation, const Tensor& self, Resampling kind, std::size_t count,
                                 const optional<IntArrayRef>& output_size, bool align_corners,
                                 const optional<ArrayRef<double>>& scale_factors) {
  check(output_size.has_value() != scale_factors.has_value(), operation,
        ": Must specify exactly one of output_size and scale_factors");
  if (output_size) {
    check(output_size->size() == count, operation, ": expected ", count, " sizes, got ", *output_size);
    return resample(operation, self, kind, *output_size, align_corners);
  }
  check(scale_factors->size() == count && self.dim() == static_cast<int64_t>(count) + 2, operation, ": expected ",
        count, " factors for [N, C] and as many dimensions, got ", scale_factors->size(), " for ", self);
  return resample(operation, self, kind, scaled_sizes(operation, self, *scale_factors), align_corners, *scale_factors);
}

Tensor upsample_nearest1d(const Tensor& self, IntArrayRef output_size, optional<double> scales) {
  return sized("upsample_nearest1d", self, Resampling::kNearest, output_size, false, {scales});
}
Tensor upsample_nearest2d(const Tensor& self, IntArrayRef output_size, optional<double> scales_h,
                          optional<double> scales_w) {
  return sized("upsample_nearest2d", self, Resampling::kNearest, output_size, false, {scales_h, scales_w});
}
Tensor upsample_nearest3d(const Tensor& self, IntArrayRef output_size, optional<double> scales_d,
                          optional<double> scales_h, optional<double> scales_w) {
  return sized("upsample_nearest3d", self, Resampling::kNearest, output_size, false, {scales_d, scales_h, scales_w});
}
Tensor upsample_linear1d(const Tensor& self, IntArrayRef output_size, bool align_corners, optional<double> scales) {
  return sized("upsample_linear1d", self, Resampling::kLinear, output_size, align_corners, {scales});
}
Tensor upsample_bilinear2d(const Tensor& self, IntArrayRef output_size, bool align_corners, optional<double> scales_h,
                           optional<double> scales_w) {
  return sized("upsample_bilinear2d", self, Resampling::kLinear, output_size, align_corners, {scales_h, scales_w});
}
Tensor upsample_trilinear3d(const Tensor& self, IntArrayRef output_size, bool align_corners, optional<double> scales_d,
                            optional<double> scales_h, optional<double> scales_w) {
  return sized("upsample_trilinear3d", self, Resampling::kLinear, output_size, align_corners,
               {scales_d, scales_h, scales_w});
}
Tensor upsample_bicubic2d(const Tensor& self, IntArrayRef output_size, bool align_corners, optional<double> scales_h,
                          optional<double> scales_w) {
  return sized("upsample_bicubic2d", self, Resampling::kCubic, output_size, align_corners, {scales_h, scales_w});
}

}  // namespace tandem
