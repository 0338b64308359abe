// ModuleDict: modules by name, in insertion order. It has no forward.
#pragma once
#include "tandem/nn/any_module.h"
#include "tandem/nn/cloneable.h"

namespace tandem::nn {

class ModuleDictImpl : public Cloneable<ModuleDictImpl> {
 public:
  using Entry = std::pair<std::string, std::shared_ptr<Module>>;

  ModuleDictImpl() = default;
  explicit ModuleDictImpl(const std::vector<Entry>& modules) { update(modules); }
  explicit ModuleDictImpl(const OrderedDict<std::string, std::shared_ptr<Module>>& modules) { update(modules); }

  std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const override;
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  /// Adds the module, or replaces the one with that name.
  void insert(const std::string& key, std::shared_ptr<Module> module);
  template <class M>
  void insert(const std::string& key, const ModuleHolder<M>& holder) {
    insert(key, std::shared_ptr<Module>(holder.ptr()));
  }
  /// Inserts pairs of names and modules, or the items of an OrderedDict or of another ModuleDict.
  void update(const std::vector<Entry>& modules) {
    for (const auto& m : modules) insert(m.first, m.second);
  }
  template <class Container>
  requires requires(const Container& modules) { modules.begin()->key(); }
  void update(const Container& modules) {
    for (const auto& m : modules) insert(m.key(), m.value());
  }
  /// Removes and returns the module. Throws Error if there is no module with that name.
  std::shared_ptr<Module> pop(const std::string& key);
  void clear() { children_.clear(); }

  std::vector<Entry> items() const {
    std::vector<Entry> out;
    for (const auto& child : children_) out.emplace_back(child.key(), child.value());
    return out;
  }
  std::vector<std::string> keys() const { return children_.keys(); }
  std::vector<std::shared_ptr<Module>> values() const { return children_.values(); }
  auto begin() { return children_.begin(); }
  auto end() { return children_.end(); }
  auto begin() const { return children_.begin(); }
  auto end() const { return children_.end(); }
  std::size_t size() const noexcept { return children_.size(); }
  bool empty() const noexcept { return children_.is_empty(); }
  bool contains(const std::string& key) const noexcept { return children_.contains(key); }

  std::shared_ptr<Module> operator[](const std::string& key) const { return children_[key]; }
  std::shared_ptr<Module> ptr(const std::string& key) const { return children_[key]; }
  template <class M>
  std::shared_ptr<M> ptr(const std::string& key) const {
    auto typed = std::dynamic_pointer_cast<M>(children_[key]);
    check(typed != nullptr, "ModuleDict: '", key, "' is of type ", children_[key]->name(), ", not ",
          detail::type_name(typeid(M)));
    return typed;
  }
  template <class M>
  M& at(const std::string& key) const {
    return *ptr<M>(key);
  }
};
TANDEM_MODULE(ModuleDict);

}  // namespace tandem::nn
