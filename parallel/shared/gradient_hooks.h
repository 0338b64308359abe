// Hooks that report when the gradients of parameters arrive.
#pragma once
#include <functional>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::parallel {

class GradientHooks {
 public:
  GradientHooks() = default;
  using Callback = std::function<void(std::size_t i)>;
  /// Calls arriving(i), if given, before a gradient of parameters[i] is accumulated, and arrived(i) afterwards, both on
  /// the thread that does it. If arriving() throws, .grad() stays as it is.
  GradientHooks(std::vector<Tensor> parameters, Callback arrived, Callback arriving = nullptr);
  ~GradientHooks();
  GradientHooks(GradientHooks&& other) noexcept;
  GradientHooks& operator=(GradientHooks&& other) noexcept;

 private:
  std::vector<Tensor> parameters_;
  std::vector<unsigned> hooks_;
};

}  // namespace tandem::parallel
