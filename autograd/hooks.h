// Registration of tensor hooks (the templates behind Tensor::register_hook and similar functions).
#pragma once
#include "tandem/autograd/node.h"

namespace tandem {
namespace autograd {

unsigned add_hook(const Tensor& t, std::shared_ptr<TensorHook> hook);
unsigned add_post_accumulate_hook(const Tensor& t, std::shared_ptr<TensorHook> hook);

/// Any callable that takes a Tensor and returns a Tensor or nothing.
template <class F>
struct CallableHook final : TensorHook {
  explicit CallableHook(F f) : function(std::move(f)) {}
  Tensor call(const Tensor& tensor) override {
    if constexpr (std::is_void_v<decltype(function(tensor))>) {
      function(tensor);
      return {};
    } else {
      return function(tensor);
    }
  }
  F function;
};

}  // namespace autograd

template <class Hook>
unsigned Tensor::register_hook(Hook hook) const {
  return autograd::add_hook(*this, std::make_shared<autograd::CallableHook<Hook>>(std::move(hook)));
}
template <class Hook>
unsigned Tensor::register_post_accumulate_grad_hook(Hook hook) const {
  return autograd::add_post_accumulate_hook(*this, std::make_shared<autograd::CallableHook<Hook>>(std::move(hook)));
}

}  // namespace tandem
