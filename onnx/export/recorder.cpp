// The contents of storages during a recording.
#include "tandem/onnx/export/recorder.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"

namespace tandem::onnx::exporter {

Recorder::Contents& Recorder::contents_of(const Tensor& t) {
  Contents& contents = storages_[t.storage().get()];
  if (!contents.storage) contents.storage = t.storage();
  return contents;
}

void Recorder::add_input(const Tensor& t, std::string name) {
  const Geometry geometry = geometry_of(t);
  const Id id = graph_.add(
      {.kind = Value::Kind::kInput, .dtype = geometry.dtype, .sizes = geometry.sizes, .varies = true, .name = name});
  graph_.inputs.push_back(id);
  Contents& contents = contents_of(t);
  contents.constant = false;
  contents.whole = {geometry, id};
}

void Recorder::add_state(const Tensor& t, std::string name) {
  const Geometry geometry = geometry_of(t);
  Contents& contents = contents_of(t);
  for (const Part& part : contents.state)
    if (part.geometry == geometry) return;  // shared
  Value value{.kind = Value::Kind::kTensor, .dtype = geometry.dtype, .sizes = geometry.sizes, .name = std::move(name)};
  value.tensor = alias(t, t.sizes(), t.strides(), t.storage_offset());
  const Id id = graph_.add(std::move(value));
  contents.state.push_back({geometry, id});
  contents.constants.push_back(id);
}

void Recorder::add_output(const Tensor& t) {
  kernel_ = "";
  graph_.outputs.push_back(read(t));
}

Graph Recorder::finish() {
  graph_.remove_unused();
  std::string names;
  for (const std::string& name : graph_.missing) names += concat(names.empty() ? "" : ", ", name);
  check(graph_.missing.empty(), "onnx::save: there is no ONNX operator for ", names);
  // An operation reads lengths and the like without a kernel: the file would always have the examples'.
  std::set<Id> used(graph_.outputs.begin(), graph_.outputs.end());
  for (const Node& node : graph_.nodes) used.insert(node.inputs.begin(), node.inputs.end());
  for (const Id id : graph_.inputs)
    check(isFloatingType(graph_[id].dtype) || used.contains(id), "onnx::save: no kernel reads the integers of ",
          graph_[id].name,
          ": the module reads them on the host, which an ONNX file cannot say, or not at all; then "
          "leave them out of the inputs");
  return std::move(graph_);
}

void Recorder::called(const KernelCall& call) {
  kernel_ = call.name;
  if (const Translation translate = find_translation(call)) return translate(*this, call);
  for (const char* random :
       {"uniform_", "normal_", "exponential_", "bernoulli_", "random_", "multinomial", "poisson", "binomial"})
    check(std::strcmp(random, call.name) != 0, "onnx::save: the module draws random numbers (the kernel ", call.name,
          "), as dropout does in training mode: put it into eval mode, or take them as an input");
  lack(call.name);
}

void Recorder::read_on_host(const Tensor& t, const char* reader) {
  if (!graph_[read(t)].varies) return;
  fail("onnx::save: ", reader,
       "() reads a value that is computed from the inputs, so what the module does depends on "
       "it: an ONNX file has no such choice. The tensor is ",
       t);
}

// ---- reading

namespace {

// The dimensions with negative strides, which only flips have.
std::vector<int64_t> backward_dims(const Tensor& t) {
  std::vector<int64_t> dims;
  for (std::size_t d = 0; d < t.strides().size(); ++d)
    if (t.strides()[d] < 0) dims.push_back(static_cast<int64_t>(d));
  return dims;
}
// The same elements with positive strides.
Tensor turned(const Tensor& t, const std::vector<int64_t>& dims) {
  Dims strides(t.strides());
  int64_t offset = t.storage_offset();
  for (const int64_t d : dims) {
    offset += (t.size(d) - 1) * t.stride(d);
    strides[static_cast<std::size_t>(d)] = -t.stride(d);
  }
  return alias(t, t.sizes(), strides, offset);
}

}  // namespace

Id Recorder::flip(Id value, const std::vector<int64_t>& dims) {
  const std::vector<int64_t> last(dims.size(), -1), end(dims.size(), std::numeric_limits<int64_t>::min());
  return add("Slice", {value, ints(last), ints(end), ints(dims), ints(last)});
}

Id Recorder::read(const Tensor& t) {
  if (const std::vector<int64_t> dims = backward_dims(t); !dims.empty() && t.numel() != 0)
    return flip(read(turned(t, dims)), dims);
  check(!t.is_complex(), "onnx::save: ONNX has no operators for complex numbers, which the kernel ", kernel_, " reads");
  const Geometry geometry = geometry_of(t);
  Contents& contents = contents_of(t);
  if (t.numel() == 0) return filled(0, geometry.dtype, geometry.sizes);
  for (const Part& part : contents.views)
    if (part.geometry == geometry) return part.value;
  Id id = kNoValue;
  if (contents.constant) {
    id = read_constant(contents, t, geometry);
  } else {
    // A part that was just written is read as it is.
    for (std::size_t i = contents.written.size(); i-- > 0;)
      if (contents.written[i].geometry == geometry && i + 1 == contents.written.size())
        return contents.written[i].value;
    join(contents);
    check(contents.whole.geometry.dtype == geometry.dtype, "onnx::save: the kernel ", kernel_, " reads ",
          contents.whole.geometry.dtype, " as ", geometry.dtype);
    if (contents.whole.value != kNoValue) id = derive(contents.whole, geometry);
    if (id == kNoValue && !graph_.missing.empty())
      id = filled(0, geometry.dtype, geometry.sizes);  // reported at the end
    check(id != kNoValue, "onnx::save: the kernel ", kernel_, " reads elements that nothing has written: ", t);
  }
  contents.views.push_back({geometry, id});
  return id;
}

Id Recorder::read(const Tensor& t, Ints sizes) {
  return read(alias(t, sizes, contiguous_strides(sizes), t.storage_offset()));
}

const Recorder::Part* Recorder::whole_of(const Tensor& t) {
  Contents& contents = contents_of(t);
  if (contents.constant || t.numel() == 0 || !t.is_contiguous()) return nullptr;
  join(contents);
  const Geometry& g = contents.whole.geometry;
  const bool same = contents.whole.value != kNoValue && g.dtype == t.scalar_type() && g.offset == t.storage_offset() &&
                    numel_of(g.sizes) == t.numel() && g == row_major(g.dtype, g.sizes, g.offset);
  return same ? &contents.whole : nullptr;
}

Id Recorder::read_constant(Contents& from, const Tensor& t, const Geometry& geometry) {
  for (const Part& part : from.state)
    if (part.geometry == geometry) return part.value;
  for (const Part& part : from.state)
    if (part.geometry.dtype == geometry.dtype && is_dense(part.geometry))
      if (const Id id = derive(part, geometry); id != kNoValue) return id;
  Ints once = geometry.sizes;  // without repeated elements
  for (std::size_t d = 0; d < once.size(); ++d)
    if (geometry.strides[d] == 0) once[d] = 1;
  const Id id = graph_.add({.kind = Value::Kind::kTensor,
                            .dtype = geometry.dtype,
                            .sizes = once,
                            .tensor = alias(t, once, t.strides(), t.storage_offset())});
  from.constants.push_back(id);
  return expand(id, geometry.sizes);
}

Tensor Recorder::as_stored(const Tensor& t) {
  const Contents& contents = contents_of(t);
  const ScalarType dtype = contents.whole.geometry.dtype;
  if (contents.constant || contents.whole.value == kNoValue || dtype == t.scalar_type() ||
      item_size(dtype) != t.element_size())
    return {};
  return alias_as(t, dtype, t.sizes(), t.strides(), t.storage_offset());
}

// ---- writing

// The constants that use the memory get copies of it.
void Recorder::begin_writing(Contents& to, const Geometry& geometry) {
  to.views.clear();
  to.offsets.reset();
  if (!to.constant) return;
  to.constant = false;
  NoGradGuard no_grad;
  for (const Id id : to.constants) graph_[id].tensor = graph_[id].tensor.clone();
  const auto elements = static_cast<int64_t>(to.storage->nbytes()) / item_size(geometry.dtype);
  if (is_dense(geometry) && numel_of(geometry.sizes) == elements) return;
  if (to.state.size() == 1 && is_dense(to.state[0].geometry) && numel_of(to.state[0].geometry.sizes) == elements) {
    to.whole = to.state[0];
    return;
  }
  const Geometry all = row_major(geometry.dtype, {elements});
  const Tensor bytes = zeros({elements}, TensorOptions(geometry.dtype));
  if (to.storage->device().is_cpu()) std::memcpy(bytes.data_ptr(), to.storage->data(), bytes.nbytes());
  to.whole = {all, constant(bytes)};
}

void Recorder::write(const Tensor& out, Id value) {
  check(!out.is_complex(), "onnx::save: ONNX has no operators for complex numbers, which the kernel ", kernel_,
        " writes");
  if (out.numel() == 0) return;
  if (const std::vector<int64_t> dims = backward_dims(out); !dims.empty())
    return write(turned(out, dims), flip(reshape(value, Ints(out.sizes().begin(), out.sizes().end())), dims));
  Geometry geometry = geometry_of(out);
  if (graph_[value].sizes != geometry.sizes) {
    if (out.is_contiguous())
      geometry = row_major(geometry.dtype, graph_[value].sizes, geometry.offset);
    else
      value = reshape(value, geometry.sizes);
  }
  Contents& contents = contents_of(out);
  begin_writing(contents, geometry);
  const auto elements = static_cast<int64_t>(contents.storage->nbytes()) / item_size(geometry.dtype);
  if (is_dense(geometry) && (numel_of(geometry.sizes) == elements ||
                             (contents.whole.value != kNoValue && geometry.offset == contents.whole.geometry.offset &&
                              numel_of(geometry.sizes) == numel_of(contents.whole.geometry.sizes)))) {
    contents.written.clear();
    contents.whole = {std::move(geometry), value};
    return;
  }
  std::erase_if(contents.written, [&](const Part& part) { return part.geometry == geometry; });
  contents.written.push_back({std::move(geometry), value});
}

void Recorder::skip(const Tensor& out) {
  if (!out.defined()) return;
  Contents& contents = contents_of(out);
  begin_writing(contents, geometry_of(out));
  contents.whole = {geometry_of(out), kNoValue};
  contents.written.clear();
}

void Recorder::lack(const std::string& what) {
  if (std::find(graph_.missing.begin(), graph_.missing.end(), what) == graph_.missing.end())
    graph_.missing.push_back(what);
}

void Recorder::note_offsets(const Tensor& out, Offsets offsets) {
  Contents& contents = contents_of(out);
  begin_writing(contents, geometry_of(out));
  contents.offsets = std::move(offsets);
}
const Recorder::Offsets* Recorder::offsets_in(const Tensor& t) const {
  const auto found = storages_.find(t.storage().get());
  return found == storages_.end() || !found->second.offsets ? nullptr : &*found->second.offsets;
}

}  // namespace tandem::onnx::exporter
