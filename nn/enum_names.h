// The names of options' constants, as modules print them: "kMean", "kCircular", "kBilinear".
#pragma once
#include "tandem/nn/enums.h"

namespace tandem::nn {

inline const char* enum_name(Reduction value) {
  constexpr const char* names[] = {"kNone", "kMean", "kSum", "kBatchMean"};
  return names[static_cast<int>(value)];
}
inline const char* enum_name(PaddingMode value) {
  constexpr const char* names[] = {"kZeros",    "kReflect", "kReplicate", "kCircular",
                                   "kConstant", "kBorder",  "kReflection"};
  return names[static_cast<int>(value)];
}
inline const char* enum_name(InterpolationMode value) {
  constexpr const char* names[] = {"kNearest", "kNearestExact", "kLinear", "kBilinear",
                                   "kBicubic", "kTrilinear",    "kArea"};
  return names[static_cast<int>(value)];
}
inline const char* enum_name(PaddingKind value) { return value == PaddingKind::kSame ? "kSame" : "kValid"; }
inline const char* enum_name(init::FanMode value) { return value == init::FanMode::kFanIn ? "kFanIn" : "kFanOut"; }
inline const char* enum_name(init::Nonlinearity value) {
  constexpr const char* names[] = {
      "kLinear",          "kConv1D",  "kConv2D", "kConv3D", "kConvTranspose1D", "kConvTranspose2D",
      "kConvTranspose3D", "kSigmoid", "kTanh",   "kReLU",   "kLeakyReLU",       "kSELU"};
  return names[static_cast<int>(value)];
}

}  // namespace tandem::nn
