// The parameter of generated kernels: tensors of one shape, which they read, write or both, and numbers.
#pragma once
#include <bit>
#include <cstdint>

#include "tandem/cuda/walk.h"

namespace tandem::cuda_impl {

inline constexpr int kFusedOperands = 16, kFusedNumbers = 48, kFusedThreads = 128;

struct Fused {
  uint32_t numel = 0;
  bool vectors = false;  ///< the operands' rows allow vectors (cuda/elementwise.h)
  Walk<kFusedOperands> walk;
  char* data[kFusedOperands] = {};
  uint64_t numbers[kFusedNumbers] = {};  ///< bit patterns of parameters, in the lowest bytes

  template <class T>
  TANDEM_HD T number(int i) const {
    if constexpr (sizeof(T) == 8)
      return std::bit_cast<T>(numbers[i]);
    else if constexpr (sizeof(T) == 4)
      return std::bit_cast<T>(static_cast<uint32_t>(numbers[i]));
    else if constexpr (sizeof(T) == 2)
      return std::bit_cast<T>(static_cast<uint16_t>(numbers[i]));
    else
      return std::bit_cast<T>(static_cast<uint8_t>(numbers[i]));
  }
};

}  // namespace tandem::cuda_impl
