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

/// Arguments for the constructor of the module, not for copying or assigning the holder.
template <class Holder, class... Args>
inline constexpr bool are_for_module = sizeof...(Args) > 0;
template <class Holder, class Arg>
inline constexpr bool are_for_module<Holder, Arg> =
    !std::is_base_of_v<Holder, std::decay_t<Arg>> &&
    !std::is_convertible_v<Arg, std::shared_ptr<typename Holder::ContainedType>>;
/// Converts to size_t and to no other type.
struct ExactSize {
  template <class T>
  requires std::is_same_v<T, std::size_t>
  operator T() const;
};
/// (An abstract module gets the message of make().)
template <class Contained, class... Args>
inline constexpr bool takes = std::is_abstract_v<Contained> || std::is_constructible_v<Contained, Args...>;
template <class Contained, class... Args>
concept forwards = requires(Contained& object, Args&&... args) {
  object.forward(std::forward<Args>(args)...);
};
}  // namespace detail

template <class Contained>
class ModuleHolder : detail::ModuleHolderIndicator {
 public:
  using ContainedType = Contained;

  /// Holds a default-constructed module. Declared for every module, as in LibTorch: otherwise a class with a member of
  /// this type would lose its constructor without a reason.
  ModuleHolder() : impl_(make()) {
    static_assert(
        std::is_abstract_v<Contained> || std::is_default_constructible_v<Contained>,
        "this module has no default constructor: give its holder arguments, or make it empty until you assign "
        "one, as in `nn::Linear fc{nullptr};`");
  }
  /// Empty: assign before use.
  ModuleHolder(std::nullptr_t) {}
  /// Constructs the module from these arguments.
  template <class... Args>
  requires(detail::are_for_module<ModuleHolder, Args...>&& detail::takes<Contained, Args...>)  //
      explicit ModuleHolder(Args&&... args)
      : impl_(make(std::forward<Args>(args)...)) {}
  // Compilers print the name of the parameter, its types and the line of the declaration.
  template <class... NoConstructorTakes>
  requires(detail::are_for_module<ModuleHolder, NoConstructorTakes...> &&
           !detail::takes<Contained, NoConstructorTakes...>)    //
      explicit ModuleHolder(NoConstructorTakes&&...) = delete;  // no constructor of the module takes these arguments
  ModuleHolder(std::shared_ptr<Contained> module) : impl_(std::move(module)) {}

  explicit operator bool() const noexcept { return !is_empty(); }
  bool is_empty() const noexcept { return impl_ == nullptr; }
  Contained* operator->() { return get(); }
  const Contained* operator->() const { return get(); }
  Contained& operator*() { return *get(); }
  const Contained& operator*() const { return *get(); }
  /// Throws Error when empty.
  const std::shared_ptr<Contained>& ptr() const {
    check(!is_empty(), "Accessing empty ModuleHolder: it was made from nullptr and has not been assigned");
    return impl_;
  }
  Contained* get() { return ptr().get(); }
  const Contained* get() const { return ptr().get(); }

  /// Runs forward with the module's hooks.
  template <class... Args>
  requires detail::forwards<Contained, Args...>
  auto operator()(Args&&... args) { return call(*get(), std::forward<Args>(args)...); }
  template <class... ForwardTakesOthers>
  requires(!detail::forwards<Contained, ForwardTakesOthers...>)  //
      void
      operator()(ForwardTakesOthers&&... args) = delete;  // forward() of the module does not take these arguments
  template <class Arg>
  decltype(auto) operator[](Arg&& arg) {
    if constexpr (std::is_integral_v<std::decay_t<Arg>> && requires(Contained & c, detail::ExactSize i) { c[i]; })
      return (*get())[static_cast<std::size_t>(arg)];
    else
      return (*get())[std::forward<Arg>(arg)];
  }

 protected:
  std::shared_ptr<Contained> impl_;

 private:
  template <class... Args>
  static std::shared_ptr<Contained> make(Args&&... args) {
    static_assert(!std::is_abstract_v<Contained>,
                  "this module is abstract: implement its pure virtual functions, such as reset() of nn::Cloneable");
    if constexpr (std::is_constructible_v<Contained, Args...>)  // make_shared would report dozens of lines more
      return std::make_shared<Contained>(std::forward<Args>(args)...);
    else
      return nullptr;
  }
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
    using Impl [[maybe_unused]] = ImplType;                   \
  }
#define TANDEM_MODULE(Name) TANDEM_MODULE_IMPL(Name, Name##Impl)
