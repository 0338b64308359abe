// Parts of a storage that kernels have written: what they make of its contents.
#include <algorithm>

#include "tandem/autograd/ops.h"
#include "tandem/onnx/export/recorder.h"

namespace tandem::onnx::exporter {

void Recorder::join(Contents& contents) {
  if (contents.written.empty()) return;
  if (!join_parts(contents))
    for (const Part& part : contents.written) join_part(contents, part);
  contents.written.clear();
}

// Parts that lie side by side along one dimension and cover the storage become one Concat.
bool Recorder::join_parts(Contents& contents) {
  std::vector<Part> parts = contents.written;
  if (parts.size() < 2) return false;
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return a.geometry.offset < b.geometry.offset; });
  const Geometry& first = parts[0].geometry;
  const std::size_t rank = first.sizes.size();
  const int64_t apart = parts[1].geometry.offset - first.offset;
  // The dimension along which they lie: one of theirs, or, if each has one element along it, a new one.
  std::size_t along = rank;
  for (std::size_t d = 0; d < rank; ++d)
    if (first.sizes[d] > 1 && first.sizes[d] * first.strides[d] == apart) along = d;
  Geometry all = first;
  if (along == rank) {
    all.sizes.insert(all.sizes.begin(), 1);
    all.strides.insert(all.strides.begin(), apart);
  }
  const std::size_t axis = along == rank ? 0 : along;
  int64_t sum = 0;
  std::vector<Id> values;
  for (const Part& part : parts) {
    const Geometry& g = part.geometry;
    if (g.sizes.size() != rank || g.dtype != first.dtype || g.offset != first.offset + sum * all.strides[axis])
      return false;
    for (std::size_t d = 0; d < rank; ++d) {
      if (d != along && g.sizes[d] != first.sizes[d]) return false;
      if (g.sizes[d] != 1 && g.strides[d] != first.strides[d]) return false;
    }
    sum += along == rank ? 1 : g.sizes[along];
  }
  all.sizes[axis] = sum;
  const auto elements = static_cast<int64_t>(contents.storage->nbytes()) / item_size(first.dtype);
  if (!is_dense(all) || numel_of(all.sizes) != elements) return false;
  for (const Part& part : parts) {
    Ints sizes = part.geometry.sizes;
    if (along == rank) sizes.insert(sizes.begin(), 1);
    values.push_back(reshape(part.value, sizes));
  }
  contents.whole = {all, add("Concat", values, {{"axis", static_cast<int64_t>(axis)}}, all.dtype, all.sizes)};
  return true;
}

std::optional<Scalar> Recorder::fill_of(Id value) const {
  const Node* node = graph_.producer(value);
  if (node == nullptr || node->op != "Expand") return std::nullopt;
  const Value& number = graph_[node->inputs[0]];
  if (number.kind != Value::Kind::kTensor || !number.sizes.empty()) return std::nullopt;
  return number.tensor.item();
}

namespace {

// Whether the positions of an axis are a range.
bool is_range(const Axis& axis) { return axis.index.empty() && (axis.step == 1 || axis.count() == 1); }

Id positions_of(Recorder& r, const Axis& axis, Ints sizes) {
  Ints index = axis.index;
  for (int64_t i = 0; axis.index.empty() && i < axis.count(); ++i) index.push_back(axis.start + i * axis.step);
  return r.constant(index, std::move(sizes));
}

Id sliced(Recorder& r, Id id, std::size_t axis, int64_t begin, int64_t count) {
  Ints sizes = r[id].sizes;
  sizes[axis] = count;
  return r.add("Slice", {id, r.ints({begin}), r.ints({begin + count}), r.ints({static_cast<int64_t>(axis)})}, {},
               r[id].dtype, sizes);
}

// The elements at the positions of an axis.
Id taken(Recorder& r, Id id, std::size_t at, const Axis& axis) {
  if (is_range(axis)) return sliced(r, id, at, axis.start, axis.count());
  Ints sizes = r[id].sizes;
  sizes[at] = axis.count();
  return r.add("Gather", {id, positions_of(r, axis, {axis.count()})}, {{"axis", static_cast<int64_t>(at)}}, r[id].dtype,
               sizes);
}

// `around` with `value` at the positions of an axis.
Id replaced(Recorder& r, Id around, Id value, std::size_t at, const Axis& axis) {
  const Ints sizes = r[around].sizes;
  if (!is_range(axis)) {
    Ints column(sizes.size(), 1);
    column[at] = axis.count();
    const Id positions = r.expand(positions_of(r, axis, column), r[value].sizes);
    return r.add("ScatterElements", {around, positions, value}, {{"axis", static_cast<int64_t>(at)}});
  }
  std::vector<Id> pieces;
  const int64_t end = axis.start + axis.count();
  if (axis.start != 0) pieces.push_back(sliced(r, around, at, 0, axis.start));
  pieces.push_back(value);
  if (end != axis.size) pieces.push_back(sliced(r, around, at, end, axis.size - end));
  return r.add("Concat", pieces, {{"axis", static_cast<int64_t>(at)}}, r[around].dtype, sizes);
}

}  // namespace

// Puts the part over the contents: axis by axis, between its surroundings, or as a Pad of a filled tensor.
void Recorder::join_part(Contents& contents, const Part& part) {
  Part& whole = contents.whole;
  check(whole.value != kNoValue && whole.geometry.dtype == part.geometry.dtype, "onnx::save: the kernel ", kernel_,
        " writes a part of a tensor of another dtype");
  const std::optional<ViewPlan> plan = plan_view(whole.geometry, part.geometry);
  check(plan.has_value(), "onnx::save: the kernel ", kernel_, " writes outside of the tensor that was there");
  Ints frame, counts, pads;
  std::vector<int> order;  // the part's dimensions in the order of the memory
  std::vector<std::size_t> partial;
  for (const Axis& axis : plan->axes) {
    if (!axis.is_whole()) partial.push_back(frame.size());
    frame.push_back(axis.size);
    counts.push_back(axis.count());
    order.insert(order.end(), axis.dims.begin(), axis.dims.end());
  }
  for (std::size_t d = 0; d < part.geometry.sizes.size(); ++d)
    if (std::find(order.begin(), order.end(), static_cast<int>(d)) == order.end()) order.push_back(static_cast<int>(d));
  const Geometry memory = row_major(part.geometry.dtype, frame, whole.geometry.offset);
  Id value = reshape(transpose(part.value, order), counts);
  const std::optional<Scalar> fill = fill_of(whole.value);
  if (fill && std::all_of(plan->axes.begin(), plan->axes.end(), is_range)) {
    for (const Axis& axis : plan->axes) pads.push_back(axis.start);
    for (const Axis& axis : plan->axes) pads.push_back(axis.size - axis.start - axis.count());
    value = add("Pad", {value, ints(pads), number(*fill, memory.dtype)}, {}, memory.dtype, frame);
  } else {
    std::vector<Id> around{derive(whole, memory)};
    for (std::size_t k = 0; k + 1 < partial.size(); ++k)
      around.push_back(taken(*this, around.back(), partial[k], plan->axes[partial[k]]));
    for (std::size_t k = partial.size(); k-- > 0;)
      value = replaced(*this, around[k], value, partial[k], plan->axes[partial[k]]);
  }
  whole = {memory, value};
}

}  // namespace tandem::onnx::exporter
