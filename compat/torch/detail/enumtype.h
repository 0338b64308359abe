// torch::enumtype: the names of options' constants. Tandem's options are enumerations, not variants of types.
#pragma once
#include <string>

#include "tandem/tandem.h"

namespace torch::enumtype {

inline std::string get_enum_name(tandem::Reduction value) {
  constexpr const char* names[] = {"kNone", "kMean", "kSum", "kBatchMean"};
  return names[static_cast<int>(value)];
}
inline std::string get_enum_name(tandem::nn::PaddingMode value) {
  constexpr const char* names[] = {"kZeros",    "kReflect", "kReplicate", "kCircular",
                                   "kConstant", "kBorder",  "kReflection"};
  return names[static_cast<int>(value)];
}
inline std::string get_enum_name(tandem::nn::InterpolationMode value) {
  constexpr const char* names[] = {"kNearest", "kNearestExact", "kLinear", "kBilinear",
                                   "kBicubic", "kTrilinear",    "kArea"};
  return names[static_cast<int>(value)];
}
inline std::string get_enum_name(tandem::nn::PaddingKind value) {
  return value == tandem::nn::PaddingKind::kSame ? "kSame" : "kValid";
}
inline std::string get_enum_name(tandem::nn::init::FanMode value) {
  return value == tandem::nn::init::FanMode::kFanIn ? "kFanIn" : "kFanOut";
}
inline std::string get_enum_name(tandem::nn::init::Nonlinearity value) {
  constexpr const char* names[] = {
      "kLinear",          "kConv1D",  "kConv2D", "kConv3D", "kConvTranspose1D", "kConvTranspose2D",
      "kConvTranspose3D", "kSigmoid", "kTanh",   "kReLU",   "kLeakyReLU",       "kSELU"};
  return names[static_cast<int>(value)];
}
inline tandem::Reduction reduction_get_enum(tandem::Reduction value) { return value; }

}  // namespace torch::enumtype
