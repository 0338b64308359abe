// The activation that nn::fuse moves into a layer.
#pragma once
#include "tandem/core/conv_epilogue.h"

namespace tandem::nn {

using tandem::FusedActivation;

namespace detail {

inline const char* fused_text(FusedActivation activation) {
  return activation == FusedActivation::kIdentity    ? ""
         : activation == FusedActivation::kRelu      ? ", fused=relu"
         : activation == FusedActivation::kHardswish ? ", fused=hardswish"
                                                     : ", fused=relu6";
}

}  // namespace detail
}  // namespace tandem::nn
