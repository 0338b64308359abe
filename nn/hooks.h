// Forward hooks of a module: user functions that run before or after its forward.
//
// A pre-hook receives (module, inputs), a hook (module, inputs, output); `inputs` are the tensors among the
// call's arguments, in order. Hooks run for calls through a holder (`net(x)`), through containers and through
// nn::call(module, …), but not for a direct `module->forward(x)`.
#pragma once
#include <memory>
#include <type_traits>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::nn {

class Module;

namespace detail {

struct ForwardHook {
  virtual ~ForwardHook() = default;
  /// Returns the replacement for the output; undefined keeps the output.
  virtual Tensor after(Module&, const std::vector<Tensor>& /*inputs*/, const Tensor& /*output*/) { return {}; }
  /// May replace inputs.
  virtual void before(Module&, std::vector<Tensor>& /*inputs*/) {}
};

template <class F>
struct CallableForwardHook final : ForwardHook {
  explicit CallableForwardHook(F f) : function(std::move(f)) {}
  Tensor after(Module& module, const std::vector<Tensor>& inputs, const Tensor& output) override {
    if constexpr (std::is_void_v<decltype(function(module, inputs, output))>) {
      function(module, inputs, output);
      return {};
    } else {
      return function(module, inputs, output);
    }
  }
  F function;
};

template <class F>
struct CallablePreHook final : ForwardHook {
  explicit CallablePreHook(F f) : function(std::move(f)) {}
  void before(Module& module, std::vector<Tensor>& inputs) override {
    using Result = decltype(function(module, std::as_const(inputs)));
    if constexpr (std::is_void_v<Result>) {
      function(module, std::as_const(inputs));
    } else if constexpr (std::is_convertible_v<Result, Tensor>) {
      const Tensor first = function(module, std::as_const(inputs));
      if (first.defined() && !inputs.empty()) inputs[0] = first;
    } else {
      auto replaced = function(module, std::as_const(inputs));
      if (!replaced.empty()) inputs = std::move(replaced);
    }
  }
  F function;
};

struct ForwardHooks {
  struct Entry {
    unsigned id;
    std::shared_ptr<ForwardHook> hook;
  };
  std::vector<Entry> pre, post;
  unsigned next_id = 1;
};

}  // namespace detail

/// Removes its hook: `handle.remove()`. Safe to call after the module has been destroyed.
class HookHandle {
 public:
  HookHandle() = default;
  HookHandle(std::weak_ptr<detail::ForwardHooks> hooks, unsigned id) : hooks_(std::move(hooks)), id_(id) {}
  void remove() {
    const auto hooks = hooks_.lock();
    if (!hooks) return;
    const auto same = [this](const auto& entry) { return entry.id == id_; };
    std::erase_if(hooks->pre, same);
    std::erase_if(hooks->post, same);
  }

 private:
  std::weak_ptr<detail::ForwardHooks> hooks_;
  unsigned id_ = 0;
};

}  // namespace tandem::nn
