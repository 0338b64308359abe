// Constants for options: nn::CrossEntropyLossOptions().reduction(tandem::kSum).
#pragma once
#include <cstdint>

#include "tandem/core/reduction.h"

namespace tandem {
namespace nn {

/// kBorder and kReflection are of grid_sample, the others of padding.
enum class PaddingMode : int8_t { kZeros, kReflect, kReplicate, kCircular, kConstant, kBorder, kReflection };
enum class InterpolationMode : int8_t { kNearest, kNearestExact, kLinear, kBilinear, kBicubic, kTrilinear, kArea };
/// kSame: pads so that the output has the input's size at stride 1. kValid: no padding.
enum class PaddingKind : int8_t { kValid, kSame };

namespace init {
enum class FanMode : int8_t { kFanIn, kFanOut };
enum class Nonlinearity : int8_t {
  kLinear,
  kConv1D,
  kConv2D,
  kConv3D,
  kConvTranspose1D,
  kConvTranspose2D,
  kConvTranspose3D,
  kSigmoid,
  kTanh,
  kReLU,
  kLeakyReLU,
  kSELU
};
}  // namespace init
}  // namespace nn

inline constexpr nn::PaddingMode kZeros = nn::PaddingMode::kZeros, kReflect = nn::PaddingMode::kReflect,
                                 kReplicate = nn::PaddingMode::kReplicate, kCircular = nn::PaddingMode::kCircular,
                                 kConstant = nn::PaddingMode::kConstant, kBorder = nn::PaddingMode::kBorder,
                                 kReflection = nn::PaddingMode::kReflection;
inline constexpr nn::InterpolationMode kNearest = nn::InterpolationMode::kNearest,
                                       kNearestExact = nn::InterpolationMode::kNearestExact,
                                       kBilinear = nn::InterpolationMode::kBilinear,
                                       kBicubic = nn::InterpolationMode::kBicubic,
                                       kTrilinear = nn::InterpolationMode::kTrilinear,
                                       kArea = nn::InterpolationMode::kArea;
inline constexpr nn::PaddingKind kValid = nn::PaddingKind::kValid, kSame = nn::PaddingKind::kSame;
inline constexpr nn::init::FanMode kFanIn = nn::init::FanMode::kFanIn, kFanOut = nn::init::FanMode::kFanOut;
inline constexpr nn::init::Nonlinearity kLinear = nn::init::Nonlinearity::kLinear,
                                        kConv1D = nn::init::Nonlinearity::kConv1D,
                                        kConv2D = nn::init::Nonlinearity::kConv2D,
                                        kConv3D = nn::init::Nonlinearity::kConv3D,
                                        kConvTranspose1D = nn::init::Nonlinearity::kConvTranspose1D,
                                        kConvTranspose2D = nn::init::Nonlinearity::kConvTranspose2D,
                                        kConvTranspose3D = nn::init::Nonlinearity::kConvTranspose3D,
                                        kSigmoid = nn::init::Nonlinearity::kSigmoid,
                                        kTanh = nn::init::Nonlinearity::kTanh, kReLU = nn::init::Nonlinearity::kReLU,
                                        kLeakyReLU = nn::init::Nonlinearity::kLeakyReLU,
                                        kSELU = nn::init::Nonlinearity::kSELU;

}  // namespace tandem
