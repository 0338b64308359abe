// ModuleHolder<Contained>: value-like access to a module held by a shared_ptr. TANDEM_MODULE(Net) declares
// the holder Net of the module NetImpl.
#pragma once
#include "tandem/nn/call.h"

namespace tandem::nn {

namespace detail {
struct ModuleHolderIndicator {};
template <class T>
inline constexpr bool is_module = std::is_base_of_v<Module, std::decay_t<T>>;
template <class T>
inline constexpr bool is_module_holder = std::is_base_of_v<ModuleHolderIndicator, std::decay_t<T>>;
}  // namespace detail

template <class Contained>
class ModuleHolder : detail::ModuleHolderIndicator {
 public:
  using ContainedType = Contained;

  /// Holds a default-constructed module.
  ModuleHolder() : impl_(std::make_shared<Contained>()) {}
  /// Empty: assign before use.
  ModuleHolder(std::nullptr_t) {}
  /// Constructs the module from these arguments.
  template <class Head, class... Tail>
  requires(sizeof...(Tail) > 0 ||
           !(std::is_base_of_v<ModuleHolder, std::decay_t<Head>> ||
             std::is_convertible_v<Head, std::shared_ptr<Contained>>)) explicit ModuleHolder(Head&& head,
                                                                                             Tail&&... tail)
      : impl_(std::make_shared<Contained>(std::forward<Head>(head), std::forward<Tail>(tail)...)) {}
  ModuleHolder(std::shared_ptr<Contained> module) : impl_(std::move(module)) {}

  explicit operator bool() const noexcept { return !is_empty(); }
  bool is_empty() const noexcept { return impl_ == nullptr; }
  Contained* operator->() { return get(); }
  const Contained* operator->() const { return get(); }
  Contained& operator*() { return *get(); }
  const Contained& operator*() const { return *get(); }
  /// Throws Error when empty.
  const std::shared_ptr<Contained>& ptr() const {
    check(!is_empty(), "the module holder is empty: it was made from nullptr and has not been assigned");
    return impl_;
  }
  Contained* get() { return ptr().get(); }
  const Contained* get() const { return ptr().get(); }

  /// Runs forward with the module's hooks.
  template <class... Args>
  auto operator()(Args&&... args) {
    return call(*get(), std::forward<Args>(args)...);
  }
  template <class Arg>
  decltype(auto) operator[](Arg&& arg) {
    return (*get())[std::forward<Arg>(arg)];
  }

 private:
  std::shared_ptr<Contained> impl_;
};

template <class Contained>
std::ostream& operator<<(std::ostream& stream, const ModuleHolder<Contained>& holder) {
  return stream << static_cast<const Module&>(*holder);
}

}  // namespace tandem::nn

#define TANDEM_MODULE_IMPL(Name, ImplType)                    \
  class Name : public ::tandem::nn::ModuleHolder<ImplType> {  \
   public:                                                    \
    using ::tandem::nn::ModuleHolder<ImplType>::ModuleHolder; \
    using Impl = ImplType;                                    \
  }
#define TANDEM_MODULE(Name) TANDEM_MODULE_IMPL(Name, Name##Impl)
