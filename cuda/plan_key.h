// Keys of plan caches: everything that a cuBLASLt, cuDNN or cuFFT plan depends on, as plain structs.
//
// fields() lists a key's members; equality and hash use it, so padding bytes do not matter.
#pragma once
#include <array>
#include <cstdint>
#include <tuple>

#include "tandem/core/backend/sliding_windows.h"
#include "tandem/core/dtype.h"
#include "tandem/core/random/splitmix64.h"

namespace tandem::cuda_impl {

template <class T>
constexpr uint64_t hash_field(uint64_t seed, const T& value) {
  return mixed(seed + static_cast<uint64_t>(value));
}
template <class T, std::size_t N>
constexpr uint64_t hash_field(uint64_t seed, const std::array<T, N>& values) {
  for (const T& value : values) seed = hash_field(seed, value);
  return seed;
}

template <class Key>
concept PlanKey = requires(const Key& key) {
  key.fields();
};

template <PlanKey Key>
constexpr bool operator==(const Key& a, const Key& b) {
  return a.fields() == b.fields();
}

/// The hash for std::unordered_map.
struct PlanHash {
  template <PlanKey Key>
  std::size_t operator()(const Key& key) const {
    return std::apply(
        [](const auto&... field) {
          uint64_t seed = 0;
          ((seed = hash_field(seed, field)), ...);
          return static_cast<std::size_t>(seed);
        },
        key.fields());
  }
};

/// x weightᵀ + bias by cuBLASLt.
struct LinearKey {
  int64_t m = 0, n = 0, k = 0;
  int64_t ld_x = 0, ld_weight = 0;
  bool x_transposed = false, weight_transposed = false;
  ScalarType dtype = kFloat;
  bool tf32 = false;
  /// Alignments of x, weight, out and bias in bytes; a power of two up to 256.
  std::array<int32_t, 4> alignment{};

  constexpr auto fields() const {
    return std::tie(m, n, k, ld_x, ld_weight, x_transposed, weight_transposed, dtype, tf32, alignment);
  }
};

enum class ConvPass : int32_t { kForward, kInput, kWeight };

/// A convolution by cuDNN.
struct ConvKey {
  ConvPass pass = ConvPass::kForward;
  ScalarType dtype = kFloat;
  bool tf32 = false, deterministic = true, benchmark = false, channels_last = false;
  /// Alignments of input, weight and output in bytes; a power of two up to 16, more does not matter to cuDNN.
  std::array<int32_t, 3> alignment{};
  std::array<int64_t, 4> input{}, weight{}, output{};
  Conv2dParameters p;

  constexpr auto fields() const {
    return std::tie(pass, dtype, tf32, deterministic, benchmark, channels_last, alignment, input, weight, output,
                    p.stride, p.padding, p.dilation, p.groups);
  }
};

enum class FftKind : int32_t { kComplex, kRealToComplex, kComplexToReal };

/// `count` transforms of n points by cuFFT.
struct FftKey {
  FftKind kind = FftKind::kComplex;
  ScalarType dtype = kFloat;
  int64_t n = 0, count = 0;

  constexpr auto fields() const { return std::tie(kind, dtype, n, count); }
};

/// A cache that reaches this size is cleared, so shapes that never recur do not fill the memory.
inline constexpr std::size_t kMaxPlans = 4096;

/// The largest power of two up to 256 that divides the address.
inline int32_t alignment_of(const void* data) {
  const auto address = reinterpret_cast<uintptr_t>(data) | 256;
  return static_cast<int32_t>(address & (~address + 1));
}

}  // namespace tandem::cuda_impl
