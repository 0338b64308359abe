// ModuleList: modules by index, which is also their registered name. It has no forward.
#pragma once
#include "tandem/nn/any_module.h"
#include "tandem/nn/cloneable.h"

namespace tandem::nn {

class ModuleListImpl : public Cloneable<ModuleListImpl> {
 public:
  using Iterator = std::vector<std::shared_ptr<Module>>::iterator;
  using ConstIterator = std::vector<std::shared_ptr<Module>>::const_iterator;

  ModuleListImpl() = default;
  ModuleListImpl(const ModuleListImpl&) = default;
  ModuleListImpl& operator=(const ModuleListImpl&) = default;
  template <class... Modules>
  requires(sizeof...(Modules) > 0 && !(std::is_base_of_v<ModuleListImpl, std::decay_t<Modules>> ||
                                       ...)) explicit ModuleListImpl(Modules&&... modules) {
    (push_back(std::forward<Modules>(modules)), ...);
  }

  std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const override;
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  void push_back(std::shared_ptr<Module> module);
  template <class M>
  requires detail::is_module<M>
  void push_back(M&& module) { push_back(std::make_shared<std::decay_t<M>>(std::forward<M>(module))); }
  template <class M>
  void push_back(const ModuleHolder<M>& holder) {
    push_back(std::shared_ptr<Module>(holder.ptr()));
  }
  template <class Container>
  void extend(const Container& container) {
    for (const auto& module : container) push_back(module);
  }
  /// Inserts before `index`; later modules are renamed.
  void insert(std::size_t index, std::shared_ptr<Module> module);
  template <class M>
  void insert(std::size_t index, const ModuleHolder<M>& holder) {
    insert(index, std::shared_ptr<Module>(holder.ptr()));
  }

  Iterator begin() { return modules_.begin(); }
  Iterator end() { return modules_.end(); }
  ConstIterator begin() const { return modules_.begin(); }
  ConstIterator end() const { return modules_.end(); }
  std::size_t size() const noexcept { return modules_.size(); }
  bool is_empty() const noexcept { return modules_.empty(); }

  /// Throws IndexError when the index is out of range, Error when the type differs.
  template <class M>
  M& at(std::size_t index) const {
    return *ptr<M>(index);
  }
  std::shared_ptr<Module> ptr(std::size_t index) const { return checked(index); }
  template <class M>
  std::shared_ptr<M> ptr(std::size_t index) const {
    auto typed = std::dynamic_pointer_cast<M>(checked(index));
    check(typed != nullptr, "ModuleList: module ", index, " is of type ", checked(index)->name(), ", not ",
          detail::type_name(typeid(M)));
    return typed;
  }
  std::shared_ptr<Module> operator[](std::size_t index) const { return checked(index); }

 private:
  const std::shared_ptr<Module>& checked(std::size_t index) const;
  std::vector<std::shared_ptr<Module>> modules_;
};
TANDEM_MODULE(ModuleList);

}  // namespace tandem::nn
