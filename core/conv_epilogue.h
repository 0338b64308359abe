// The operations of a convolution on each of its sums while it is in the cache.
#pragma once
#include <cstdint>

namespace tandem {

/// An activation that a layer applies to its own output, once nn::fuse has moved it there.
enum class FusedActivation : uint8_t { kIdentity, kRelu, kRelu6, kHardswish };

/// Adds a bias [O], then a residual of the output's shape, each if given, and last applies the activation: the same bits
/// as passes over the whole output. Array: Tensor, or a pointer to its elements.
template <class Array>
struct ConvEpilogue {
  Array bias{}, residual{};
  FusedActivation activation = FusedActivation::kIdentity;
};

/// The activation of a number or a vector of them. NaN and -0 stay.
template <class V>
[[gnu::always_inline]] inline V activated(V value, FusedActivation activation) {
  if (activation == FusedActivation::kIdentity) return value;
  const V zero{}, six = zero + 6.f;
  if (activation == FusedActivation::kHardswish) {
    V gate = value + 3.f;
    gate = gate < zero ? zero : gate;
    return value * ((gate > six ? six : gate) / 6.f);
  }
  value = value < zero ? zero : value;
  if (activation == FusedActivation::kRelu6) value = value > six ? six : value;
  return value;
}

}  // namespace tandem
