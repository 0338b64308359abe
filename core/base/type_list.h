// TypeList: a list of types, with the index of each.
#pragma once
#include <cstddef>
#include <type_traits>

#include "tandem/core/base/cpp20.h"

namespace tandem {

template <class... Ts>
struct TypeList {
  static constexpr std::size_t size = sizeof...(Ts);
};

/// Carries a type as a value: `[&]<class T>(Type<T>) { … }`.
template <class T>
struct Type {
  using type = T;
};

template <class T, class List>
struct IndexOf;
template <class T, class... Ts>
struct IndexOf<T, TypeList<Ts...>> {
  static constexpr std::size_t find() {
    constexpr bool same[] = {std::is_same_v<T, Ts>...};
    for (std::size_t i = 0; i < sizeof...(Ts); ++i)
      if (same[i]) return i;
    return sizeof...(Ts);
  }
  static constexpr std::size_t value = find();
  static_assert(value < sizeof...(Ts), "the type is not in the list");
};
template <class T, class List>
inline constexpr std::size_t index_of = IndexOf<T, List>::value;

template <class T, class List>
inline constexpr bool contains = false;
template <class T, class... Ts>
inline constexpr bool contains<T, TypeList<Ts...>> = (std::is_same_v<T, Ts> || ...);

template <class A, class B>
struct Concat;
template <class... As, class... Bs>
struct Concat<TypeList<As...>, TypeList<Bs...>> {
  using type = TypeList<As..., Bs...>;
};
template <class A, class B>
using concat_t = typename Concat<A, B>::type;

namespace detail {
template <class List, class Selected, std::size_t index, std::size_t part, std::size_t parts>
struct Part;
template <class... Selected, std::size_t index, std::size_t part, std::size_t parts>
struct Part<TypeList<>, TypeList<Selected...>, index, part, parts> {
  using type = TypeList<Selected...>;
};
template <class T, class... Ts, class... Selected, std::size_t index, std::size_t part, std::size_t parts>
struct Part<TypeList<T, Ts...>, TypeList<Selected...>, index, part, parts>
    : Part<TypeList<Ts...>, std::conditional_t<index % parts == part, TypeList<Selected..., T>, TypeList<Selected...>>,
           index + 1, part, parts> {};
}  // namespace detail

/// Every `parts`-th type of List, from position `part` on.
template <class List, std::size_t part, std::size_t parts>
using part_t = typename detail::Part<List, TypeList<>, 0, part, parts>::type;

}  // namespace tandem
