// Non-template parts of Sequential, ModuleList, ModuleDict and ParameterList.
#include <ostream>

#include "tandem/nn/module_dict.h"
#include "tandem/nn/module_list.h"
#include "tandem/nn/parameter_list.h"
#include "tandem/nn/sequential.h"

namespace tandem::nn {

void FunctionalImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::Functional()"; }

void SequentialImpl::add(std::string name, AnyModule module) {
  register_module(std::move(name), module.ptr());
  modules_.push_back(std::move(module));
}
std::shared_ptr<Module> SequentialImpl::clone(const optional<Device>& device) const {
  auto copy = std::make_shared<SequentialImpl>();
  copy->train(is_training());  // its own mode only: the modules keep theirs
  for (std::size_t i = 0; i < modules_.size(); ++i)
    copy->push_back(children_[i].key(), modules_[i].clone(device));
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
  check_index(index <= modules_.size(), "ModuleList: index ", index, " is out of range for size ",
              modules_.size());
  check(module != nullptr, "ModuleList: the module must not be empty");
  check_child(std::to_string(index), *module);
  modules_.insert(modules_.begin() + static_cast<std::ptrdiff_t>(index), std::move(module));
  children_.clear();
  for (std::size_t i = 0; i < modules_.size(); ++i) register_module(std::to_string(i), modules_[i]);
}
const std::shared_ptr<Module>& ModuleListImpl::checked(std::size_t index) const {
  check_index(index < modules_.size(), "ModuleList: index ", index, " is out of range for size ",
              modules_.size());
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

void ParameterListImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::ParameterList(\n";
  for (const auto& p : parameters_)
    stream << "  (" << p.key() << "): Parameter containing: [" << p.value().describe() << "]\n";
  stream << ")";
}
void ParameterListImpl::reset() {
  const auto before = parameters_.is_empty() ? values_ : parameters_.values();
  values_ = before;
  for (auto& value : values_) {
    value = value.detach().clone().requires_grad_(value.requires_grad());
    register_parameter(std::to_string(parameters_.size()), value, value.requires_grad());
  }
}
void ParameterListImpl::append(const Tensor& parameter) {
  register_parameter(std::to_string(values_.size()), parameter, parameter.requires_grad());
  values_.push_back(parameter);
}
const Tensor& ParameterListImpl::operator[](std::size_t index) const {
  check_index(index < values_.size(), "ParameterList: index ", index, " is out of range for size ",
              values_.size());
  return values_[index];
}

}  // namespace tandem::nn
