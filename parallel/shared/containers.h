// Traits of tensor containers: std::vector, array, pair, tuple, optional and map of tensors, also nested.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "tandem/core/tensor.h"

namespace tandem::parallel::detail {

template <class T>
struct Container {
  static constexpr bool holds_tensors = false;
};
template <>
struct Container<Tensor> {
  static constexpr bool holds_tensors = true;
};
template <class T>
inline constexpr bool holds_tensors = Container<T>::holds_tensors;
template <class T>
struct ListOf {
  static constexpr bool holds_tensors = detail::holds_tensors<T>, is_list = true;
};
template <class T, class A>
struct Container<std::vector<T, A>> : ListOf<T> {};
template <class T, std::size_t N>
struct Container<std::array<T, N>> : ListOf<T> {};
template <class T>
struct Container<std::optional<T>> {
  static constexpr bool holds_tensors = detail::holds_tensors<T>, is_optional = true;
};
template <class K, class T, class C, class A>
struct Container<std::map<K, T, C, A>> {
  static constexpr bool holds_tensors = detail::holds_tensors<T>, is_map = true;
};
template <class... T>
struct Container<std::tuple<T...>> {
  static constexpr bool holds_tensors = (detail::holds_tensors<T> || ...), is_tuple = true;
};
template <class A, class B>
struct Container<std::pair<A, B>> : Container<std::tuple<A, B>> {};

template <class T>
concept IsList = requires {
  Container<T>::is_list;
};
template <class T>
concept IsMap = requires {
  Container<T>::is_map;
};
template <class T>
concept IsOptional = requires {
  Container<T>::is_optional;
};
template <class T>
concept IsTuple = requires {
  Container<T>::is_tuple;
};

/// `value` with every defined tensor t replaced by f(t), in order.
template <class T, class F>
T map_tensors(const T& value, F&& f) {
  if constexpr (!holds_tensors<T>) {
    return value;
  } else if constexpr (std::is_same_v<T, Tensor>) {
    return value.defined() ? f(value) : value;
  } else if constexpr (IsTuple<T>) {
    return std::apply([&](const auto&... items) { return T{map_tensors(items, f)...}; }, value);
  } else {
    T out = value;
    if constexpr (IsMap<T>)
      for (auto& item : out) item.second = map_tensors(item.second, f);
    else if constexpr (IsOptional<T>)
      out ? void(out = map_tensors(*out, f)) : void();
    else
      for (auto& item : out) item = map_tensors(item, f);
    return out;
  }
}

}  // namespace tandem::parallel::detail
