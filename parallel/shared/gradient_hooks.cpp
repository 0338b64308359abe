#include "tandem/parallel/shared/gradient_hooks.h"

#include <memory>
#include <utility>

#include "tandem/autograd/hooks.h"
#include "tandem/autograd/meta.h"

namespace tandem::parallel {
namespace {

struct Callbacks {
  GradientHooks::Callback arrived, arriving;
};

struct ArrivalHook final : autograd::AccumulationHook {
  ArrivalHook(std::shared_ptr<const Callbacks> given, std::size_t i) : callbacks(std::move(given)), parameter(i) {}
  void before(const Tensor&) override {
    if (callbacks->arriving) callbacks->arriving(parameter);
  }
  Tensor call(const Tensor&) override {
    callbacks->arrived(parameter);
    return {};
  }
  const std::shared_ptr<const Callbacks> callbacks;
  const std::size_t parameter;
};

}  // namespace

GradientHooks::GradientHooks(std::vector<Tensor> parameters, Callback arrived, Callback arriving)
    : parameters_(std::move(parameters)) {
  const auto callbacks = std::make_shared<const Callbacks>(Callbacks{std::move(arrived), std::move(arriving)});
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    hooks_.push_back(autograd::add_post_accumulate_hook(parameters_[i], std::make_shared<ArrivalHook>(callbacks, i)));
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
