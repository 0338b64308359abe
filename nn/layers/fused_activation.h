// An activation that a layer applies to its own output, once nn::fuse has moved it there.
#pragma once
#include <cstdint>

#include "tandem/core/tensor.h"

namespace tandem::nn {

enum class FusedActivation : uint8_t { kNone, kReLU, kReLU6 };

namespace detail {

/// Applies the activation in place: nothing else may use `output`.
inline Tensor activated(Tensor output, FusedActivation activation) {
  if (activation == FusedActivation::kReLU) output.relu_();
  if (activation == FusedActivation::kReLU6) output.clamp_(Scalar(0), Scalar(6));
  return output;
}
inline const char* fused_text(FusedActivation activation) {
  return activation == FusedActivation::kNone   ? ""
         : activation == FusedActivation::kReLU ? ", fused=relu"
                                                : ", fused=relu6";
}

}  // namespace detail
}  // namespace tandem::nn
