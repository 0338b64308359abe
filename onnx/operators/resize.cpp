// Resampling: to other sizes, and at the positions of grids.
#include <algorithm>
#include <cmath>

#include "tandem/core/base/checked_sizes.h"
#include "tandem/onnx/operators.h"

namespace tandem::onnx {
namespace {

using List = std::vector<int64_t>;

// ---- Resize

enum class Mode { kLinear, kNearest, kCubic };  // as grid_sampler numbers them
Mode mode_of(const std::string& name) {
  if (name == "nearest") return Mode::kNearest;
  if (name == "linear" || name == "bilinear") return Mode::kLinear;
  check(name == "cubic" || name == "bicubic", "unknown mode '", name, "'");
  return Mode::kCubic;
}

/// How each dimension is resized.
struct Resizing {
  Mode mode = Mode::kNearest;
  std::string coordinates = "asymmetric", rounding = "floor";
  double cubic = -0.75, beyond = 0;
  bool exclude_outside = false, antialias = false;
  struct Axis {
    int64_t in = 0, out = 0;
    double scale = 1, roi_begin = 0, roi_end = 1;
  };
  std::vector<Axis> axes;

  bool crops() const { return coordinates == "tf_crop_and_resize"; }
  bool keeps(const Axis& axis) const {
    return std::abs(axis.scale - 1) <= 1e-9 && axis.in == axis.out &&
           (!crops() || (axis.roi_begin == 0 && axis.roi_end == 1));
  }
  /// The place in the input of element i of the output. Numbers are rounded to Real.
  template <class Real>
  Real source(const Axis& axis, int64_t i) const {
    const auto at = static_cast<Real>(i), in = static_cast<Real>(axis.in), scale = static_cast<Real>(axis.scale);
    const Real out = scale * in, half = Real(0.5);
    const Real last = axis.out > 1 ? out - 1 : 1;  // the last element of the output, where it has a fraction
    if (coordinates == "half_pixel") return (at + half) / scale - half;
    if (coordinates == "asymmetric") return at / scale;
    if (coordinates == "pytorch_half_pixel") return axis.out > 1 ? (at + half) / scale - half : 0;
    if (coordinates == "align_corners") return at * (in - 1) / last;
    if (coordinates == "half_pixel_symmetric")
      return in * half * (1 - static_cast<Real>(axis.out) / out) + (at + half) / scale - half;
    check(crops(), "unknown coordinate_transformation_mode '", coordinates, "'");
    const auto begin = static_cast<Real>(axis.roi_begin), width = static_cast<Real>(axis.roi_end) - begin;
    return begin * (in - 1) + width * (in - 1) * (axis.out > 1 ? at / last : half);
  }
};

double cubic_weight(double x, double a) {  // R. Keys, 1981
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}
double nearest(double at, const std::string& rounding, double scale) {
  if (rounding == "floor") return std::floor(at);
  if (rounding == "by scale") return scale < 1 ? std::ceil(at) : std::floor(at);
  if (rounding == "ceil") return std::ceil(at);
  if (rounding == "round_prefer_floor") return std::ceil(at - 0.5);
  check(rounding == "round_prefer_ceil", "unknown nearest_mode '", rounding, "'");
  return std::floor(at + 0.5);
}

/// Element i of the output is the sum over all taps of weight[i] times element index[i] of the input.
struct Tap {
  std::vector<int64_t> index;
  std::vector<double> weight;
};
std::vector<Tap> taps_of(const Resizing& r, const Resizing::Axis& axis) {
  // The taps first … last - 1, counted from the element before the place.
  const double shrink = r.antialias ? std::min(axis.scale, 1.0) : 1;
  const double reach = (r.mode == Mode::kCubic ? 2 : 1) / shrink;
  const int64_t first = r.mode == Mode::kNearest ? 0 : static_cast<int64_t>(std::floor(-reach)) + 1;
  const int64_t last = r.mode == Mode::kNearest ? 1 : 2 - first;
  const auto count = static_cast<std::size_t>(last - first);
  const auto size = static_cast<std::size_t>(axis.out);
  std::vector<Tap> taps(count);
  for (Tap& tap : taps) {
    tap.index.resize(size);
    tap.weight.resize(size);
  }
  const auto end = static_cast<double>(axis.in - 1);
  for (std::size_t i = 0; i < size; ++i) {
    // The model's exporter rounded coordinates to floats, and the nearest element depends on that.
    const double exact = r.mode == Mode::kNearest ? r.source<float>(axis, static_cast<int64_t>(i))
                                                  : r.source<double>(axis, static_cast<int64_t>(i));
    check(!std::isnan(exact), "scales and roi must be numbers");
    const double at = std::clamp(exact, -0x1p52, 0x1p52);
    if (r.mode == Mode::kNearest) {
      taps[0].index[i] = static_cast<int64_t>(std::clamp(nearest(at, r.rounding, axis.scale), 0.0, end));
      taps[0].weight[i] = 1;
      continue;
    }
    const double base = std::ceil(at) - 1;
    double sum = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const double place = base + static_cast<double>(first + static_cast<int64_t>(k)), x = (place - at) * shrink;
      const bool outside = place < 0 || place > end;
      double weight = r.mode == Mode::kCubic ? cubic_weight(x, r.cubic) : std::max(1 - std::abs(x), 0.0);
      if (r.exclude_outside && outside) weight = 0;
      taps[k].index[i] = static_cast<int64_t>(std::clamp(place, 0.0, end));
      taps[k].weight[i] = weight;
      sum += weight;
    }
    if (r.exclude_outside || r.antialias)
      for (Tap& tap : taps) tap.weight[i] = sum == 0 ? 0 : tap.weight[i] / sum;
  }
  return taps;
}

Tensor resized_axis(const Tensor& x, const Resizing& r, std::size_t dim) {
  const Resizing::Axis& axis = r.axes[dim];
  const auto d = static_cast<int64_t>(dim);
  const TensorOptions options = x.options().requires_grad(false);
  const Dims places = line(x.sizes().size(), dim, axis.out);
  Tensor out;
  for (const Tap& tap : taps_of(r, axis)) {
    if (std::all_of(tap.weight.begin(), tap.weight.end(), [](double w) { return w == 0; })) continue;
    Tensor part = x.index_select(d, tensor(tap.index, options.dtype(kLong)));
    if (r.mode != Mode::kNearest) part = part * tensor(tap.weight, options).view(places);
    out = out.defined() ? out + part : part;
  }
  if (!out.defined()) {  // all places are outside
    Dims sizes(x.sizes());
    sizes[dim] = axis.out;
    out = zeros(sizes, options);
  }
  if (!r.crops()) return out;
  std::vector<uint8_t> beyond;
  for (int64_t i = 0; i < axis.out; ++i) {
    const auto at = r.source<double>(axis, i);
    beyond.push_back(at < 0 || at > static_cast<double>(axis.in - 1));
  }
  return out.masked_fill(tensor(beyond, options.dtype(kBool)).view(places), r.beyond);
}

/// Whether Tandem's operation does all of it: what PyTorch exports.
optional<autograd::Resampling> direct_kind(const Tensor& x, const Resizing& r) {
  using autograd::Resampling;
  if (x.dim() < 3 || x.dim() > 5 || !r.keeps(r.axes[0]) || !r.keeps(r.axes[1]) || r.antialias || r.exclude_outside)
    return nullopt;
  bool same = true;  // whether the scales are those that the operation would compute
  for (const auto& axis : r.axes)
    same = same && std::abs(static_cast<double>(axis.out) - axis.scale * static_cast<double>(axis.in)) < 1e-3;
  if (r.mode == Mode::kNearest)
    return same && r.coordinates == "asymmetric" && r.rounding == "floor" ? optional(Resampling::kNearest) : nullopt;
  const bool one = std::any_of(r.axes.begin() + 2, r.axes.end(), [](const auto& axis) { return axis.out == 1; });
  const bool fits = r.coordinates == "half_pixel" || (r.coordinates == "pytorch_half_pixel" && !one) ||
                    r.coordinates == "align_corners";
  if (!same || !fits || !x.is_floating_point() || (r.mode == Mode::kCubic && r.cubic != -0.75)) return nullopt;
  return r.mode == Mode::kLinear ? Resampling::kLinear : Resampling::kCubic;
}

Tensor resized(const Tensor& x, const Resizing& r) {
  int64_t count = 1;
  bool changes = false;
  Dims sizes;
  for (const auto& axis : r.axes) {
    check(axis.out >= 0 && axis.out < int64_t{1} << 28, "a size would be ", axis.out);
    check(axis.in > 0 || axis.out == 0, "an empty dimension cannot be enlarged: ", x);
    count = multiply_sizes("Resize", count, axis.out);
    check(count < int64_t{1} << 42, "the result would have too many elements");
    changes = changes || !r.keeps(axis);
    sizes.push_back(axis.out);
  }
  if (!changes) return x;
  if (count == 0) return zeros(sizes, x.options().requires_grad(false));
  if (const auto kind = direct_kind(x, r)) {
    std::vector<double> scales;
    for (std::size_t d = 2; d < r.axes.size(); ++d) scales.push_back(r.axes[d].scale);
    return autograd::resample("Resize", x, *kind, IntArrayRef(sizes).slice(2, sizes.size() - 2),
                              r.coordinates == "align_corners", scales);
  }
  const bool keep = r.mode == Mode::kNearest || (x.is_floating_point() && !isReducedFloatingType(x.scalar_type()));
  Tensor out = keep ? x : x.to(kFloat);
  for (std::size_t d = 0; d < r.axes.size(); ++d)
    if (!r.keeps(r.axes[d])) out = resized_axis(out, r, d);
  if (!keep && x.element_size() == 1 && !x.is_floating_point())  // cubic interpolation leaves the range
    out = x.dtype() == kByte ? out.clamp(0, 255) : x.dtype() == kChar ? out.clamp(-128, 127) : out;
  return out.to(x.scalar_type());
}

std::vector<double> numbers_at(const Call& c, std::size_t input) {
  if (!c.has(input)) return {};
  check(c[input].is_floating_point() && c[input].dim() <= 1, "input ", input, " must be a list of numbers, got ",
        c[input]);
  return Call::values(c[input]);
}

/// Sets the sizes of the dimensions `dims` from their scales. The product is rounded as floats are, so that 2.3f times
/// 10 is 23.
void set_scales(Resizing& r, const List& dims, const std::vector<double>& scales) {
  check(scales.size() == dims.size(), "expected ", dims.size(), " scales, got ", scales.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    Resizing::Axis& axis = r.axes[static_cast<std::size_t>(dims[i])];
    check(scales[i] > 0 && std::isfinite(scales[i]), "scales must be positive, got ", scales[i]);
    const float size = static_cast<float>(scales[i]) * static_cast<float>(axis.in);
    check(size < 0x1p40f, "scale ", scales[i], " is too large");
    axis.scale = scales[i];
    axis.out = static_cast<int64_t>(size);
  }
}
void set_sizes(Resizing& r, const List& dims, const List& sizes, const std::string& policy) {
  check(sizes.size() == dims.size(), "expected ", dims.size(), " sizes, got ", sizes);
  check(policy == "stretch" || policy == "not_larger" || policy == "not_smaller", "unknown keep_aspect_ratio_policy '",
        policy, "'");
  double least = INFINITY, most = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    Resizing::Axis& axis = r.axes[static_cast<std::size_t>(dims[i])];
    check(sizes[i] >= 0 && axis.in > 0, "cannot resize a dimension of ", axis.in, " to ", sizes[i]);
    axis.out = sizes[i];
    axis.scale = static_cast<double>(axis.out) / static_cast<double>(axis.in);
    least = std::min(least, axis.scale);
    most = std::max(most, axis.scale);
  }
  if (policy == "stretch") return;
  for (const int64_t dim : dims) {
    Resizing::Axis& axis = r.axes[static_cast<std::size_t>(dim)];
    axis.scale = policy == "not_larger" ? least : most;
    const double size = std::floor(axis.scale * static_cast<double>(axis.in) + 0.5);
    check(size < 0x1p40, "a size is too large");
    axis.out = static_cast<int64_t>(size);
  }
}

Resizing keep_all(const Tensor& x) {
  Resizing r;
  for (const int64_t size : x.sizes()) r.axes.push_back({size, size});
  return r;
}

Tensor resize_of(Call& c) {
  const Tensor& x = c[0];
  List dims = dims_of(x);
  Resizing r = keep_all(x);
  r.mode = mode_of(c.text("mode", "nearest"));
  if (c.version() < 11) {
    set_scales(r, dims, numbers_at(c, 1));
    const auto shrinks = [](const Resizing::Axis& axis) { return axis.scale < 1; };
    if (std::any_of(r.axes.begin(), r.axes.end(), shrinks)) r.rounding = "by scale";  // as version 10 is tested
    return resized(x, r);
  }
  r.coordinates = c.text("coordinate_transformation_mode", "half_pixel");
  r.rounding = c.text("nearest_mode", "round_prefer_floor");
  r.cubic = static_cast<float>(c.number("cubic_coeff_a", -0.75));
  r.beyond = c.number("extrapolation_value", 0.0);
  r.exclude_outside = c.flag("exclude_outside") && r.mode != Mode::kNearest;
  r.antialias = c.flag("antialias");
  check(!r.antialias || r.mode != Mode::kNearest, "antialias does not go with mode 'nearest'");
  if (c.has("axes")) {
    dims = c.integers("axes");
    std::vector<bool> named(r.axes.size());
    for (int64_t& dim : dims) {
      dim = wrap_axis(dim, x.dim());
      check(!named[static_cast<std::size_t>(dim)], "axis ", dim, " is named twice");
      named[static_cast<std::size_t>(dim)] = true;
    }
  }
  if (r.crops()) {
    const std::vector<double> roi = numbers_at(c, 1);
    check(roi.size() == 2 * dims.size(), "roi must hold ", 2 * dims.size(), " numbers, got ", roi.size());
    for (std::size_t i = 0; i < dims.size(); ++i) {
      Resizing::Axis& axis = r.axes[static_cast<std::size_t>(dims[i])];
      axis.roi_begin = roi[i];
      axis.roi_end = roi[i + dims.size()];
    }
  }
  if (c.has(3) && c[3].numel() > 0)
    set_sizes(r, dims, c.integers(3), c.text("keep_aspect_ratio_policy", "stretch"));
  else
    set_scales(r, dims, numbers_at(c, 2));
  return resized(x, r);
}

Tensor upsample(Call& c) {
  const Tensor& x = c[0];
  List dims = dims_of(x);
  Resizing r = keep_all(x);
  r.mode = mode_of(c.text("mode", "nearest"));
  std::vector<double> scales = c.has(1) ? numbers_at(c, 1) : c.numbers("scales");
  if (c.version() < 7) {
    check(x.dim() == 4, "expected [N, C, H, W], got ", x);
    scales = {1, 1, c.number("height_scale"), c.number("width_scale")};
  }
  set_scales(r, dims, scales);
  return resized(x, r);
}

// ---- grids

Tensor grid_sample(Call& c) {
  static constexpr std::string_view kPaddings[] = {"zeros", "border", "reflection"};
  const std::string padding = c.text("padding_mode", "zeros");
  const auto* found = std::ranges::find(kPaddings, padding);
  check(found != std::end(kPaddings), "unknown padding_mode '", padding, "'");
  const auto mode = static_cast<int64_t>(mode_of(c.text("mode", "linear")));
  return grid_sampler(c[0], c[1].to(c[0].scalar_type()), mode, found - kPaddings, c.flag("align_corners"));
}

Tensor affine_grid_of(Call& c) {
  List sizes = c.integers(1);
  check(sizes.size() == 4 || sizes.size() == 5, "size must hold 4 or 5 numbers, got ", sizes);
  int64_t count = 1;
  for (const int64_t size : sizes) {
    check(size >= 1 && size <= INT32_MAX, "sizes must be positive, got ", sizes);
    count = multiply_sizes("AffineGrid", count, size);
  }
  check(count < int64_t{1} << 40, "the grid would be too large: ", sizes);
  return affine_grid_generator(c[0], sizes, c.flag("align_corners"));
}

// Padding and cropping are one operation: a crop is negative padding.
Tensor center_crop_pad(Call& c) {
  const Tensor& x = c[0];
  const List shape = c.integers(1);
  const List axes = c.has("axes") ? c.integers("axes") : dims_of(x);
  check(shape.size() == axes.size(), "expected ", axes.size(), " sizes, got ", shape);
  List pads(2 * x.sizes().size(), 0);
  int64_t count = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = wrap_axis(axes[i], x.dim()), size = x.size(axis);
    check(shape[i] >= 0 && shape[i] <= INT32_MAX && size <= INT32_MAX, "a size is out of range: ", shape);
    count = multiply_sizes("CenterCropPad", count, shape[i]);
    const auto at = 2 * static_cast<std::size_t>(x.dim() - 1 - axis);
    const int64_t less = size - shape[i], begin = less >= 0 ? -(less / 2) : -less / 2;
    pads[at] = begin;
    pads[at + 1] = -less - begin;
  }
  return constant_pad_nd(x, pads);
}

}  // namespace

Operators resize_operators() {
  return {
      {"Resize", resize_of, 0b1110},
      {"Upsample", upsample, 0b10},
      {"GridSample", grid_sample},
      {"AffineGrid", affine_grid_of, 0b10},
      {"CenterCropPad", center_crop_pad, 0b10},
  };
}

}  // namespace tandem::onnx
