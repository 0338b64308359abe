// Module: registration, enumeration, modes, conversion.
#include "tandem/nn/module.h"

#include <algorithm>
#include <mutex>
#include <typeindex>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>

#include "tandem/autograd/grad_mode.h"
#include "tandem/core/memory_format.h"
#include "tandem/core/threads/of_thread.h"
#include "tandem/nn/any_value.h"
#include "tandem/nn/call.h"
#include "tandem/nn/printed_names.h"

namespace tandem::nn {
namespace {

std::string join(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

struct SpanNames : std::unordered_map<std::type_index, std::string> {};

}  // namespace

Module::Module() : parameters_("Parameter"), buffers_("Buffer"), children_("Submodule") {}
Module::Module(std::string name) : Module() { name_ = std::move(name); }
Module::Module(const Module& other) : Module() { *this = other; }

const std::string& detail::span_name(const Module& module) {
  std::string& name = tandem::detail::of_thread<SpanNames>()[typeid(module)];
  if (!name.empty()) return name;
  const std::string type = type_name(typeid(module));
  const std::size_t end = std::min(type.find('<'), type.size()), colons = type.rfind("::", end);
  name = type.substr(colons == std::string::npos ? 0 : colons + 2);
  if (name.size() > 4 && name.ends_with("Impl")) name.resize(name.size() - 4);
  return name;
}

// Cached per type, not in the module: several threads may call this on one module, as errors in forward do.
const std::string& Module::name() const {
  if (name_) return *name_;
  static std::mutex mutex;
  static auto* const names = new std::unordered_map<std::type_index, std::string>;  // never destroyed
  const std::lock_guard lock(mutex);
  std::string& name = (*names)[typeid(*this)];
  if (name.empty()) name = detail::with_printed_names(detail::type_name(typeid(*this)));
  return name;
}

std::shared_ptr<Module> Module::clone(const optional<Device>&) const {
  fail("clone() has not been implemented for ", name(), ". Derive from nn::Cloneable<", name(),
       "> instead of nn::Module and build the module in reset() to make it cloneable");
}
void Module::clone_(Module&, const optional<Device>&) {}

std::shared_ptr<Module> Module::shared() const {
  auto self = std::const_pointer_cast<Module>(weak_from_this().lock());
  check(self != nullptr,
        "It looks like you attempted to retrieve your top-level module as a shared_ptr, but it is not owned by one: "
        "create ",
        name(), " with std::make_shared, or exclude it (include_self = false)");
  return self;
}

OrderedDict<std::string, Tensor> Module::named_tensors(const char* kind,
                                                       OrderedDict<std::string, Tensor> Module::*tensors,
                                                       bool recurse) const {
  OrderedDict<std::string, Tensor> out(kind);
  std::unordered_set<const TensorImpl*> seen;
  const auto add = [&](const std::string& prefix, const Module& module) {
    for (const auto& t : module.*tensors)
      if (t->defined() && seen.insert(t->impl()).second) out.insert(join(prefix, t.key()), t.value());
  };
  recurse ? apply(add) : add({}, *this);
  return out;
}
OrderedDict<std::string, Tensor> Module::named_parameters(bool recurse) const {
  return named_tensors("Parameter", &Module::parameters_, recurse);
}
std::vector<Tensor> Module::parameters(bool recurse) const { return named_parameters(recurse).values(); }

OrderedDict<std::string, Tensor> Module::named_buffers(bool recurse) const {
  return named_tensors("Buffer", &Module::buffers_, recurse);
}
std::vector<Tensor> Module::buffers(bool recurse) const { return named_buffers(recurse).values(); }

OrderedDict<std::string, std::shared_ptr<Module>> Module::named_modules(const std::string& name_prefix,
                                                                        bool include_self) const {
  OrderedDict<std::string, std::shared_ptr<Module>> out("Submodule");
  const auto add = [&out](const std::string& name, const std::shared_ptr<Module>& module) { out.insert(name, module); };
  auto& self = const_cast<Module&>(*this);
  if (include_self)
    self.apply(add, name_prefix);
  else
    for (const auto& child : children_) child.value()->apply(add, join(name_prefix, child.key()));
  return out;
}
std::vector<std::shared_ptr<Module>> Module::modules(bool include_self) const {
  return named_modules({}, include_self).values();
}
std::vector<std::shared_ptr<Module>> Module::children() const { return children_.values(); }
OrderedDict<std::string, std::shared_ptr<Module>> Module::named_children() const { return children_; }

void Module::train(bool on) {
  for (auto& child : children_) child.value()->train(on);
  is_training_ = on;
}

void Module::zero_grad(bool set_to_none) {
  NoGradGuard no_grad;
  for (const Tensor& p : parameters()) {
    if (!p.grad().defined()) continue;
    if (set_to_none) {
      p.mutable_grad().reset();
    } else {
      p.mutable_grad() = p.grad().detach();
      p.mutable_grad().zero_();
    }
  }
}

template <class Convert>
void Module::convert_all(const Convert& convert) {
  NoGradGuard no_grad;
  apply([&](Module& module) {
    for (auto* tensors : {&module.parameters_, &module.buffers_})
      for (auto& item : *tensors) {
        const Tensor& t = item.value();
        if (!t.defined()) continue;
        const Tensor to = convert(t);
        if (to.is_same(t)) continue;
        if (t.grad().defined()) t.mutable_grad() = convert(t.grad());
        t.set_data(to);
      }
  });
}

namespace {
// Complex numbers do not become real ones, which would lose their imaginary parts.
bool converts(const Tensor& t, ScalarType dtype) {
  return t.is_floating_point() || (t.is_complex() && is_complex(dtype));
}
void check_dtype(ScalarType dtype) {
  check(is_differentiable(dtype), "Module.to: expected a floating point or complex dtype, got ", dtype);
}
}  // namespace

void Module::to(Device device, ScalarType dtype, bool non_blocking) {
  check_dtype(dtype);
  convert_all([&](const Tensor& t) {
    return converts(t, dtype) ? t.to(device, dtype, non_blocking) : t.to(device, non_blocking);
  });
}
void Module::to(ScalarType dtype, bool non_blocking) {
  check_dtype(dtype);
  convert_all([&](const Tensor& t) { return converts(t, dtype) ? t.to(dtype, non_blocking) : t; });
}
void Module::to(Device device, bool non_blocking) {
  convert_all([&](const Tensor& t) { return t.to(device, non_blocking); });
}
void Module::to(MemoryFormat format) {
  check(format != MemoryFormat::Preserve, "Module.to: there is no format to preserve");
  const int64_t rank = format == MemoryFormat::ChannelsLast ? 4 : 5;
  convert_all([&](const Tensor& t) { return !is_channels_last(format) || t.dim() == rank ? t.to(format) : t; });
}

Tensor& Module::register_parameter(std::string name, Tensor tensor, bool requires_grad) {
  detail::check_name("Parameter", name);
  check(!buffers_.contains(name) && !children_.contains(name), "Parameter '", name,
        "' already defined as a buffer or a submodule");
  if (tensor.defined()) {
    check(tensor.is_leaf(), "Parameter '", name, "' is the result of an operation; detach() it first: ", tensor);
    tensor.requires_grad_(requires_grad);
  }
  return parameters_.insert(std::move(name), std::move(tensor));
}
Tensor& Module::register_buffer(std::string name, Tensor tensor) {
  detail::check_name("Buffer", name);
  check(!parameters_.contains(name) && !children_.contains(name), "Buffer '", name,
        "' already defined as a parameter or a submodule");
  return buffers_.insert(std::move(name), std::move(tensor));
}

unsigned Module::_forward_num_required_args() { fail(name(), ": forward has no default arguments"); }
std::vector<AnyValue> Module::_forward_populate_default_args(std::vector<AnyValue>&&) {
  fail(name(), ": forward has no default arguments");
}

HookHandle Module::add_hook(std::shared_ptr<detail::ForwardHook> hook, bool pre) {
  if (!hooks_) hooks_ = std::make_shared<detail::ForwardHooks>();
  const unsigned id = hooks_->next_id++;
  (pre ? hooks_->pre : hooks_->post).push_back({id, std::move(hook)});
  return HookHandle(hooks_, id);
}

}  // namespace tandem::nn
