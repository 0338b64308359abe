// Operators that move elements or compute with shapes. Shapes are integers on the CPU.
#include <algorithm>
#include <numeric>

#include "tandem/core/base/checked_sizes.h"
#include "tandem/onnx/operators.h"

namespace tandem::onnx {
namespace {

Tensor shape_of(Call& c) {
  const std::vector<int64_t> sizes = c[0].sizes().vec();
  const auto rank = static_cast<int64_t>(sizes.size());
  const auto bound = [&](const char* name, int64_t otherwise) {
    const int64_t at = c.integer(name, otherwise);
    return std::clamp(at < 0 ? at + rank : at, int64_t{0}, rank);
  };
  const int64_t start = bound("start", 0), end = std::max(start, bound("end", rank));
  return tensor(std::vector<int64_t>(sizes.begin() + start, sizes.begin() + end), kLong);
}

Tensor reshape_of(Call& c) {
  std::vector<int64_t> shape = c.integers_at(1, "shape");
  if (!c.flag("allowzero"))
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (shape[i] == 0) {
        check(static_cast<int64_t>(i) < c[0].dim(), "size ", i, " is to be that of the input, which has ", c[0].dim(),
              " dimensions");
        shape[i] = c[0].size(static_cast<int64_t>(i));
      }
  return reshape(c[0], shape);
}

Tensor flatten_of(Call& c) {
  const Tensor& x = c[0];
  const int64_t axis = c.integer("axis", 1);
  check(axis >= -x.dim() && axis <= x.dim(), "axis ", axis, " is out of range for ", x);
  const auto at = x.sizes().begin() + (axis < 0 ? axis + x.dim() : axis);
  const int64_t rows = std::accumulate(x.sizes().begin(), at, int64_t{1}, std::multiplies<>());
  const int64_t columns = std::accumulate(at, x.sizes().end(), int64_t{1}, std::multiplies<>());
  return reshape(x, {rows, columns});
}

std::vector<int64_t> axes_of(const Call& c, std::size_t input, int64_t rank) {
  std::vector<int64_t> axes = c.integers_at(input, "axes");
  for (int64_t& axis : axes) axis = wrap_axis(axis, rank);
  return axes;
}

Tensor squeeze_of(Call& c) {
  if (!c.has_at(1, "axes")) return squeeze(c[0]);
  const std::vector<int64_t> axes = axes_of(c, 1, c[0].dim());
  for (const int64_t axis : axes) check(c[0].size(axis) == 1, "dimension ", axis, " of ", c[0], " is not 1");
  return squeeze(c[0], axes);
}
Tensor unsqueeze_of(Call& c) {
  const auto count = static_cast<int64_t>(c.integers_at(1, "axes").size());
  std::vector<int64_t> axes = axes_of(c, 1, c[0].dim() + count);
  std::sort(axes.begin(), axes.end());
  check(std::adjacent_find(axes.begin(), axes.end()) == axes.end(), "an axis is given twice");
  Tensor out = c[0];
  for (const int64_t axis : axes) out = out.unsqueeze(axis);
  return out;
}

Tensor transpose_of(Call& c) {
  std::vector<int64_t> order = c.integers("perm");
  if (order.empty())
    for (int64_t d = c[0].dim(); d-- > 0;) order.push_back(d);
  return permute(c[0], order);
}

Tensor concat(Call& c) {
  const std::vector<Tensor> parts = c.tensors();
  check(!parts.empty(), "it has no inputs");
  // (Before set 4, axis has a default.)
  return parts.size() == 1 ? parts[0] : cat(parts, wrap_axis(c.integer("axis", 1), parts[0].dim()));
}

Results split_of(Call& c) {
  const int64_t axis = wrap_axis(c.integer("axis", 0), c[0].dim()), size = c[0].size(axis);
  std::vector<int64_t> sizes = c.integers_at(1, "split");
  const auto count = static_cast<int64_t>(c.outputs());
  if (sizes.empty()) {
    const int64_t parts = c.integer("num_outputs", count);
    check(parts > 0 && parts == count, "num_outputs is ", parts, ", but it has ", count, " outputs");
    const int64_t each = size / parts + (size % parts != 0);  // the last part may be smaller
    for (int64_t i = 0; i < parts; ++i) sizes.push_back(std::clamp(size - i * each, int64_t{0}, each));
  }
  check(static_cast<int64_t>(sizes.size()) == count, "there are ", sizes.size(), " sizes for ", count, " outputs");
  return Results::of(split(c[0], sizes, axis));
}

// x[start:end:step] along one dimension, with Python's rules.
Tensor slice_along(const Tensor& x, int64_t axis, int64_t start, int64_t end, int64_t step) {
  const int64_t size = x.size(axis);
  check(step != 0, "a step is 0");
  const auto wrapped = [size](int64_t at) { return at < 0 ? std::max(at, -size - 1) + size : at; };
  if (step > 0) {
    const int64_t from = std::clamp(wrapped(start), int64_t{0}, size);
    return slice(x, axis, from, std::clamp(wrapped(end), from, size), std::min(step, size + 1));
  }
  const int64_t from = std::clamp(wrapped(start), int64_t{-1}, size - 1);
  const int64_t to = std::clamp(wrapped(end), int64_t{-1}, from);
  const int64_t back = step < -size ? size + 1 : -step;
  if (from <= to) return slice(x, axis, 0, 0);
  const int64_t count = (from - to + back - 1) / back;
  return flip(slice(x, axis, from - (count - 1) * back, from + 1, back), axis);
}
Tensor slice_of(Call& c) {
  const std::vector<int64_t> starts = c.integers_at(1, "starts"), ends = c.integers_at(2, "ends");
  std::vector<int64_t> axes = c.integers_at(3, "axes");
  const std::vector<int64_t> steps = c.has(4) ? c.integers(4) : std::vector<int64_t>(starts.size(), 1);
  if (axes.empty())
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  check(starts.size() == ends.size() && starts.size() == axes.size() && starts.size() == steps.size(),
        "starts, ends, axes and steps differ in length");
  Tensor out = c[0];
  for (std::size_t i = 0; i < starts.size(); ++i)
    out = slice_along(out, wrap_axis(axes[i], out.dim()), starts[i], ends[i], steps[i]);
  return out;
}

Tensor expand_of(Call& c) {
  const std::vector<int64_t> shape = c.integers(1);
  std::vector<int64_t> sizes = c[0].sizes().vec();
  if (sizes.size() < shape.size()) sizes.insert(sizes.begin(), shape.size() - sizes.size(), 1);
  const std::size_t before = sizes.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (sizes[before + i] == 1) sizes[before + i] = shape[i];
  return c[0].expand(sizes);
}

// The positions that one dimension of a padded tensor takes its elements from.
std::vector<int64_t> padded_positions(int64_t size, int64_t before, int64_t after, const std::string& mode) {
  check(size > 0 || before + after == 0, "an empty dimension cannot be padded in mode ", mode);
  std::vector<int64_t> out;
  for (int64_t i = -before; i < size + after; ++i) {
    int64_t at = i;
    if (mode == "edge") {
      at = std::clamp(i, int64_t{0}, size - 1);
    } else if (mode == "wrap") {
      at = (i % size + size) % size;
    } else {  // reflect, repeatedly
      const int64_t period = std::max<int64_t>(1, 2 * (size - 1));
      at = (i % period + period) % period;
      if (at >= size) at = period - at;
    }
    out.push_back(at);
  }
  return out;
}
Tensor pad_of(Call& c) {
  Tensor x = c[0];
  const std::string mode = c.text("mode", "constant");
  const std::vector<int64_t> pads = c.has(1) ? c.integers(1) : c.integers(c.has("pads") ? "pads" : "paddings");
  const std::vector<int64_t> axes = c.has(3) ? c.integers(3) : dims_of(x);
  check(pads.size() == 2 * axes.size(), "there are ", pads.size(), " pads for ", axes.size(), " dimensions");
  std::vector<int64_t> before(static_cast<std::size_t>(x.dim()), 0), after = before;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<std::size_t>(wrap_axis(axes[i], x.dim()));
    before[d] = pads[i];
    after[d] = pads[i + axes.size()];
    check_magnitude("pad", "a number", before[d]);
    check_magnitude("pad", "a number", after[d]);
  }
  if (mode == "constant") {
    std::vector<int64_t> from_last;
    for (std::size_t d = before.size(); d-- > 0;) {
      from_last.push_back(before[d]);
      from_last.push_back(after[d]);
    }
    Scalar value = c.number("value", 0);
    if (c.has(2) && c[2].numel() == 1) value = c[2].item();
    return constant_pad_nd(x, from_last, value);
  }
  check(mode == "reflect" || mode == "edge" || mode == "wrap", "there is no mode '", mode, "'");
  for (std::size_t d = 0; d < before.size(); ++d) {
    const auto axis = static_cast<int64_t>(d);
    if (before[d] == 0 && after[d] == 0) continue;
    check(before[d] + after[d] <= (int64_t{1} << 31), "a pad is too large");
    const auto at = padded_positions(x.size(axis), before[d], after[d], mode);
    x = index_select(x, axis, tensor(at, kLong).to(x.device()));
  }
  return x;
}

Tensor constant_of_shape(Call& c) {
  const std::vector<int64_t> sizes = c.integers(0);
  if (!c.has("value")) return zeros(sizes, TensorOptions(c.device()).dtype(kFloat));
  const Tensor& value = c.tensor("value");
  check(value.numel() == 1, "its value must be one number, got ", value);
  return full(sizes, value.item(), TensorOptions(c.device()).dtype(value.scalar_type()));
}

Tensor range_of(Call& c) {
  for (std::size_t i = 0; i < 3; ++i) check(c[i].numel() == 1, "input ", i, " must be one number, got ", c[i]);
  const Scalar start = c[0].item(), limit = c[1].item(), delta = c[2].item();
  check(delta.toDouble() != 0, "its step is 0");
  const TensorOptions options = TensorOptions(c.device()).dtype(c[0].scalar_type());
  const double count = (limit.toDouble() - start.toDouble()) / delta.toDouble();
  return count <= 0 ? empty({0}, options) : arange(start, limit, delta, options);
}

Tensor tile_of(Call& c) {
  const std::vector<int64_t> repeats = c.integers(1);
  check(static_cast<int64_t>(repeats.size()) == c[0].dim(), "there are ", repeats.size(), " repeats for ", c[0]);
  return repeat(c[0], repeats);
}

}  // namespace

Operators shape_operators() {
  return {
      {"Concat", concat},
      {"ConstantOfShape", constant_of_shape, 0b1, kGrows},
      {"Expand", expand_of, 0b10, kGrows},
      {"Flatten", flatten_of},
      {"Pad", pad_of, 0b1110, kGrows},
      {"Range", range_of, 0b111, kGrows},
      {"Reshape", reshape_of, 0b10},
      {"Shape", shape_of},
      {"Size", [](Call& c) { return full({}, c[0].numel(), kLong); }},
      {"Slice", slice_of, 0b11110},
      {"Split", split_of, 0b10},
      {"Squeeze", squeeze_of, 0b10},
      {"Tile", tile_of, 0b10, kGrows},
      {"Transpose", transpose_of},
      {"Unsqueeze", unsqueeze_of, 0b10},
  };
}

}  // namespace tandem::onnx
