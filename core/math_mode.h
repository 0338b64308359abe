// Switches of how products and convolutions are computed on CUDA (LibTorch's at::globalContext()). The CPU
// has no use for them.
#pragma once
#include <atomic>

namespace tandem {

class Context {
 public:
  /// TF32: float32 products with 10 bits of mantissa, several times faster. Off by default for both.
  bool allowTF32CuBLAS() const { return tf32_blas_.load(std::memory_order_relaxed); }
  void setAllowTF32CuBLAS(bool value) { tf32_blas_.store(value, std::memory_order_relaxed); }
  bool allowTF32CuDNN() const { return tf32_dnn_.load(std::memory_order_relaxed); }
  void setAllowTF32CuDNN(bool value) { tf32_dnn_.store(value, std::memory_order_relaxed); }
  /// Time the algorithms of a convolution on its first run, instead of asking a heuristic. Off by default:
  /// what is fastest, and with it the last bits, may differ from run to run.
  bool benchmarkCuDNN() const { return benchmark_.load(std::memory_order_relaxed); }
  void setBenchmarkCuDNN(bool value) { benchmark_.store(value, std::memory_order_relaxed); }
  /// Only algorithms that give the same bits twice. On by default, unlike LibTorch.
  bool deterministicCuDNN() const { return deterministic_.load(std::memory_order_relaxed); }
  void setDeterministicCuDNN(bool value) { deterministic_.store(value, std::memory_order_relaxed); }

 private:
  std::atomic<bool> tf32_blas_{false}, tf32_dnn_{false}, benchmark_{false}, deterministic_{true};
};

namespace detail {
inline constinit Context global_context;
}
/// The switches of this process.
inline Context& globalContext() { return detail::global_context; }

}  // namespace tandem
