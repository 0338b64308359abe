// LibTorch's at::globalContext(): the precision and the algorithms of matrix products and convolutions on CUDA, for the
// whole process. The CPU ignores them. A thread's state on a GPU is cuda_impl::Context (cuda/context.h), which programs
// do not see.
#pragma once
#include <atomic>

#include "tandem/core/random/generator.h"

namespace tandem {

class Context {
 public:
  /// TF32: float32 products with 10 mantissa bits, several times faster. Off by default for both libraries.
  bool allowTF32CuBLAS() const { return tf32_blas_.load(std::memory_order_relaxed); }
  void setAllowTF32CuBLAS(bool value) { tf32_blas_.store(value, std::memory_order_relaxed); }
  bool allowTF32CuDNN() const { return tf32_dnn_.load(std::memory_order_relaxed); }
  void setAllowTF32CuDNN(bool value) { tf32_dnn_.store(value, std::memory_order_relaxed); }
  /// Benchmarks the algorithms of a convolution on its first run instead of asking a heuristic. Off by
  /// default: the fastest algorithm, and therefore the last bits, may differ between runs.
  bool benchmarkCuDNN() const { return benchmark_.load(std::memory_order_relaxed); }
  void setBenchmarkCuDNN(bool value) { benchmark_.store(value, std::memory_order_relaxed); }
  /// Uses only deterministic algorithms. On by default, unlike in LibTorch.
  bool deterministicCuDNN() const { return deterministic_.load(std::memory_order_relaxed); }
  void setDeterministicCuDNN(bool value) { deterministic_.store(value, std::memory_order_relaxed); }

  /// The libraries are always used.
  static bool userEnabledCuDNN() { return true; }
  static bool userEnabledMkldnn() { return true; }

  // What LibTorch asks of its build.
  static bool hasCUDA() { return device_count(kCUDA) > 0; }
  static bool hasCuDNN() { return hasCUDA(); }
  static bool hasMPS() { return false; }
  static bool hasXLA() { return false; }
  static bool hasXPU() { return false; }
  static bool hasHIP() { return false; }
  static bool hasMKL() { return false; }
  static bool hasMKLDNN() { return false; }
  /// Every algorithm is deterministic; the settings are kept for programs that ask for them.
  bool deterministicAlgorithms() const { return required_.load(std::memory_order_relaxed); }
  void setDeterministicAlgorithms(bool value, bool warn_only = false) {
    required_.store(value, std::memory_order_relaxed);
    warn_only_.store(value && warn_only, std::memory_order_relaxed);
  }
  bool deterministicAlgorithmsWarnOnly() const { return warn_only_.load(std::memory_order_relaxed); }
  const Generator& defaultGenerator(Device) const { return default_generator(); }

 private:
  std::atomic<bool> tf32_blas_{false}, tf32_dnn_{false}, benchmark_{false}, deterministic_{true}, required_{false},
      warn_only_{false};
};

namespace detail {
inline constinit Context global_context;
}
/// The process-wide settings.
inline Context& globalContext() { return detail::global_context; }
inline bool hasCUDA() { return Context::hasCUDA(); }
inline bool hasMPS() { return false; }
inline bool hasXLA() { return false; }
inline bool hasXPU() { return false; }
inline bool hasHIP() { return false; }
inline bool hasMKL() { return false; }
inline bool hasMKLDNN() { return false; }

}  // namespace tandem
