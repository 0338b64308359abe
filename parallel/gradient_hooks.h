// Hooks that tell when the gradients of parameters arrive.
#pragma once
#include <functional>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::parallel {

class GradientHooks {
 public:
  GradientHooks() = default;
  /// After the gradient of parameters[i] has been accumulated, calls arrived(i) on the thread that did it.
  GradientHooks(std::vector<Tensor> parameters, const std::function<void(std::size_t i)>& arrived);
  ~GradientHooks();
  GradientHooks(GradientHooks&& other) noexcept;
  GradientHooks& operator=(GradientHooks&& other) noexcept;

 private:
  std::vector<Tensor> parameters_;
  std::vector<unsigned> hooks_;
};

}  // namespace tandem::parallel
