// The mechanism of the functions that write their result to a given tensor (add_out, …).
#pragma once
#include <tuple>
#include <utility>

#include "tandem/autograd/autocast.h"
#include "tandem/autograd/ops/torch_names/named.h"

namespace tandem::autograd {
namespace detail {
/// Copies `result` to out, which takes its shape, and returns out. The first time that an out with elements has another
/// shape, a warning is printed. Throws Error when out or a tensor from which result was computed requires a gradient
/// (unless recording is off), on another device, and when results of that dtype are not cast to out's (can_cast).
Tensor& write_to(const char* operation, Tensor& out, const Tensor& result);
}  // namespace detail

/// Writes results to tensors. Autocast is off while the object lives, so already when the arguments of its call are
/// evaluated: as in PyTorch, these functions compute in the dtypes of what they are given.
template <class... Outs>
class [[nodiscard]] OutCall {
 public:
  OutCall(const char* operation, Outs&... outs)
      : operation_(operation), outs_(outs...), autocast_(std::exchange(autocast::detail::state.enabled, 0)) {}
  ~OutCall() { autocast::detail::state.enabled = autocast_; }
  OutCall(const OutCall&) = delete;
  OutCall& operator=(const OutCall&) = delete;

  Tensor& operator()(const Tensor& result) const requires(sizeof...(Outs) == 1) {
    return detail::write_to(operation_, std::get<0>(outs_), result);
  }
  template <class... Results>
  std::tuple<Outs&...> operator()(const std::tuple<Results...>& results) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (detail::write_to(operation_, std::get<I>(outs_), std::get<I>(results)), ...);
    }
    (std::index_sequence_for<Outs...>());
    return outs_;
  }

 private:
  const char* operation_;
  std::tuple<Outs&...> outs_;
  unsigned autocast_;
};

inline OutCall<Tensor> write_out(const char* operation, Tensor& out) { return {operation, out}; }
template <class... Outs>
OutCall<Outs...> write_outs(const char* operation, Outs&... outs) {
  return {operation, outs...};
}

}  // namespace tandem::autograd

/// TANDEM_OUT(add, (const Tensor& self, const Tensor& other), self, other) defines
/// Tensor& add_out(Tensor& out, const Tensor& self, const Tensor& other), which writes add(self, other) to out.
/// TANDEM_OUT2(max, values, indices, …) defines max_out(Tensor& values, Tensor& indices, …) for two results.
#define TANDEM_OUT(name, parameters, ...)                                     \
  inline Tensor& name##_out(Tensor& out, TANDEM_PARAMETERS parameters) {      \
    return autograd::write_out(#name "_out", out)(tandem::name(__VA_ARGS__)); \
  }
#define TANDEM_OUT2(name, first, second, parameters, ...)                                                       \
  inline std::tuple<Tensor&, Tensor&> name##_out(Tensor& first, Tensor& second, TANDEM_PARAMETERS parameters) { \
    return autograd::write_outs(#name "_out", first, second)(tandem::name(__VA_ARGS__));                        \
  }
