// Module: state dicts and cloning. load_state_dict writes values only after checking every name and shape.
#include "tandem/autograd/grad_mode.h"
#include "tandem/nn/files/archive.h"
#include "tandem/nn/module.h"

namespace tandem::nn {
namespace {

constexpr std::string_view kWrapped = "module.";

// The entry for `name` in `state`, or nullptr.
const Tensor* find(const OrderedDict<std::string, Tensor>& state, const std::string& name, bool wrapped) {
  return state.find(wrapped ? std::string(kWrapped) + name : name);
}

// Whether every name in `state` starts with "module." and none in the module does.
bool is_wrapped(const OrderedDict<std::string, Tensor>& state, const OrderedDict<std::string, Tensor>& own) {
  for (const auto& item : state)
    if (!item.key().starts_with(kWrapped)) return false;
  for (const auto& item : own)
    if (item.key().starts_with(kWrapped)) return false;
  return !state.is_empty();
}

void list(std::string& out, const char* title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  out += title;
  for (const std::string& line : lines) out += "\n    " + line;
}

}  // namespace

OrderedDict<std::string, Tensor> Module::state_dict() const {
  OrderedDict<std::string, Tensor> out("Entry");
  apply([&out](const std::string& prefix, const Module& module) {
    for (const auto* tensors : {&module.parameters_, &module.buffers_})
      for (const auto& item : *tensors)
        if (item.value().defined())
          out.insert(prefix.empty() ? item.key() : prefix + "." + item.key(), item.value().detach());
  });
  return out;
}

LoadResult Module::load_state_dict(const OrderedDict<std::string, Tensor>& state, bool strict) {
  const auto own = state_dict();
  const bool wrapped = is_wrapped(state, own);
  LoadResult result;
  std::vector<std::string> mismatched;
  for (const auto& item : own) {
    const Tensor* from = find(state, item.key(), wrapped);
    if (from == nullptr || !from->defined())
      result.missing_keys.push_back(item.key());
    else if (from->sizes() != item.value().sizes())
      mismatched.push_back(
          concat(item.key(), ": is ", item.value().sizes(), " here, ", from->sizes(), " in the state dict"));
  }
  for (const auto& item : state)
    if (!own.contains(wrapped ? item.key().substr(kWrapped.size()) : item.key()))
      result.unexpected_keys.push_back(item.key());

  if (!mismatched.empty() || (strict && !(result.missing_keys.empty() && result.unexpected_keys.empty()))) {
    std::string text = "load_state_dict: the state dict does not match " + name();
    if (strict) list(text, "\n  missing:", result.missing_keys);
    if (strict) list(text, "\n  unexpected:", result.unexpected_keys);
    list(text, "\n  shape mismatch:", mismatched);
    fail(text);
  }
  NoGradGuard no_grad;
  for (const auto& item : own)
    if (const Tensor* from = find(state, item.key(), wrapped); from != nullptr && from->defined())
      Tensor(item.value()).copy_(from->detach());
  return result;
}

namespace {

void copy_values(const OrderedDict<std::string, Tensor>& from, OrderedDict<std::string, Tensor>& to,
                 const optional<Device>& device) {
  for (const auto& item : from) {
    Tensor& target = to[item.key()];
    if (!item.value().defined()) continue;
    const Tensor& source = item.value();
    const Tensor values = source.detach().to(device.value_or(source.device()), source.dtype(), false, true);
    if (target.defined() && !target.is_same(source))
      target.set_data(values);
    else
      target = values;
    if (target.requires_grad() != source.requires_grad()) target.requires_grad_(source.requires_grad());
  }
}

}  // namespace

void Module::forget_members() {
  parameters_.clear();
  buffers_.clear();
  children_.clear();
}

void Module::copy_members(const Module& from, const optional<Device>& device) {
  check(parameters_.size() == from.parameters_.size() && buffers_.size() == from.buffers_.size() &&
            children_.size() == from.children_.size(),
        "clone: the copy of ", from.name(),
        " has different parameters, buffers or children; register all of them in reset(), not in the ",
        "constructor");
  copy_values(from.parameters_, parameters_, device);
  copy_values(from.buffers_, buffers_, device);
  for (const auto& child : from.children_) children_[child.key()]->clone_(*child.value(), device);
}

void Module::differs_from(const Module& other) const {
  fail("clone: child modules differ in type: ", name(), " and ", other.name());
}

void Module::save(serialize::OutputArchive& archive) const {
  for (const auto& item : state_dict()) archive.write(item.key(), item.value());
}
void Module::load(serialize::InputArchive& archive) { load_state_dict(archive.tensors()); }

}  // namespace tandem::nn
