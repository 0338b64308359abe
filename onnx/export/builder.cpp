// Adding nodes to the graph of a recording: views, constants, and what translations share.
#include <algorithm>

#include "tandem/autograd/ops.h"
#include "tandem/onnx/elementwise.h"
#include "tandem/onnx/export/recorder.h"
#include "tandem/onnx/proto.h"

namespace tandem::onnx::exporter {

std::vector<Id> Recorder::add_many(const std::string& op, std::vector<Id> inputs, Attributes attributes,
                                   std::vector<std::pair<ScalarType, Ints>> outputs) {
  Node node{.op = op, .inputs = std::move(inputs), .attributes = std::move(attributes), .kernel = kernel_};
  const bool varies =
      std::any_of(node.inputs.begin(), node.inputs.end(), [&](Id id) { return id != kNoValue && graph_[id].varies; });
  for (auto& [dtype, sizes] : outputs)
    node.outputs.push_back(graph_.add(
        {.dtype = dtype, .sizes = std::move(sizes), .varies = varies, .node = static_cast<int>(graph_.nodes.size())}));
  graph_.nodes.push_back(std::move(node));
  return graph_.nodes.back().outputs;
}
Id Recorder::add(const std::string& op, std::vector<Id> inputs, Attributes attributes, ScalarType dtype, Ints sizes) {
  return add_many(op, std::move(inputs), std::move(attributes), {{dtype, std::move(sizes)}})[0];
}
Id Recorder::add(const std::string& op, std::vector<Id> inputs, Attributes attributes, const Tensor& like) {
  return add(op, std::move(inputs), std::move(attributes), like.scalar_type(),
             {like.sizes().begin(), like.sizes().end()});
}
Id Recorder::add(const std::string& op, std::vector<Id> inputs, Attributes attributes) {
  const Value& like = graph_[inputs[0]];
  return add(op, std::move(inputs), std::move(attributes), like.dtype, like.sizes);
}
std::vector<Id> Recorder::call_many(const std::string& function, std::vector<Id> inputs, Attributes attributes,
                                    std::vector<std::pair<ScalarType, Ints>> outputs) {
  std::vector<Id> ids = add_many(function, std::move(inputs), std::move(attributes), std::move(outputs));
  graph_.nodes.back().domain = kDomain;
  return ids;
}
Id Recorder::call(const std::string& function, std::vector<Id> inputs, Attributes attributes, ScalarType dtype,
                  Ints sizes) {
  return call_many(function, std::move(inputs), std::move(attributes), {{dtype, std::move(sizes)}})[0];
}

Id Recorder::call(const std::string& function, std::vector<Id> inputs, Attributes attributes, const Tensor& like) {
  return call(function, std::move(inputs), std::move(attributes), like.scalar_type(),
              {like.sizes().begin(), like.sizes().end()});
}

// Never shared: lists that are equal for this batch size may differ for another.
Id Recorder::ints(Ints values) {
  const auto count = static_cast<int64_t>(values.size());
  return graph_.add({.kind = Value::Kind::kInts, .dtype = kLong, .sizes = {count}, .ints = std::move(values)});
}
Id Recorder::constant(const Tensor& t) {
  return graph_.add({.kind = Value::Kind::kTensor,
                     .dtype = t.scalar_type(),
                     .sizes = Ints(t.sizes().begin(), t.sizes().end()),
                     .tensor = t});
}
Id Recorder::constant(const Ints& values, Ints sizes) {
  const Tensor t = empty(sizes, TensorOptions(kLong));
  std::copy(values.begin(), values.end(), t.data_ptr<int64_t>());
  return constant(t);
}
Id Recorder::number(const Scalar& value, ScalarType dtype) { return constant(full({}, value, TensorOptions(dtype))); }
Id Recorder::filled(const Scalar& value, ScalarType dtype, Ints sizes) {
  const Id id = number(value, dtype);
  return sizes.empty() ? id : add("Expand", {id, ints(sizes)}, {}, dtype, sizes);
}

Id Recorder::cast(Id value, ScalarType dtype) {
  if (graph_[value].dtype == dtype) return value;
  return add("Cast", {value}, {{"to", int64_t{data_type_of(dtype)}}}, dtype, graph_[value].sizes);
}
Id Recorder::reshape(Id value, Ints sizes) {
  if (graph_[value].sizes == sizes) return value;
  const Node* node = graph_.producer(value);
  if (node != nullptr && node->op == "Reshape" && node->domain.empty()) return reshape(node->inputs[0], sizes);
  const Id shape = ints(sizes);
  return add("Reshape", {value, shape}, {}, graph_[value].dtype, std::move(sizes));
}
Id Recorder::transpose(Id value, const std::vector<int>& order) {
  if (std::is_sorted(order.begin(), order.end())) return value;
  Ints sizes;
  for (const int d : order) sizes.push_back(graph_[value].sizes[static_cast<std::size_t>(d)]);
  return add("Transpose", {value}, {{"perm", Ints(order.begin(), order.end())}}, graph_[value].dtype, sizes);
}
Id Recorder::expand(Id value, Ints sizes) {
  const Ints before = graph_[value].sizes;
  if (before == sizes) return value;
  Ints shape = sizes;  // 1 keeps a size, whatever it is
  for (std::size_t d = 1; d <= before.size(); ++d)
    if (before[before.size() - d] == sizes[sizes.size() - d]) shape[sizes.size() - d] = 1;
  return add("Expand", {value, ints(shape)}, {}, graph_[value].dtype, sizes);
}

Id Recorder::view(Id value, const Geometry& geometry) {
  return derive({row_major(graph_[value].dtype, graph_[value].sizes), value}, geometry);
}

namespace {

// A dimension of what has been cut out, and the dimension of the view that it is; -1: none.
struct Dim {
  int64_t size;
  int of_view;
};

}  // namespace

// kNoValue if `view` is outside of `from`.
Id Recorder::derive(const Part& from, const Geometry& view) {
  if (from.geometry == view) return from.value;
  if (from.geometry.dtype != view.dtype) return kNoValue;
  if (same_elements(from.geometry, view)) return reshape(from.value, view.sizes);
  const std::optional<ViewPlan> plan = plan_view(from.geometry, view);
  if (!plan) return kNoValue;
  Ints frame, starts, ends, axes, steps, sizes;
  bool strided = false;
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < plan->axes.size(); ++i) {
    const Axis& axis = plan->axes[i];
    frame.push_back(axis.size);
    sizes.push_back(axis.size);
    for (std::size_t k = 0; k < axis.dims.size(); ++k) dims.push_back({axis.counts[k], axis.dims[k]});
    if (axis.dims.empty()) dims.push_back({1, -1});
    if (axis.is_whole() || !axis.index.empty()) continue;
    starts.push_back(axis.start);
    ends.push_back(axis.start + (axis.count() - 1) * axis.step + 1);
    axes.push_back(static_cast<int64_t>(i));
    steps.push_back(axis.step);
    strided = strided || axis.step != 1;
    sizes[i] = axis.count();
  }
  Id value = reshape(transpose(from.value, plan->to_memory), frame);
  if (!axes.empty()) {
    std::vector<Id> inputs{value, ints(starts), ints(ends), ints(axes)};
    if (strided) inputs.push_back(ints(steps));
    value = add("Slice", inputs, {}, view.dtype, sizes);
  }
  for (std::size_t i = plan->axes.size(); i-- > 0;) {
    const Axis& axis = plan->axes[i];
    if (axis.index.empty()) continue;
    Ints after = graph_[value].sizes;
    after.erase(after.begin() + static_cast<std::ptrdiff_t>(i));
    after.insert(after.begin() + static_cast<std::ptrdiff_t>(i), axis.counts.begin(), axis.counts.end());
    value = add("Gather", {value, constant(axis.index, axis.counts)}, {{"axis", static_cast<int64_t>(i)}}, view.dtype,
                after);
  }
  std::vector<int> order(dims.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  const auto of_view = [&](int i) { return dims[static_cast<std::size_t>(i)].of_view; };
  std::vector<int> kept = order;
  std::erase_if(kept, [&](int i) { return of_view(i) < 0; });
  if (!std::is_sorted(kept.begin(), kept.end(), [&](int a, int b) { return of_view(a) < of_view(b); })) {
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      const auto rank = [&](int i) { return of_view(i) < 0 ? kMaxDims : of_view(i); };
      return rank(a) < rank(b);
    });
    value = transpose(value, order);
  }
  Ints once = view.sizes;
  for (std::size_t d = 0; d < once.size(); ++d)
    if (view.strides[d] == 0) once[d] = 1;
  return expand(reshape(value, once), view.sizes);
}

}  // namespace tandem::onnx::exporter
