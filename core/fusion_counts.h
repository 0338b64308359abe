// The effect of fusion on a captured step.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tandem {

/// Kernels that a step calls and that can wait for others (most are elementwise), and those that run in their place.
struct FusionCounts {
  std::size_t calls = 0, kernels = 0;
  /// The bytes that they read and write; an element that broadcasting repeats counts once.
  int64_t bytes_before = 0, bytes_after = 0;
};

}  // namespace tandem
