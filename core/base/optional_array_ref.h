// OptionalArrayRef: a parameter for a list that may be missing, such as sizes or dimensions (LibTorch's
// c10::OptionalArrayRef).
#pragma once
#include <initializer_list>
#include <optional>
#include <type_traits>
#include <utility>

#include "tandem/core/base/array_ref.h"

namespace tandem {

/// An ArrayRef<T> or nothing. Unlike its base, a function takes a list in braces for it, whose elements live until the
/// call returns.
template <class T>
class OptionalArrayRef : public std::optional<ArrayRef<T>> {
  using Optional = std::optional<ArrayRef<T>>;

 public:
  constexpr OptionalArrayRef() = default;
  constexpr OptionalArrayRef(std::nullopt_t) {}
  constexpr OptionalArrayRef(const Optional& array) : Optional(array) {}
  /// One element.
  constexpr OptionalArrayRef(const T& element) : Optional(element) {}
  constexpr OptionalArrayRef(std::initializer_list<T> list) : Optional(ArrayRef<T>(list)) {}
  template <class Array>
  requires(!std::is_same_v<std::decay_t<Array>, OptionalArrayRef> && std::is_constructible_v<ArrayRef<T>, Array> &&
           !std::is_convertible_v<Array, T>) constexpr explicit(!std::is_convertible_v<Array, ArrayRef<T>>)
      OptionalArrayRef(Array&& array)
      : Optional(ArrayRef<T>(std::forward<Array>(array))) {}
};
using OptionalIntArrayRef = OptionalArrayRef<int64_t>;

}  // namespace tandem
