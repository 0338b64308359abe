#include "tandem/nn/files/tensorboard/histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/error.h"

namespace tandem::tensorboard {
namespace {

constexpr double kMinLimit = 1e-12, kMaxLimit = 1e20, kFactor = 1.1, kLogFactor = 0.09531017980432493;

const std::vector<double>& positive_limits() {
  static const std::vector<double> limits = [] {
    std::vector<double> out;
    for (double v = kMinLimit; v < kMaxLimit; v *= kFactor) out.push_back(v);
    return out;
  }();
  return limits;
}

// The number of positive limits that are at most `value`, which is not negative.
std::size_t limits_up_to(double value, const std::vector<double>& limits) {
  if (value < kMinLimit) return 0;
  auto k = static_cast<std::size_t>(
      std::min<double>(static_cast<double>(limits.size()), std::log(value / kMinLimit) / kLogFactor + 1));
  while (k > 0 && limits[k - 1] > value) --k;  // the estimate may be off by one
  while (k < limits.size() && limits[k] <= value) ++k;
  return k;
}

// The first of all limits, in ascending order, that is above `value`.
std::size_t bucket_of(double value, const std::vector<double>& limits) {
  const std::size_t half = limits.size();
  std::size_t k = limits_up_to(std::abs(value), limits);
  if (value >= 0) return half + 1 + k;
  if (k > 0 && limits[k - 1] == -value) --k;
  return half - k;
}

double limit_at(std::size_t i, const std::vector<double>& limits) {
  const std::size_t half = limits.size();
  if (i < half) return -limits[half - 1 - i];
  if (i == half) return 0;
  return i <= 2 * half ? limits[i - half - 1] : std::numeric_limits<double>::max();
}

}  // namespace

Histogram histogram_of(const Tensor& values) {
  check(!values.is_complex(), "add_histogram: values must be real, got ", values);
  NoGradGuard guard;
  const std::vector<double>& limits = positive_limits();
  std::vector<double> counts(2 * limits.size() + 2);
  Histogram out{.min = INFINITY, .max = -INFINITY, .limits = {}, .counts = {}};
  const Tensor flat = values.detach().reshape({-1});
  constexpr int64_t kPart = 1 << 20;
  for (int64_t at = 0; at < flat.numel(); at += kPart) {
    const Tensor part = flat.narrow(0, at, std::min(kPart, flat.numel() - at)).cpu().to(kDouble).contiguous();
    const double* data = part.data_ptr<double>();
    for (int64_t i = 0; i < part.numel(); ++i) {
      const double value = data[i];
      if (!std::isfinite(value)) continue;
      out.min = std::min(out.min, value);
      out.max = std::max(out.max, value);
      out.sum += value;
      out.sum_squares += value * value;
      ++out.count;
      ++counts[bucket_of(value, limits)];
    }
  }
  if (out.count == 0) return {};
  std::size_t first = 0, last = counts.size() - 1;
  while (counts[first] == 0) ++first;
  while (counts[last] == 0) --last;
  for (std::size_t i = first > 0 ? first - 1 : 0; i <= last; ++i) {
    out.limits.push_back(limit_at(i, limits));
    out.counts.push_back(counts[i]);
  }
  return out;
}

}  // namespace tandem::tensorboard
