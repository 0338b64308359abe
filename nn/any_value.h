// AnyValue: a type-erased value, for the arguments and results of type-erased modules.
#pragma once
#include <any>
#include <string>
#include <typeinfo>

#include "tandem/core/error.h"

namespace tandem::nn {

namespace detail {
/// Demangled name of a type, such as "tandem::Tensor".
std::string type_name(const std::type_info& type);
}  // namespace detail

class AnyValue {
 public:
  explicit AnyValue() = default;
  AnyValue(const AnyValue&) = default;
  AnyValue(AnyValue&&) = default;
  AnyValue& operator=(const AnyValue&) = default;
  AnyValue& operator=(AnyValue&&) = default;
  template <class T>
  requires(!std::is_same_v<std::decay_t<T>, AnyValue>) explicit AnyValue(T&& value) : value_(std::forward<T>(value)) {}

  /// nullptr when the value has a different type.
  template <class T>
  T* try_get() {
    return std::any_cast<T>(&value_);
  }
  /// Throws Error when the value has a different type.
  template <class T>
  T get() {
    T* found = try_get<T>();
    if (found == nullptr) [[unlikely]]
      fail("Attempted to cast AnyValue to ", detail::type_name(typeid(T)), ", but its actual type is ",
           detail::type_name(value_.type()));
    return *found;
  }
  const std::type_info& type_info() const noexcept { return value_.type(); }

 private:
  std::any value_;
};

}  // namespace tandem::nn
