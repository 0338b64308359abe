#include "tandem/parallel/gradient_hooks.h"

#include <utility>

#include "tandem/autograd/hooks.h"

namespace tandem::parallel {

GradientHooks::GradientHooks(std::vector<Tensor> parameters, const std::function<void(std::size_t)>& arrived)
    : parameters_(std::move(parameters)) {
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    hooks_.push_back(
        parameters_[i].register_post_accumulate_grad_hook([arrived, i](const Tensor&) { arrived(i); }));
}

GradientHooks::~GradientHooks() {
  for (std::size_t i = 0; i < hooks_.size(); ++i) parameters_[i].remove_hook(hooks_[i]);
}

GradientHooks::GradientHooks(GradientHooks&& other) noexcept
    : parameters_(std::move(other.parameters_)), hooks_(std::exchange(other.hooks_, {})) {}

GradientHooks& GradientHooks::operator=(GradientHooks&& other) noexcept {
  std::swap(parameters_, other.parameters_);
  std::swap(hooks_, other.hooks_);
  return *this;
}

}  // namespace tandem::parallel
