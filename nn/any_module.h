// AnyModule: a type-erased module that keeps its forward.
//
// The arguments of forward() must have the types that the module's forward takes (references aside). A result
// that is not a Tensor must be named: any.forward<int>(x). A forward that is a template or overloaded is
// treated as Tensor(Tensor).
#pragma once
#include <array>
#include <span>

#include "tandem/nn/any_value.h"
#include "tandem/nn/module_holder.h"

namespace tandem::nn {
namespace detail {

struct AnyModuleBase {
  virtual ~AnyModuleBase() = default;
  virtual AnyValue forward(std::span<AnyValue> arguments) = 0;
  virtual std::shared_ptr<Module> ptr() const = 0;
  virtual std::unique_ptr<AnyModuleBase> copy() const = 0;
  virtual std::unique_ptr<AnyModuleBase> clone(const optional<Device>& device) const = 0;
};

[[noreturn]] void wrong_argument(const Module& module, std::size_t index, const std::type_info& expected,
                                 const std::type_info& got);
/// `required` of the `expected` arguments have no default; it is `expected` where the module declares no defaults.
[[noreturn]] void wrong_argument_count(const Module& module, std::size_t required, std::size_t expected,
                                       std::size_t got);
[[noreturn]] void wrong_module(const Module& module, const std::type_info& requested);

/// For FORWARD_HAS_DEFAULT_ARGS: pairs of an argument's index and its default value, in the order of the indices.
using DefaultArguments = std::initializer_list<std::pair<unsigned, AnyValue>>;
unsigned first_default(DefaultArguments defaults);
std::vector<AnyValue> with_defaults(std::vector<AnyValue> arguments, DefaultArguments defaults);

template <class M, class Result, class... Args>
struct AnyModuleHolder final : AnyModuleBase {
  explicit AnyModuleHolder(std::shared_ptr<M> m) : module(std::move(m)) {}

  AnyValue forward(std::span<AnyValue> arguments) override {
    if (arguments.size() == sizeof...(Args)) return invoke(arguments, std::index_sequence_for<Args...>());
    Module& base = *module;
    const std::size_t required = base._forward_has_default_args() ? base._forward_num_required_args() : sizeof...(Args);
    if (arguments.size() < required || arguments.size() > sizeof...(Args))
      wrong_argument_count(base, required, sizeof...(Args), arguments.size());
    auto all = base._forward_populate_default_args(std::vector<AnyValue>(arguments.begin(), arguments.end()));
    return invoke(all, std::index_sequence_for<Args...>());
  }
  template <std::size_t... I>
  AnyValue invoke(std::span<AnyValue> arguments, std::index_sequence<I...>) {
    if constexpr (std::is_void_v<Result>) {
      call(*module, static_cast<Args>(argument<std::decay_t<Args>>(arguments[I], I))...);
      return AnyValue();
    } else {
      return AnyValue(Result(call(*module, static_cast<Args>(argument<std::decay_t<Args>>(arguments[I], I))...)));
    }
  }
  template <class A>
  A& argument(AnyValue& value, std::size_t index) {
    A* found = value.try_get<A>();
    if (found == nullptr) wrong_argument(*module, index, typeid(A), value.type_info());
    return *found;
  }
  std::shared_ptr<Module> ptr() const override { return module; }
  std::unique_ptr<AnyModuleBase> copy() const override { return std::make_unique<AnyModuleHolder>(module); }
  std::unique_ptr<AnyModuleBase> clone(const optional<Device>& device) const override {
    return std::make_unique<AnyModuleHolder>(std::dynamic_pointer_cast<M>(module->clone(device)));
  }
  std::shared_ptr<M> module;
};

template <class M, class C, class Result, class... Args>
std::unique_ptr<AnyModuleBase> hold(std::shared_ptr<M> module, Result (C::*)(Args...)) {
  return std::make_unique<AnyModuleHolder<M, std::decay_t<Result>, Args...>>(std::move(module));
}
template <class M, class C, class Result, class... Args>
std::unique_ptr<AnyModuleBase> hold(std::shared_ptr<M> module, Result (C::*)(Args...) const) {
  return std::make_unique<AnyModuleHolder<M, std::decay_t<Result>, Args...>>(std::move(module));
}
template <class M, class R, class C, class... Args>
void is_plain(R (C::*)(Args...));
template <class M, class R, class C, class... Args>
void is_plain(R (C::*)(Args...) const);
/// forward is a single function, neither a template nor overloaded.
template <class M>
concept PlainForward = requires {
  is_plain<M>(&M::forward);
};

template <class M>
std::unique_ptr<AnyModuleBase> hold(std::shared_ptr<M> module) {
  if constexpr (PlainForward<M>)
    return hold(std::move(module), &M::forward);
  else
    return std::make_unique<AnyModuleHolder<M, Tensor, const Tensor&>>(std::move(module));
}

/// A module with a callable forward.
template <class M>
concept HasForward = std::is_base_of_v<Module, M> &&(PlainForward<M> || requires(M & m, Tensor x) { m.forward(x); });

}  // namespace detail

class AnyModule {
 public:
  AnyModule() = default;
  template <detail::HasForward M>
  explicit AnyModule(std::shared_ptr<M> module) : content_(detail::hold(std::move(module))) {}
  /// Copies a module from a reference, as LibTorch does; pass its holder or shared_ptr to share it.
  template <class M>
  requires detail::HasForward<std::decay_t<M>>
  explicit AnyModule(M&& module) : AnyModule(std::make_shared<std::decay_t<M>>(std::forward<M>(module))) {}
  template <class M>
  explicit AnyModule(const ModuleHolder<M>& holder) : AnyModule(holder.ptr()) {}
  AnyModule(AnyModule&&) = default;
  AnyModule& operator=(AnyModule&&) = default;
  AnyModule(const AnyModule& other) : content_(other.content_ ? other.content_->copy() : nullptr) {}
  AnyModule& operator=(const AnyModule& other) {
    content_ = other.content_ ? other.content_->copy() : nullptr;
    return *this;
  }
  template <detail::HasForward M>
  AnyModule& operator=(std::shared_ptr<M> module) {
    content_ = detail::hold(std::move(module));
    return *this;
  }

  bool is_empty() const noexcept { return content_ == nullptr; }
  AnyModule clone(const optional<Device>& device = nullopt) const {
    AnyModule out;
    if (content_) out.content_ = content_->clone(device);
    return out;
  }

  template <class... Args>
  AnyValue any_forward(Args&&... args) {
    std::array<AnyValue, sizeof...(Args)> values{wrap(std::forward<Args>(args))...};
    return content("forward").forward(values);
  }
  template <class Result = Tensor, class... Args>
  Result forward(Args&&... args) {
    if constexpr (std::is_void_v<Result>)
      any_forward(std::forward<Args>(args)...);
    else
      return any_forward(std::forward<Args>(args)...).template get<Result>();
  }

  std::shared_ptr<Module> ptr() const { return content("ptr").ptr(); }
  /// Throws Error when the module has a different type.
  template <class M>
  std::shared_ptr<M> ptr() const {
    return cast<M>("ptr");
  }
  /// A reference to the module of this type, or a holder of this type that shares it.
  template <class M>
  decltype(auto) get() const {
    if constexpr (detail::is_module_holder<M>)
      return M(cast<typename M::ContainedType>("get"));
    else
      return static_cast<M&>(*cast<M>("get"));
  }
  const std::type_info& type_info() const {
    const Module& module = *content("type_info").ptr();
    return typeid(module);
  }

 private:
  static AnyValue wrap(AnyValue value) { return value; }
  template <class T>
  static AnyValue wrap(T&& value) {
    return AnyValue(std::forward<T>(value));
  }
  template <class M>
  std::shared_ptr<M> cast(const char* function) const {
    const std::shared_ptr<Module> module = content(function).ptr();
    auto typed = std::dynamic_pointer_cast<M>(module);
    if (typed == nullptr) [[unlikely]]
      detail::wrong_module(*module, typeid(M));
    return typed;
  }
  detail::AnyModuleBase& content(const char* function) const {
    check(content_ != nullptr, "Cannot call ", function, "() on an empty AnyModule");
    return *content_;
  }
  std::unique_ptr<detail::AnyModuleBase> content_;
};

}  // namespace tandem::nn

/// In a module class: default values of forward arguments for calls through Sequential or AnyModule, as pairs
/// of argument index and value: FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(2)}, {2, AnyValue(3.0)}).
#define FORWARD_HAS_DEFAULT_ARGS(...)                                                                                 \
  template <class, class, class...>                                                                                   \
  friend struct ::tandem::nn::detail::AnyModuleHolder;                                                                \
  bool _forward_has_default_args() override { return true; }                                                          \
  unsigned _forward_num_required_args() override { return ::tandem::nn::detail::first_default({__VA_ARGS__}); }       \
  std::vector<::tandem::nn::AnyValue> _forward_populate_default_args(std::vector<::tandem::nn::AnyValue>&& arguments) \
      override {                                                                                                      \
    return ::tandem::nn::detail::with_defaults(std::move(arguments), {__VA_ARGS__});                                  \
  }
