// The precision of forward passes: autocast for bf16 and fp16.
#pragma once
#include <memory>

#include "tandem/autograd/autocast.h"
#include "tandem/cli/train/recipe.h"

namespace tandem::cli {

/// While the result is alive, this thread's forward passes on the device compute in the recipe's precision.
/// Null for fp32.
[[nodiscard]] inline std::unique_ptr<autocast::AutocastGuard> in_precision(const Recipe& recipe, Device device) {
  if (recipe.precision == "fp32") return nullptr;
  return std::make_unique<autocast::AutocastGuard>(device.type(), recipe.precision == "bf16" ? kBFloat16 : kHalf);
}

}  // namespace tandem::cli
