// Resampling, one dimension at a time: weighted sums of index_select.
#include "tandem/autograd/ops/interpolate.h"
#include "tandem/autograd/ops/precision.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "tandem/autograd/ops/arithmetic.h"
#include "tandem/autograd/ops/index_select.h"
#include "tandem/autograd/ops/refuse_complex.h"
#include "tandem/autograd/ops/view.h"

namespace tandem {
namespace autograd {
namespace {

struct Axis {
  int64_t in, out;
  double step;  // input positions per output position
  bool corners;
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

Tensor host_row(int64_t count, ScalarType type) { return empty_raw({count}, type, Device(kCPU, 0)); }

// One neighbour of every output: its position (int64) and its weight (float64), on the host.
struct Taps {
  Tensor index, weight;
};

std::vector<Taps> taps_of(Resampling kind, const Axis& axis) {
  const std::size_t count = kind == Resampling::kCubic ? 4 : kind == Resampling::kLinear ? 2 : 1;
  std::vector<Taps> taps(count);
  for (Taps& t : taps) t = {host_row(axis.out, kLong), count > 1 ? host_row(axis.out, kDouble) : Tensor()};
  for (int64_t i = 0; i < axis.out; ++i) {
    if (count == 1) {
      taps[0].index.ptr<int64_t>()[i] = nearest(axis, i, kind == Resampling::kNearestExact);
      continue;
    }
    const double at = centre(axis, i, count == 4);
    const double base =
        count == 4 ? std::floor(at) : std::min(std::floor(at), static_cast<double>(axis.in - 1));
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

Tensor along_axis(const Tensor& x, Resampling kind, const Axis& axis, int64_t dim) {
  Dims shape(x.sizes().size(), 1);
  shape[static_cast<std::size_t>(dim)] = axis.out;
  Tensor out;
  for (const Taps& taps : taps_of(kind, axis)) {
    Tensor part = x.index_select(dim, taps.index.to(x.device()));
    if (taps.weight.defined()) part = part * taps.weight.to(x.device(), x.dtype()).view(shape);
    out = out.defined() ? out + part : part;
  }
  return out;
}

}  // namespace

Tensor resample(const char* operation, const Tensor& self, Resampling kind, IntArrayRef output_size,
                bool align_corners, ArrayRef<double> scales) {
  if (const auto out = autograd::in_full_precision_on_cuda(
          [&](const Tensor& t1) { return resample(operation, t1, kind, output_size, align_corners, scales); },
          self))
    return *out;
  autograd::refuse_complex(operation, self);
  const auto count = static_cast<int64_t>(output_size.size());
  check(self.dim() == count + 2, operation, ": expected [N, C] and ", count, " dimensions, got ", self);
  const bool weighted = kind == Resampling::kLinear || kind == Resampling::kCubic;
  check(!weighted || self.is_floating_point(), operation, ": expected floating point, got ", self);
  check_result(operation, self, output_size);
  Tensor out = self;
  for (int64_t k = 0; k < count; ++k) {
    const auto n = static_cast<std::size_t>(k);
    Axis axis{self.size(k + 2), output_size[n], 0, weighted && align_corners};
    if (axis.corners)
      axis.step = axis.out > 1 ? static_cast<double>(axis.in - 1) / static_cast<double>(axis.out - 1) : 0;
    else
      axis.step =
          scales.empty() ? static_cast<double>(axis.in) / static_cast<double>(axis.out) : 1 / scales[n];
    out = along_axis(out, kind, axis, k + 2);
  }
  return out;
}

}  // namespace autograd

namespace {
using autograd::resample;
using autograd::Resampling;

Tensor sized(const char* operation, const Tensor& self, Resampling kind, IntArrayRef size, std::size_t rank,
             bool align_corners) {
  check(size.size() == rank, operation, ": expected ", rank, " sizes, got ", size);
  return resample(operation, self, kind, size, align_corners);
}
}  // namespace

Tensor upsample_nearest1d(const Tensor& self, IntArrayRef output_size) {
  return sized("upsample_nearest1d", self, Resampling::kNearest, output_size, 1, false);
}
Tensor upsample_nearest2d(const Tensor& self, IntArrayRef output_size) {
  return sized("upsample_nearest2d", self, Resampling::kNearest, output_size, 2, false);
}
Tensor upsample_nearest3d(const Tensor& self, IntArrayRef output_size) {
  return sized("upsample_nearest3d", self, Resampling::kNearest, output_size, 3, false);
}
Tensor upsample_linear1d(const Tensor& self, IntArrayRef output_size, bool align_corners) {
  return sized("upsample_linear1d", self, Resampling::kLinear, output_size, 1, align_corners);
}
Tensor upsample_bilinear2d(const Tensor& self, IntArrayRef output_size, bool align_corners) {
  return sized("upsample_bilinear2d", self, Resampling::kLinear, output_size, 2, align_corners);
}
Tensor upsample_trilinear3d(const Tensor& self, IntArrayRef output_size, bool align_corners) {
  return sized("upsample_trilinear3d", self, Resampling::kLinear, output_size, 3, align_corners);
}
Tensor upsample_bicubic2d(const Tensor& self, IntArrayRef output_size, bool align_corners) {
  return sized("upsample_bicubic2d", self, Resampling::kCubic, output_size, 2, align_corners);
}

}  // namespace tandem
