// call: runs a module's forward with its forward hooks, inside a profiler span.
#pragma once
#include <tuple>

#include "tandem/core/profile.h"
#include "tandem/nn/module.h"

namespace tandem::nn {
namespace detail {

/// The module's type as shown in the profiler, such as "Linear". Valid until the thread ends.
const std::string& span_name(const Module& module);
/// Adds the module to the error's place, unless it is on the path there: "in Net.layer1.0.conv1: ". A module that is not
/// registered in the one that called it has its type in place of a name: "in Net.<Linear>: ".
void locate(Error& error, const Module& module) noexcept;

template <class M, class... Args>
__attribute__((noinline)) auto call_hooked(M& module, Args... args) {
  const auto hooks = module.forward_hooks();
  std::vector<Tensor> inputs;
  const auto collect = [&inputs]<class A>(A& arg) {
    if constexpr (std::is_same_v<A, Tensor>) inputs.push_back(arg);
  };
  (collect(args), ...);
  const std::size_t count = inputs.size();
  const auto pre = hooks->pre;  // a copy: a hook may remove itself
  for (const auto& entry : pre) entry.hook->before(module, inputs);
  check(inputs.size() == count, module.name(), ": a forward pre-hook returned ", inputs.size(), " inputs, expected ",
        count);
  std::size_t at = 0;
  const auto replace = [&]<class A>(A& arg) {
    if constexpr (std::is_same_v<A, Tensor>) arg = inputs[at++];
  };
  (replace(args), ...);
  const auto post = hooks->post;
  const auto run = [&] {  // moves the arguments where forward takes one by `&&`
    if constexpr (requires { module.forward(args...); })
      return module.forward(args...);
    else
      return module.forward(std::move(args)...);
  };
  if constexpr (std::is_void_v<decltype(run())>) {
    run();
    for (const auto& entry : post) entry.hook->after(module, inputs, {});
  } else {
    auto output = run();
    for (const auto& entry : post) {
      if constexpr (std::is_same_v<decltype(output), Tensor>) {
        const Tensor replaced = entry.hook->after(module, inputs, output);
        if (replaced.defined()) output = replaced;
      } else {
        entry.hook->after(module, inputs, {});
      }
    }
    return output;
  }
}

template <class M, class... Args>
auto call_now(M& module, Args&&... args) {
  if (module.has_forward_hooks()) [[unlikely]]
    return call_hooked<M, std::decay_t<Args>...>(module, std::forward<Args>(args)...);
  return module.forward(std::forward<Args>(args)...);
}
template <class M, class... Args>
__attribute__((noinline, cold)) auto call_profiled(M& module, Args&&... args) {
  const profiler::Record span(span_name(module), "module");
  return call_now(module, std::forward<Args>(args)...);
}

}  // namespace detail

/// module.forward(args...), with the module's forward hooks run before and after it. An Error names the module.
template <class M, class... Args>
requires std::is_base_of_v<Module, M>
auto call(M& module, Args&&... args) {
  try {
    if (profiler::is_on()) [[unlikely]]
      return detail::call_profiled(module, std::forward<Args>(args)...);
    return detail::call_now(module, std::forward<Args>(args)...);
  } catch (Error& error) {
    if constexpr (!requires { typename M::IsWrapper; }) detail::locate(error, module);
    throw;
  }
}
template <class M, class... Args>
auto call(const std::shared_ptr<M>& module, Args&&... args) {
  return call(*module, std::forward<Args>(args)...);
}

}  // namespace tandem::nn
