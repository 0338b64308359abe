// Non-template parts of Sequential, ModuleList, ModuleDict, ParameterList and ParameterDict.
#include <ostream>

#include "tandem/nn/module_dict.h"
#include "tandem/nn/module_list.h"
#include "tandem/nn/parameter_list.h"
#include "tandem/nn/sequential.h"

namespace tandem::nn {
namespace {

void check_place(const char* container, std::size_t index, std::size_t size) {
  check_index(index < size, "Index out of range: ", index, " of a ", container, " of size ", size);
}

}  // namespace

void FunctionalImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::Functional()"; }

SequentialImpl::SequentialImpl(std::initializer_list<NamedAnyModule> modules) {
  for (const auto& m : modules) push_back(m.name(), m.module());
}
SequentialImpl::SequentialImpl(OrderedDict<std::string, AnyModule>&& modules) {
  for (auto& item : modules) push_back(item.key(), std::move(item.value()));
}
Sequential::Sequential(std::initializer_list<NamedAnyModule> modules)
    : ModuleHolder(std::make_shared<SequentialImpl>(modules)) {}

void SequentialImpl::add(std::string name, AnyModule module) {
  register_module(std::move(name), module.ptr());
  modules_.push_back(std::move(module));
}
void SequentialImpl::set(std::size_t index, AnyModule module) {
  AnyModule& place = modules_[checked(index)];
  module.ptr()->train(is_training());
  replace_module(children_[index].key(), module.ptr());
  place = std::move(module);
}
std::size_t SequentialImpl::checked(std::size_t index) const {
  check_place("Sequential", index, size());
  return index;
}
std::shared_ptr<Module> SequentialImpl::clone(const optional<Device>& device) const {
  auto copy = std::make_shared<SequentialImpl>();
  copy->train(is_training());  // its own mode only: the modules keep theirs
  for (std::size_t i = 0; i < modules_.size(); ++i) copy->push_back(children_[i].key(), modules_[i].clone(device));
  return copy;
}
void SequentialImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::Sequential"; }

std::shared_ptr<Module> ModuleListImpl::clone(const optional<Device>& device) const {
  auto copy = std::make_shared<ModuleListImpl>();
  copy->train(is_training());
  for (const auto& module : modules_) copy->push_back(module->clone(device));
  return copy;
}
void ModuleListImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::ModuleList"; }
void ModuleListImpl::push_back(std::shared_ptr<Module> module) {
  register_module(std::to_string(modules_.size()), module);
  modules_.push_back(std::move(module));
}
void ModuleListImpl::insert(std::size_t index, std::shared_ptr<Module> module) {
  check_index(index <= modules_.size(), "Index out of range: cannot insert at ", index, " of a ModuleList of size ",
              modules_.size());
  check(module != nullptr, "ModuleList: the module must not be empty");
  check_child(std::to_string(index), *module);
  modules_.insert(modules_.begin() + static_cast<std::ptrdiff_t>(index), std::move(module));
  children_.clear();
  for (std::size_t i = 0; i < modules_.size(); ++i) register_module(std::to_string(i), modules_[i]);
}
const std::shared_ptr<Module>& ModuleListImpl::checked(std::size_t index) const {
  check_place("ModuleList", index, size());
  return modules_[index];
}

std::shared_ptr<Module> ModuleDictImpl::clone(const optional<Device>& device) const {
  auto copy = std::make_shared<ModuleDictImpl>();
  copy->train(is_training());
  for (const auto& child : children_) copy->insert(child.key(), child.value()->clone(device));
  return copy;
}
void ModuleDictImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::ModuleDict"; }
void ModuleDictImpl::insert(const std::string& key, std::shared_ptr<Module> module) {
  if (children_.contains(key))
    replace_module(key, std::move(module));
  else
    register_module(key, std::move(module));
}
std::shared_ptr<Module> ModuleDictImpl::pop(const std::string& key) {
  auto module = children_[key];
  unregister_module(key);
  return module;
}

namespace {

Tensor copy_of(const Tensor& parameter, const optional<Device>& device) {
  const Tensor copy = parameter.detach().clone();
  return (device ? copy.to(*device) : copy).requires_grad_(parameter.requires_grad());
}
void print_parameters(std::ostream& stream, const char* name, const OrderedDict<std::string, Tensor>& parameters) {
  stream << "tandem::nn::" << name << "(\n";
  for (const auto& p : parameters)
    stream << "(" << p.key() << "): Parameter containing: [" << p.value().scalar_type() << " of size "
           << p.value().sizes() << "]\n";
  stream << ")";
}

}  // namespace

void ParameterListImpl::pretty_print(std::ostream& stream) const {
  print_parameters(stream, "ParameterList", parameters_);
}
std::shared_ptr<Module> ParameterListImpl::clone(const optional<Device>& device) const {
  auto copy = std::make_shared<ParameterListImpl>();
  copy->train(is_training());
  for (const auto& p : parameters_) copy->append(copy_of(p.value(), device));
  return copy;
}
void ParameterListImpl::append(const Tensor& parameter) {
  register_parameter(std::to_string(size()), parameter, parameter.requires_grad());
}
Tensor& ParameterListImpl::operator[](std::size_t index) {
  check_place("ParameterList", index, size());
  return parameters_[index].value();
}
const Tensor& ParameterListImpl::operator[](std::size_t index) const {
  return const_cast<ParameterListImpl&>(*this)[index];
}

void ParameterDictImpl::pretty_print(std::ostream& stream) const {
  print_parameters(stream, "ParameterDict", parameters_);
}
std::shared_ptr<Module> ParameterDictImpl::clone(const optional<Device>& device) const {
  auto copy = std::make_shared<ParameterDictImpl>();
  copy->train(is_training());
  for (const auto& p : parameters_) copy->insert(p.key(), copy_of(p.value(), device));
  return copy;
}
Tensor& ParameterDictImpl::insert(const std::string& key, const Tensor& parameter) {
  return register_parameter(key, parameter, parameter.requires_grad());
}
Tensor ParameterDictImpl::pop(const std::string& key) {
  Tensor parameter = parameters_[key];
  parameters_.erase(key);
  return parameter;
}

}  // namespace tandem::nn
