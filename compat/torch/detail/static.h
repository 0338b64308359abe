// Traits of modules that programs' templates use.
#pragma once
#include <type_traits>
#include <utility>

#include "tandem/tandem.h"

namespace torch {

using std::enable_if_t;

/// Calls the function with each of the values.
template <class Function, class... Ts>
void apply(Function function, Ts&&... values) {
  (static_cast<void>(function(std::forward<Ts>(values))), ...);
}

namespace detail {

template <class M>
using is_module = std::is_base_of<tandem::nn::Module, std::decay_t<M>>;
template <class M, class T = void>
using enable_if_module_t = std::enable_if_t<is_module<M>::value, T>;

/// Whether no type is a reference to something that is not const.
template <class... Ts>
constexpr bool check_not_lvalue_references() {
  return ((!std::is_lvalue_reference_v<Ts> || std::is_const_v<std::remove_reference_t<Ts>>)&&...);
}

/// `type`: what M's forward returns for these arguments; void if it does not take them.
template <class M, class... Args>
struct return_type_of_forward {
  using type = void;
};
template <class M, class... Args>
requires requires(M module, Args&&... arguments) { module.forward(std::forward<Args>(arguments)...); }
struct return_type_of_forward<M, Args...> {
  using type = decltype(std::declval<M&>().forward(std::declval<Args>()...));
};
template <class M, class... Args>
using return_type_of_forward_t = typename return_type_of_forward<M, Args...>::type;

}  // namespace detail
}  // namespace torch
