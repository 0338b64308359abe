// ParameterList and ParameterDict: parameters by index, which is also their registered name, and by name.
#pragma once
#include "tandem/nn/cloneable.h"
#include "tandem/nn/module_holder.h"

namespace tandem::nn {

class ParameterListImpl : public Cloneable<ParameterListImpl> {
 public:
  using Iterator = OrderedDict<std::string, Tensor>::Iterator;
  using ConstIterator = OrderedDict<std::string, Tensor>::ConstIterator;

  ParameterListImpl() = default;
  explicit ParameterListImpl(const std::vector<Tensor>& parameters) { extend(parameters); }
  template <class... Tensors>
  requires(sizeof...(Tensors) > 0 &&
           (std::is_same_v<std::decay_t<Tensors>, Tensor> && ...)) explicit ParameterListImpl(Tensors&&... parameters) {
    (append(parameters), ...);
  }

  std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const override;
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  /// The parameter keeps its requires_grad.
  void append(const Tensor& parameter);
  /// Appends the value of a named parameter.
  void append(const OrderedDict<std::string, Tensor>::Item& named) { append(named.value()); }
  /// Appends a list of tensors or of named tensors, such as another ParameterList.
  template <class Container>
  void extend(const Container& parameters) {
    for (const auto& p : parameters) append(p);
  }
  ParameterListImpl& operator+=(const ParameterListImpl& other) {
    extend(other.parameters_.values());  // a copy: `other` may be this list
    return *this;
  }
  /// Throws IndexError when the index is out of range.
  Tensor& operator[](std::size_t index);
  const Tensor& operator[](std::size_t index) const;
  Tensor& at(std::size_t index) { return (*this)[index]; }
  const Tensor& at(std::size_t index) const { return (*this)[index]; }
  std::size_t size() const noexcept { return parameters_.size(); }
  bool is_empty() const noexcept { return parameters_.is_empty(); }
  /// The items are named: item.key() and item.value().
  Iterator begin() { return parameters_.begin(); }
  Iterator end() { return parameters_.end(); }
  ConstIterator begin() const { return std::as_const(parameters_).begin(); }
  ConstIterator end() const { return std::as_const(parameters_).end(); }
};
TANDEM_MODULE(ParameterList);

class ParameterDictImpl : public Cloneable<ParameterDictImpl> {
 public:
  using Iterator = OrderedDict<std::string, Tensor>::Iterator;
  using ConstIterator = OrderedDict<std::string, Tensor>::ConstIterator;

  ParameterDictImpl() = default;
  explicit ParameterDictImpl(const OrderedDict<std::string, Tensor>& parameters) {
    for (const auto& item : parameters) insert(item.key(), item.value());
  }

  std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const override;
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  /// The parameter keeps its requires_grad. Throws Error when the name exists.
  Tensor& insert(const std::string& key, const Tensor& parameter);
  /// Removes and returns the parameter. Throws Error if there is none of that name.
  Tensor pop(const std::string& key);
  /// Replaces the parameters of the names that another dictionary has. Throws Error, and replaces none, if it has a name
  /// that this one lacks.
  template <class Container>
  void update(const Container& parameters) {
    for (const auto& item : parameters) get(item.key());
    for (const auto& item : parameters) get(item.key()) = item.value();
  }
  void clear() { parameters_.clear(); }

  std::vector<std::string> keys() const { return parameters_.keys(); }
  std::vector<Tensor> values() const { return parameters_.values(); }
  Iterator begin() { return parameters_.begin(); }
  Iterator end() { return parameters_.end(); }
  ConstIterator begin() const { return std::as_const(parameters_).begin(); }
  ConstIterator end() const { return std::as_const(parameters_).end(); }
  std::size_t size() const noexcept { return parameters_.size(); }
  bool empty() const noexcept { return parameters_.is_empty(); }
  bool contains(const std::string& key) const noexcept { return parameters_.contains(key); }
  /// Throws Error if there is none of that name.
  Tensor& get(const std::string& key) { return parameters_[key]; }
  const Tensor& get(const std::string& key) const { return parameters_[key]; }
  Tensor& operator[](const std::string& key) { return parameters_[key]; }
  const Tensor& operator[](const std::string& key) const { return parameters_[key]; }
};
TANDEM_MODULE(ParameterDict);

}  // namespace tandem::nn
