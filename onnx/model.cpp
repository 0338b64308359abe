#include <algorithm>
#include <ostream>
#include <utility>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/onnx/merge.h"
#include "tandem/onnx/onnx.h"
#include "tandem/onnx/program.h"
#include "tandem/onnx/runner.h"

namespace tandem::onnx {
namespace {

// The tensors whose names begin with the same part: "encoder" of "encoder.layer.0.weight". ModelImpl::reset() creates
// it.
class Part : public nn::Module {
 public:
  Part() : Module("Part") {}

 private:
  void clone_(nn::Module& other, const optional<Device>& device) override { copy_members(other, device); }
};

// Calls put(module, last part) for the module that the parts of the name before it name, and creates it. Returns false,
// without a call, if the parts cannot be names of modules and tensors.
template <class Put>
bool put_into_parts(nn::Module& root, std::string_view name, const Put& put) {
  constexpr std::ptrdiff_t kMaxParts = 64;  // modules recurse into their children
  if (std::count(name.begin(), name.end(), '.') >= kMaxParts) return false;
  for (nn::Module* at = &root;;) {
    const std::size_t dot = name.find('.');
    const std::string part(name.substr(0, dot));
    if (part.empty()) return false;
    const auto children = at->named_children();
    const auto* child = children.find(part);
    const bool taken = at->named_parameters(false).contains(part) || at->named_buffers(false).contains(part);
    if (taken || (dot == name.npos && child != nullptr)) return false;
    if (dot == name.npos) {
      put(*at, part);
      return true;
    }
    at = child != nullptr ? child->get() : at->register_module(part, std::make_shared<Part>()).get();
    name.remove_prefix(dot + 1);
  }
}
// A name for a tensor of the root, which no other one has.
std::string without_dots(std::string name, std::size_t index) {
  std::replace(name.begin(), name.end(), '.', '_');
  return name + "_" + std::to_string(index);
}

Slot slot(const Declared& from) {
  Slot out{from.name, from.dtype, nullopt, from.type};
  if (from.has_sizes) out.sizes = from.sizes;
  return out;
}

void check_input(const Slot& slot, const IValue& value) {
  if (slot.dtype == ScalarType::Undefined) return;
  check(value.isTensor(), "input '", slot.name, "' must be a tensor, ", slot.type, ", got ", value.type_name());
  const Tensor& tensor = value.toTensor();
  check(tensor.defined(), "input '", slot.name, "' is an undefined tensor, expected ", slot.type);
  // A model that was converted to another floating point type takes inputs of that type.
  const bool same_type =
      tensor.scalar_type() == slot.dtype || (isFloatingType(slot.dtype) && isFloatingType(tensor.scalar_type()));
  bool same_sizes = true;
  if (slot.sizes) {
    same_sizes = tensor.dim() == static_cast<int64_t>(slot.sizes->size());
    for (std::size_t i = 0; same_sizes && i < slot.sizes->size(); ++i)
      same_sizes = (*slot.sizes)[i] < 0 || (*slot.sizes)[i] == tensor.size(static_cast<int64_t>(i));
  }
  check(same_type && same_sizes, "input '", slot.name, "' must be ", slot.type, ", got ", tensor);
}

}  // namespace

ModelImpl::ModelImpl(std::shared_ptr<const Program> program, const std::vector<Tensor>& states)
    : Cloneable("Model"),
      program_(std::move(program)),
      states_(states.begin(), states.end()),
      kept_(static_cast<std::size_t>(program_->kept_weights)) {
  for (const Declared& input : program_->graph.inputs) inputs_.push_back(slot(input));
  for (const Declared& output : program_->graph.outputs) outputs_.push_back(slot(output));
  register_states();
  eval();
}

void ModelImpl::reset() {
  for (IValue& state : states_)
    if (state.toTensor().defined()) state = empty_like(state.toTensor().detach());
  register_states();
}

void ModelImpl::register_states() {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const State& state = program_->states[i];
    const Tensor& tensor = states_[i].toTensor();
    if (!tensor.defined()) continue;  // fuse() needed it no more
    const auto put = [&](nn::Module& into, const std::string& name) {
      state.parameter ? into.register_parameter(name, tensor) : into.register_buffer(name, tensor);
    };
    if (!put_into_parts(*this, state.name, put)) put(*this, without_dots(state.name, i));
  }
}

Tensor ModelImpl::first_output(std::vector<IValue> inputs) {
  std::vector<IValue> outputs = forward(std::move(inputs));
  check(!outputs.empty() && outputs[0].isTensor(), "the first output is not a tensor");
  return outputs[0].toTensor();
}

std::vector<IValue> ModelImpl::forward(std::vector<IValue> inputs) {
  check(inputs.size() == inputs_.size(), "expected ", inputs_.size(), " inputs, got ", inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) check_input(inputs_[i], inputs[i]);
  Device device = kCPU;
  for (const IValue& state : states_)
    if (state.toTensor().defined()) {
      device = state.toTensor().device();
      break;
    }
  return Runner(states_, kept_.data(), is_training(), device).run(program_->graph, std::move(inputs));
}

OrderedDict<std::string, IValue> ModelImpl::forward(const OrderedDict<std::string, IValue>& inputs) {
  const auto names = [](const std::vector<Slot>& slots) {
    std::string out;
    for (const Slot& slot : slots) out += (out.empty() ? "'" : ", '") + slot.name + "'";
    return out;
  };
  std::vector<IValue> ordered;
  for (const Slot& slot : inputs_) {
    const IValue* value = inputs.find(slot.name);
    check(value != nullptr, "input '", slot.name, "' is missing; the model has ", names(inputs_));
    ordered.push_back(*value);
  }
  for (const auto& item : inputs)
    check(std::any_of(inputs_.begin(), inputs_.end(), [&](const Slot& slot) { return slot.name == item.key(); }),
          "there is no input '", item.key(), "'; the model has ", names(inputs_));
  std::vector<IValue> values = forward(std::move(ordered));
  OrderedDict<std::string, IValue> out;
  for (std::size_t i = 0; i < outputs_.size(); ++i) out.insert(outputs_[i].name, std::move(values[i]));
  return out;
}

void ModelImpl::fuse(nn::Fuser&) {
  auto merged = std::make_shared<Program>(*program_);
  for (std::size_t i = 0; i < states_.size(); ++i) merged->states[i].tensor = states_[i].toTensor();
  merge(*merged);
  forget_members();
  for (std::size_t i = 0; i < states_.size(); ++i) states_[i] = std::exchange(merged->states[i].tensor, Tensor());
  program_ = std::move(merged);
  kept_ = std::vector<KeptWeight>(static_cast<std::size_t>(program_->kept_weights));
  register_states();
}

void ModelImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::onnx::Model(" << program_->graph.nodes.size() << " nodes";
  for (const Slot& slot : inputs_) stream << ", " << slot.name << ": " << slot.type;
  stream << ')';
}

namespace {
// The module owns the tensors; the program, which its clones share, does not hold them.
Model make(Program program) {
  std::vector<Tensor> states;
  for (State& state : program.states) states.push_back(std::move(state.tensor));
  return Model(std::make_shared<ModelImpl>(std::make_shared<const Program>(std::move(program)), states));
}
}  // namespace

Model load(const std::string& path) { return make(read_program(path)); }
Model parse(const void* data, std::size_t bytes, const std::string& name, const std::string& folder) {
  return make(parse_program(data, bytes, name, folder));
}

}  // namespace tandem::onnx
