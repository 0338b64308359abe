// The mechanism of the functions that write their result to a given tensor (add_out, …).
#pragma once
#include <tuple>

#include "tandem/core/tensor.h"

namespace tandem::autograd {

/// Copies `result` to out, which takes its shape, and returns out. The first time that an out with elements has another
/// shape, a warning is printed. Throws Error when out or a tensor from which result was computed requires a gradient
/// (unless recording is off), on another device, and when results of that dtype are not cast to out's (can_cast).
Tensor& write_out(const char* operation, Tensor& out, const Tensor& result);

/// The same for several results.
template <class... Outs, class... Results>
std::tuple<Outs&...> write_outs(const char* operation, std::tuple<Outs&...> outs,
                                const std::tuple<Results...>& results) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (write_out(operation, std::get<I>(outs), std::get<I>(results)), ...);
  }
  (std::index_sequence_for<Outs...>());
  return outs;
}

}  // namespace tandem::autograd
