#include "tandem/onnx/runner.h"

#include "tandem/core/backend/kernel_recorder.h"
#include "tandem/core/profile.h"

#include <algorithm>
#include <numeric>

#include "tandem/onnx/proto.h"

namespace tandem::onnx {
namespace {

const IValue kNothing;

}  // namespace

int64_t wrap_axis(int64_t axis, int64_t rank) {
  check(axis >= -rank && axis < rank, "axis ", axis, " is out of range for ", rank, " dimensions");
  return axis < 0 ? axis + rank : axis;
}

std::vector<int64_t> dims_of(const Tensor& t, int64_t first) {
  std::vector<int64_t> dims(static_cast<std::size_t>(t.dim() - first));
  std::iota(dims.begin(), dims.end(), first);
  return dims;
}

Dims line(std::size_t rank, std::size_t dim, int64_t size) {
  Dims sizes(rank, 1);
  sizes[dim] = size;
  return sizes;
}

std::vector<Tensor> on_one_device(std::vector<Tensor> tensors) {
  const auto other = std::find_if(tensors.begin(), tensors.end(), [](const Tensor& t) { return !t.is_cpu(); });
  if (other == tensors.end()) return tensors;
  const Device device = other->device();
  for (Tensor& t : tensors) t = t.to(device);
  return tensors;
}

// ---- Call

Call::Call(Runner& runner, Frame& frame, const Node& node) : runner_(runner), frame_(frame), node_(node) {
  inputs_.reserve(node.inputs.size());
  bool differ = false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    inputs_.push_back(node.inputs[i] < 0 ? &kNothing : &runner.value(frame, node.inputs[i]));
    if (!inputs_[i]->isTensor() || on_host(i)) continue;
    const Device device = inputs_[i]->toTensor().device();
    differ = differ || (device_ && device != *device_);
    if (!device_ || *device_ == Device(kCPU, 0)) device_ = device;
  }
  if (!differ || node.run == nullptr) return;
  // Constants and shapes are on the CPU until they meet the tensors of another device.
  moved_.reserve(inputs_.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (on_host(i) || !inputs_[i]->isTensor() || inputs_[i]->toTensor().device() == *device_) continue;
    moved_.emplace_back(inputs_[i]->toTensor().to(*device_));
    inputs_[i] = &moved_.back();
  }
}

bool Call::on_host(std::size_t input) const {
  return node_.run != nullptr && input < 32 && (node_.run->host >> input & 1) != 0;
}
Device Call::device() const { return device_ ? *device_ : runner_.device(); }

bool Call::has(std::size_t input) const { return input < inputs_.size() && !inputs_[input]->isNone(); }
bool Call::is_constant(std::size_t input) const {
  return has(input) && frame_.graph.source(node_.inputs[input]).kind == Source::kConstant;
}
const IValue& Call::value(std::size_t input) const { return input < inputs_.size() ? *inputs_[input] : kNothing; }
const Tensor& Call::operator[](std::size_t input) const {
  check(has(input), "input ", input, " is missing");
  check(inputs_[input]->isTensor(), "input ", input, " is not a tensor");
  return inputs_[input]->toTensor();
}
std::vector<Tensor> Call::sequence(std::size_t input) const {
  check(value(input).isTensorList(), "input ", input, " is not a sequence");
  return value(input).toTensorVector();
}
std::vector<Tensor> Call::tensors() const {
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < size(); ++i) out.push_back((*this)[i]);
  return out;
}
std::vector<int64_t> Call::integers(std::size_t input) const {
  const Tensor& t = (*this)[input];
  check(t.dim() <= 1 && isIntegralType(t.scalar_type(), true), "input ", input, " must be a list of integers, got ", t);
  note_read(t);
  const Tensor list = t.to(kCPU, kLong).contiguous();
  const auto* data = static_cast<const int64_t*>(list.data_ptr());
  return {data, data + list.numel()};
}
int64_t Call::integer(std::size_t input) const {
  const std::vector<int64_t> list = integers(input);
  check(list.size() == 1, "input ", input, " must be one integer, got ", list.size());
  return list[0];
}
double Call::number(std::size_t input) const {
  const Tensor& t = (*this)[input];
  check(t.numel() == 1 && !t.is_complex(), "input ", input, " must be one number, got ", t);
  return t.item<double>();
}

std::vector<double> Call::values(const Tensor& t) {
  note_read(t);
  const Tensor host = t.to(kCPU, kDouble).contiguous();
  const auto* data = static_cast<const double*>(host.data_ptr());
  return {data, data + host.numel()};
}
void Call::note_read(const Tensor& t) {
  if (profiler::is_on()) [[unlikely]]
    tandem::detail::note_host_read(t, "an operator of an imported model");
}

template <class T>
const T* Call::get(std::string_view attribute, const char* type) const {
  const Attribute* found = node_.attribute(attribute);
  if (found == nullptr) return nullptr;
  const T* value = std::get_if<T>(found);
  check(value != nullptr, "attribute '", attribute, "' is no ", type);
  return value;
}
namespace {
template <class T>
const T& required(const T* value, std::string_view attribute) {
  check(value != nullptr, "attribute '", attribute, "' is missing");
  return *value;
}
}  // namespace
int64_t Call::integer(std::string_view attribute) const {
  return required(get<int64_t>(attribute, "integer"), attribute);
}
int64_t Call::integer(std::string_view attribute, int64_t otherwise) const {
  const auto* value = get<int64_t>(attribute, "integer");
  return value == nullptr ? otherwise : *value;
}
double Call::number(std::string_view attribute) const { return required(get<double>(attribute, "number"), attribute); }
double Call::number(std::string_view attribute, double otherwise) const {
  const auto* value = get<double>(attribute, "number");
  return value == nullptr ? otherwise : *value;
}
std::string Call::text(std::string_view attribute, const char* otherwise) const {
  const auto* value = get<std::string>(attribute, "text");
  return value == nullptr ? otherwise : *value;
}
std::vector<int64_t> Call::integers(std::string_view attribute) const {
  const auto* value = get<std::vector<int64_t>>(attribute, "list of integers");
  return value == nullptr ? std::vector<int64_t>() : *value;
}
std::vector<double> Call::numbers(std::string_view attribute) const {
  const auto* value = get<std::vector<double>>(attribute, "list of numbers");
  return value == nullptr ? std::vector<double>() : *value;
}
std::vector<std::string> Call::texts(std::string_view attribute) const {
  const auto* value = get<std::vector<std::string>>(attribute, "list of texts");
  return value == nullptr ? std::vector<std::string>() : *value;
}
const Tensor& Call::tensor(std::string_view attribute) const {
  return required(get<Tensor>(attribute, "tensor"), attribute);
}
const Graph& Call::graph(std::string_view attribute) const {
  return *required(get<std::shared_ptr<Graph>>(attribute, "graph"), attribute);
}

ScalarType Call::dtype(std::string_view attribute, ScalarType otherwise) const {
  const int64_t number = integer(attribute, 0);
  if (number == 0) return otherwise;
  const int type = static_cast<int>(std::clamp<int64_t>(number, INT32_MIN, INT32_MAX));
  const ScalarType dtype = dtype_of(type);
  check(dtype != ScalarType::Undefined, "there is no dtype ", type_name(type));
  return dtype;
}

KeptWeight* Call::kept() const { return runner_.kept(node_); }
bool Call::training() const { return runner_.training(); }
std::vector<IValue> Call::run(const Graph& body, std::vector<IValue> inputs) const {
  return runner_.run_body(body, frame_, std::move(inputs));
}

// ---- Runner

const IValue& Runner::value(const Frame& frame, int value) const {
  const auto at = static_cast<std::size_t>(value);
  const Source& source = frame.graph.sources[at];
  if (source.kind == Source::kComputed) return frame.values[at];
  return source.kind == Source::kConstant ? source.constant : states_[static_cast<std::size_t>(source.state)];
}

Results Runner::call(const Node& node, Frame& frame) {
  Call call(*this, frame, node);
  if (node.run != nullptr) return node.run->run(call);
  std::vector<IValue> inputs;
  for (std::size_t i = 0; i < call.size(); ++i) inputs.push_back(call.value(i));
  inputs.resize(node.body->inputs.size());
  return run_body(*node.body, frame, std::move(inputs));
}

std::vector<IValue> Runner::execute(Frame& frame, std::vector<IValue> inputs) {
  const Graph& graph = frame.graph;
  check(inputs.size() == graph.input_values.size(), "expected ", graph.input_values.size(), " inputs, got ",
        inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    frame.values[static_cast<std::size_t>(graph.input_values[i])] = std::move(inputs[i]);
  for (const Node& node : graph.nodes) {
    try {
      Results results = call(node, frame);
      check(results.size() >= node.outputs.size(), "it has ", results.size(), " outputs, the model reads ",
            node.outputs.size());
      for (std::size_t i = 0; i < node.outputs.size(); ++i)
        if (node.outputs[i] >= 0) frame.values[static_cast<std::size_t>(node.outputs[i])] = std::move(results[i]);
    } catch (Error& error) {
      ErrorPlace place = error.place();
      place.outside =
          (node.name.empty() ? node.op : "node '" + node.name + "' (" + node.op + ")") + ": " + place.outside;
      error.set_place(std::move(place));
      throw;
    }
    for (const int value : node.released) frame.values[static_cast<std::size_t>(value)] = IValue();
  }
  std::vector<IValue> out;
  out.reserve(graph.output_values.size());
  for (const int output : graph.output_values) out.push_back(value(frame, output));
  return out;
}

std::vector<IValue> Runner::run(const Graph& graph, std::vector<IValue> inputs) {
  Frame frame{graph, std::vector<IValue>(graph.sources.size())};
  std::vector<IValue> out = execute(frame, std::move(inputs));
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!out[i].isTensor()) continue;
    if (graph.laid_out && out[i].toTensor().defined()) out[i] = out[i].toTensor().contiguous();
    // The caller may write to a result, but not to the program.
    if (graph.source(graph.output_values[i]).kind == Source::kConstant) out[i] = out[i].toTensor().clone();
  }
  return out;
}
std::vector<IValue> Runner::run_body(const Graph& body, const Frame& around, std::vector<IValue> inputs) {
  Frame frame{body, std::vector<IValue>(body.sources.size())};
  for (const auto& [outer, inner] : body.captures) frame.values[static_cast<std::size_t>(inner)] = value(around, outer);
  return execute(frame, std::move(inputs));
}

}  // namespace tandem::onnx
