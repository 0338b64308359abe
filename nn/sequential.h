// Sequential: a chain of modules; each receives the output of the previous one.
//
//   nn::Sequential net(nn::Linear(2, 3), nn::ReLU(), [](const Tensor& x) { return x * 2; });
//   nn::Sequential named({{"fc", nn::Linear(2, 3)}, {"act", nn::ReLU()}});
#pragma once
#include "tandem/nn/any_module.h"
#include "tandem/nn/cloneable.h"
#include "tandem/nn/functional_module.h"

namespace tandem::nn {

namespace detail {
template <class F>
concept TensorFunction =
    !is_module<F> && !is_module_holder<F> && std::is_invocable_r_v<Tensor, std::decay_t<F>&, Tensor>;

/// Wraps a module of any kind or a plain function as an AnyModule.
template <class M>
AnyModule to_any(M&& module) {
  if constexpr (std::is_same_v<std::decay_t<M>, AnyModule>)
    return std::forward<M>(module);
  else if constexpr (TensorFunction<M>)
    return AnyModule(std::make_shared<FunctionalImpl>(std::forward<M>(module)));
  else
    return AnyModule(std::forward<M>(module));
}
}  // namespace detail

/// A module with a name, for initialiser lists.
class NamedAnyModule {
 public:
  template <class M>
  NamedAnyModule(std::string name, M&& module)
      : name_(std::move(name)), module_(detail::to_any(std::forward<M>(module))) {}
  const std::string& name() const noexcept { return name_; }
  AnyModule& module() noexcept { return module_; }
  const AnyModule& module() const noexcept { return module_; }

 private:
  std::string name_;
  AnyModule module_;
};

class SequentialImpl : public Cloneable<SequentialImpl> {
 public:
  using Iterator = std::vector<AnyModule>::iterator;
  using ConstIterator = std::vector<AnyModule>::const_iterator;

  SequentialImpl() = default;
  SequentialImpl(const SequentialImpl&) = default;
  SequentialImpl& operator=(const SequentialImpl&) = default;
  template <class... Modules>
  requires(sizeof...(Modules) > 0 && !(std::is_base_of_v<SequentialImpl, std::decay_t<Modules>> ||
                                       ...)) explicit SequentialImpl(Modules&&... modules) {
    (push_back(std::forward<Modules>(modules)), ...);
  }
  explicit SequentialImpl(std::initializer_list<NamedAnyModule> modules);
  explicit SequentialImpl(OrderedDict<std::string, AnyModule>&& modules);

  std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const override;
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  /// Throws Error when the sequence is empty or when a module's argument type differs from what the previous
  /// one returns.
  template <class Result = Tensor, class... Args>
  Result forward(Args&&... args) {
    check(!is_empty(), "Cannot call forward() on an empty Sequential");
    AnyValue value = modules_.front().any_forward(std::forward<Args>(args)...);
    for (std::size_t i = 1; i < modules_.size(); ++i) value = modules_[i].any_forward(std::move(value));
    Result* result = value.try_get<Result>();
    if (result == nullptr) [[unlikely]]
      fail("The type of the return value is ", detail::type_name(value.type_info()), ", but you asked for type ",
           detail::type_name(typeid(Result)));
    return std::move(*result);
  }

  /// Accepts a module, its holder, a shared_ptr to it, an AnyModule or a function of one tensor. The name
  /// defaults to the index.
  template <class M>
  requires(!std::is_same_v<std::decay_t<M>, NamedAnyModule>) void push_back(M&& module) {
    push_back(std::to_string(modules_.size()), std::forward<M>(module));
  }
  template <class M>
  void push_back(std::string name, M&& module) {
    add(std::move(name), detail::to_any(std::forward<M>(module)));
  }
  void push_back(const NamedAnyModule& named) { add(named.name(), named.module()); }
  template <class Container>
  void extend(const Container& container) {
    for (const auto& module : container) push_back(module);
  }

  /// Puts another module in the place of one, under its name. Throws Error if there is no such place.
  template <class M>
  void replace(std::size_t index, M&& module) {
    set(index, detail::to_any(std::forward<M>(module)));
  }

  Iterator begin() { return modules_.begin(); }
  Iterator end() { return modules_.end(); }
  ConstIterator begin() const { return modules_.begin(); }
  ConstIterator end() const { return modules_.end(); }
  /// Throws IndexError when the index is out of range, Error when the type differs.
  template <class M>
  M& at(std::size_t index) {
    return *ptr<M>(index);
  }
  std::shared_ptr<Module> ptr(std::size_t index) const { return modules_[checked(index)].ptr(); }
  template <class M>
  std::shared_ptr<M> ptr(std::size_t index) const {
    return modules_[checked(index)].template ptr<M>();
  }
  std::shared_ptr<Module> operator[](std::size_t index) const { return ptr(index); }
  std::size_t size() const noexcept { return modules_.size(); }
  bool is_empty() const noexcept { return modules_.empty(); }

 private:
  void add(std::string name, AnyModule module);
  void set(std::size_t index, AnyModule module);
  std::size_t checked(std::size_t index) const;
  std::vector<AnyModule> modules_;
};

class Sequential : public ModuleHolder<SequentialImpl> {
 public:
  using ModuleHolder<SequentialImpl>::ModuleHolder;
  using Impl = SequentialImpl;
  Sequential() = default;
  Sequential(std::initializer_list<NamedAnyModule> modules);
};

}  // namespace tandem::nn
