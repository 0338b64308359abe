// TORCH_LIBRARY: programs register functions under names and call them through c10::Dispatcher.
//
//   TORCH_LIBRARY(shop, m) { m.def("price(Tensor a) -> Tensor"); }
//   TORCH_LIBRARY_IMPL(shop, CPU, m) { m.impl("price", &price_on_cpu); }
//   … c10::Dispatcher::singleton().findSchemaOrThrow("shop::price", "").typed<Tensor(const Tensor&)>().call(x) …
//
// There is no TorchScript to call them with values of unknown types: of a schema only the name is read, and a class_ is
// not registered anywhere.
#pragma once
#include <algorithm>
#include <any>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/tandem.h"
#include "torch/detail/util.h"

namespace c10 {

/// Base of objects that intrusive_ptr holds.
class intrusive_ptr_target : public tandem::RefCounted {
 public:
  intrusive_ptr_target() = default;
  intrusive_ptr_target(const intrusive_ptr_target&) noexcept : RefCounted() {}
  intrusive_ptr_target& operator=(const intrusive_ptr_target&) noexcept { return *this; }
  virtual ~intrusive_ptr_target() = default;
  friend void destroy(const intrusive_ptr_target* object) { delete object; }
};

template <class T>
class intrusive_ptr : public tandem::IntrusivePtr<T> {
 public:
  using element_type = T;
  using tandem::IntrusivePtr<T>::IntrusivePtr;
  intrusive_ptr() = default;
  template <class... Args>
  static intrusive_ptr make(Args&&... arguments) {
    return intrusive_ptr(new T(std::forward<Args>(arguments)...));
  }
  bool defined() const { return this->get() != nullptr; }
  uint32_t use_count() const { return defined() ? this->get()->use_count() : 0; }
  bool unique() const { return use_count() == 1; }
};
template <class T, class... Args>
intrusive_ptr<T> make_intrusive(Args&&... arguments) {
  return intrusive_ptr<T>::make(std::forward<Args>(arguments)...);
}

}  // namespace c10

namespace tandem::compat {

/// How many guards on this thread let calls go past functions registered for Autograd.
inline thread_local int below_autograd = 0;

/// The functions of all names "library::function".
class Operators {
 public:
  static Operators& all() {
    static Operators operators;
    return operators;
  }
  /// Throws Error if the name was defined before.
  void define(const std::string& name) {
    const std::lock_guard lock(mutex_);
    check(std::exchange(entries_[name].defined, true) == false, "TORCH_LIBRARY: '", name, "' is defined twice");
  }
  /// `key`: "CPU", "CUDA", "Autograd" …; empty for the function given at the definition.
  template <class R, class... Args>
  void add(const std::string& name, const std::string& key, std::function<R(Args...)> function) {
    const std::lock_guard lock(mutex_);
    entries_[name].functions[key] = std::move(function);
  }
  bool contains(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(name);
    return found != entries_.end() && found->second.defined;
  }
  /// The function for tensors on the CPU or on a GPU. Throws Error if there is none, or none of this type.
  template <class Signature>
  std::function<Signature> find(const std::string& name, bool on_gpu) const {
    const std::lock_guard lock(mutex_);
    const std::string device = on_gpu ? "CUDA" : "CPU";
    for (const std::string& key :
         {"Autograd" + device, std::string("Autograd"), device, std::string("CompositeExplicitAutograd"),
          std::string("CompositeImplicitAutograd"), std::string("CatchAll"), std::string()}) {
      if (below_autograd > 0 && key.starts_with("Autograd")) continue;
      const auto& functions = entries_.at(name).functions;
      const auto found = functions.find(key);
      if (found == functions.end()) continue;
      const auto* function = std::any_cast<std::function<Signature>>(&found->second);
      check(function != nullptr, name, " was registered with other types than it is called with");
      return *function;
    }
    fail("Could not run '", name, "' with arguments from the '", device, "' backend: no function is registered for it");
  }

 private:
  struct Entry {
    bool defined = false;
    std::map<std::string, std::any> functions;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

inline bool on_gpu(const Tensor& t) { return t.defined() && t.is_cuda(); }
inline bool on_gpu(const std::optional<Tensor>& t) { return t.has_value() && on_gpu(*t); }
inline bool on_gpu(ArrayRef<Tensor> tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return on_gpu(t); });
}
inline bool on_gpu(const std::vector<Tensor>& tensors) { return on_gpu(ArrayRef<Tensor>(tensors)); }
template <class T>
bool on_gpu(const T&) {
  return false;
}

template <class Signature>
class TypedOperator;
template <class R, class... Args>
class TypedOperator<R(Args...)> {
 public:
  explicit TypedOperator(std::string name) : name_(std::move(name)) {}
  R call(Args... arguments) const {
    const bool gpu = (false || ... || on_gpu(arguments));
    return Operators::all().find<R(Args...)>(name_, gpu)(std::forward<Args>(arguments)...);
  }
  R operator()(Args... arguments) const { return call(std::forward<Args>(arguments)...); }

 private:
  std::string name_;
};

class OperatorName {
 public:
  explicit OperatorName(std::string name) : name_(std::move(name)) {}
  template <class Signature>
  TypedOperator<Signature> typed() const {
    return TypedOperator<Signature>(name_);
  }

 private:
  std::string name_;
};

}  // namespace tandem::compat

namespace c10 {

class Dispatcher {
 public:
  static Dispatcher& singleton() {
    static Dispatcher dispatcher;
    return dispatcher;
  }
  std::optional<tandem::compat::OperatorName> findSchema(const std::string& name, const std::string& overload = "") {
    const std::string full = overload.empty() ? name : name + "." + overload;
    if (!tandem::compat::Operators::all().contains(full)) return std::nullopt;
    return tandem::compat::OperatorName(full);
  }
  /// Throws Error if no library defines the name.
  tandem::compat::OperatorName findSchemaOrThrow(const char* name, const char* overload) {
    const auto found = findSchema(name, overload);
    tandem::check(found.has_value(), "Could not find schema for ", name, ".", overload);
    return *found;
  }
};

}  // namespace c10

namespace at {
/// Until it is destroyed, calls of registered functions on this thread go past those for Autograd, and no gradient is
/// recorded.
class AutoDispatchBelowADInplaceOrView {
 public:
  AutoDispatchBelowADInplaceOrView() { ++tandem::compat::below_autograd; }
  ~AutoDispatchBelowADInplaceOrView() { --tandem::compat::below_autograd; }
  AutoDispatchBelowADInplaceOrView(const AutoDispatchBelowADInplaceOrView&) = delete;
  AutoDispatchBelowADInplaceOrView& operator=(const AutoDispatchBelowADInplaceOrView&) = delete;

 private:
  tandem::NoGradGuard no_grad_;
};
using AutoDispatchBelowAutograd = AutoDispatchBelowADInplaceOrView;
using AutoNonVariableTypeMode = AutoDispatchBelowADInplaceOrView;
}  // namespace at

namespace torch {

/// Base of classes that a program declares with class_.
class CustomClassHolder : public c10::intrusive_ptr_target {};

/// The name of an argument of a method, with or without a default.
struct arg {
  explicit arg(std::string) {}
  template <class T>
  arg& operator=(const T&) {
    return *this;
  }
  static arg none() { return arg(""); }
};
namespace detail {
struct Constructor {};
}  // namespace detail
/// The constructor of a class_ with these arguments, or a function in its place.
template <class... Args>
detail::Constructor init() {
  return {};
}
template <class Function>
detail::Constructor init(Function) {
  return {};
}

/// Takes the declaration of a class for TorchScript, which does not exist here, and drops it.
template <class T>
class class_ {
  static_assert(std::is_base_of_v<CustomClassHolder, T>, "the class must derive from torch::CustomClassHolder");

 public:
  class_(const std::string& /*library*/, const std::string& /*name*/, std::string /*doc*/ = "") {}
  class_& def(detail::Constructor, std::string /*doc*/ = "", std::initializer_list<arg> = {}) { return *this; }
  template <class Function>
  class_& def(std::string /*name*/, Function, std::string /*doc*/ = "", std::initializer_list<arg> = {}) {
    return *this;
  }
  template <class Function>
  class_& def_static(std::string /*name*/, Function, std::string /*doc*/ = "") {
    return *this;
  }
  template <class Get>
  class_& def_property(const std::string& /*name*/, Get, std::string /*doc*/ = "") {
    return *this;
  }
  template <class Get, class Set>
  requires std::is_invocable_v<Set, T*, std::invoke_result_t<Get, T*>> class_& def_property(const std::string& /*name*/,
                                                                                            Get, Set,
                                                                                            std::string /*doc*/ = "") {
    return *this;
  }
  template <class Field>
  class_& def_readwrite(const std::string& /*name*/, Field T::*) {
    return *this;
  }
  template <class Field>
  class_& def_readonly(const std::string& /*name*/, Field T::*) {
    return *this;
  }
  template <class Get, class Set>
  class_& def_pickle(Get, Set) {
    return *this;
  }
};

/// In place of a function: the next one that fits is called.
class CppFunction {
 public:
  static CppFunction makeFallthrough() { return {}; }
};

class Library {
 public:
  enum Kind { DEF, IMPL, FRAGMENT };
  /// `key`: for which tensors the functions are, as in TORCH_LIBRARY_IMPL.
  Library(std::string name, std::string key) : name_(std::move(name)), key_(std::move(key)) {}

  /// Defines a name, which may be followed by a schema. Throws Error if it was defined before.
  Library& def(const std::string& schema) {
    tandem::compat::Operators::all().define(full_name(schema));
    return *this;
  }
  template <class Function>
  Library& def(const std::string& schema, Function&& function) {
    def(schema);
    add(full_name(schema), std::function(std::forward<Function>(function)));
    return *this;
  }
  /// Gives a function to a name, which may be defined later.
  template <class Function>
  Library& impl(const std::string& name, Function&& function) {
    if constexpr (!std::is_same_v<std::decay_t<Function>, CppFunction>)
      add(full_name(name), std::function(std::forward<Function>(function)));
    return *this;
  }
  Library& fallback(CppFunction) { return *this; }
  template <class T>
  torch::class_<T> class_(const std::string& name) {
    return torch::class_<T>(name_, name);
  }

 private:
  std::string full_name(const std::string& schema) const {
    const std::string name = schema.substr(0, schema.find('('));
    return name.find("::") == std::string::npos ? name_ + "::" + name : name;
  }
  template <class Function>
  void add(const std::string& name, Function function) const {
    tandem::compat::Operators::all().add(name, key_, std::move(function));
  }
  std::string name_, key_;
};

/// Registers functions where it is declared: `static auto functions = torch::RegisterOperators("lib::name", &name);`
class RegisterOperators {
 public:
  RegisterOperators() = default;
  template <class Function>
  RegisterOperators(const std::string& schema, Function&& function) {
    op(schema, std::forward<Function>(function));
  }
  template <class Function>
  RegisterOperators& op(const std::string& schema, Function&& function) {
    Library("", "").def(schema, std::forward<Function>(function));
    return *this;
  }
};

namespace detail {
struct RunAtStart {
  RunAtStart(void (*fill)(Library&), std::string name, std::string key) {
    Library library(std::move(name), std::move(key));
    fill(library);
  }
};
}  // namespace detail
}  // namespace torch

#define TANDEM_COMPAT_LIBRARY(function, library, key, m)                                                 \
  static void function(torch::Library&);                                                                 \
  static const torch::detail::RunAtStart C10_CONCATENATE(function, _at_start)(&function, #library, key); \
  static void function([[maybe_unused]] torch::Library& m)

#define TORCH_LIBRARY(library, m) TANDEM_COMPAT_LIBRARY(TORCH_LIBRARY_init_##library, library, "", m)
#define TORCH_LIBRARY_FRAGMENT(library, m) \
  TANDEM_COMPAT_LIBRARY(C10_CONCATENATE(TORCH_LIBRARY_FRAGMENT_init_, __COUNTER__), library, "", m)
#define TORCH_LIBRARY_IMPL(library, key, m) \
  TANDEM_COMPAT_LIBRARY(C10_CONCATENATE(TORCH_LIBRARY_IMPL_init_, __COUNTER__), library, #key, m)
#define TORCH_FN(function) (function)
#define TORCH_SELECTIVE_NAME(name) name
#define TORCH_SELECTIVE_SCHEMA(schema) schema
#define TORCH_SELECTIVE_CLASS(name) name
