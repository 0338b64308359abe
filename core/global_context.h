// LibTorch's at::globalContext(): the precision and the algorithms of matrix products and convolutions on CUDA, for the
// whole process. The CPU ignores them. A thread's state on a GPU is cuda_impl::Context (cuda/context.h), which programs
// do not see.
#pragma once
#include <atomic>
#include <cstdint>
#include <string_view>

#include "tandem/core/random/generator.h"
#include "tandem/core/reproducible.h"

namespace tandem {

enum class CuBLASReductionOption : uint8_t {
  AllowReducedPrecisionWithSplitK,
  DisallowReducedPrecisionAllowSplitK,
  DisallowReducedPrecisionDisallowSplitK
};

class Context {
 public:
  /// TF32: products of float32 with 10 mantissa bits, several times faster. As in LibTorch, the default is off for
  /// matrix products, and on for convolutions, unless TANDEM_REPRODUCIBLE is set.
  bool allowTF32CuBLAS() const { return tf32_blas_.load(std::memory_order_relaxed); }
  void setAllowTF32CuBLAS(bool value) { tf32_blas_.store(value, std::memory_order_relaxed); }
  bool allowTF32CuDNN() const { return given_or_default(tf32_dnn_); }
  void setAllowTF32CuDNN(bool value) { tf32_dnn_.store(value, std::memory_order_relaxed); }
  /// Whether the algorithms of a convolution are timed when it first runs on this machine, instead of asking a heuristic.
  /// The choice is kept in cache_folder(), so that later runs compute the same bits; where that cannot be written,
  /// nothing is timed. On by default, unless TANDEM_REPRODUCIBLE is set; off in LibTorch.
  bool benchmarkCuDNN() const { return given_or_default(benchmark_); }
  void setBenchmarkCuDNN(bool value) { benchmark_.store(value, std::memory_order_relaxed); }
  /// Uses only deterministic algorithms. On by default, unlike in LibTorch.
  bool deterministicCuDNN() const { return deterministic_.load(std::memory_order_relaxed); }
  void setDeterministicCuDNN(bool value) { deterministic_.store(value, std::memory_order_relaxed); }

  /// "highest": float32 products in full precision; "high" and "medium": TF32, as setAllowTF32CuBLAS. Throws Error for
  /// another text.
  void setFloat32MatmulPrecision(std::string_view precision) {
    check(precision == "highest" || precision == "high" || precision == "medium",
          "setFloat32MatmulPrecision: expected \"highest\", \"high\" or \"medium\", got \"", precision, "\"");
    setAllowTF32CuBLAS(precision != "highest");
  }

  // Settings that have no effect: they are kept for programs that set and read them. The libraries are always used, and
  // sums are always in float32 or float64. The last argument is LibTorch's default.
#define TANDEM_SETTING(get, set, initial)  \
 public:                                   \
  bool get() const { return get##_; }      \
  void set(bool value) { get##_ = value; } \
                                           \
 private:                                  \
  std::atomic<bool> get##_{initial};
  TANDEM_SETTING(userEnabledCuDNN, setUserEnabledCuDNN, true)
  TANDEM_SETTING(userEnabledMkldnn, setUserEnabledMkldnn, true)
  TANDEM_SETTING(deterministicMkldnn, setDeterministicMkldnn, false)
  TANDEM_SETTING(userEnabledNNPACK, setUserEnabledNNPACK, true)
  TANDEM_SETTING(allowTF32OneDNN, setAllowTF32OneDNN, false)
  TANDEM_SETTING(allowFP16AccumulationCuBLAS, setAllowFP16AccumulationCuBLAS, false)
  TANDEM_SETTING(allowFP16ReductionCPU, setAllowFP16ReductionCPU, false)
  TANDEM_SETTING(allowFP16BF16ReductionMathSDP, setAllowFP16BF16ReductionMathSDP, false)
  TANDEM_SETTING(userEnabledFlashSDP, setSDPUseFlash, true)
  TANDEM_SETTING(userEnabledMemEfficientSDP, setSDPUseMemEfficient, true)
  TANDEM_SETTING(userEnabledMathSDP, setSDPUseMath, true)
  TANDEM_SETTING(userEnabledCuDNNSDP, setSDPUseCuDNN, true)
  TANDEM_SETTING(userEnabledOverrideableSDP, setSDPUseOverrideable, true)
  TANDEM_SETTING(deterministicFillUninitializedMemory, setDeterministicFillUninitializedMemory, true)
  TANDEM_SETTING(releaseWeightsWhenPrepacking, setReleaseWeightsWhenPrepacking, false)
  TANDEM_SETTING(areVmapFallbackWarningsEnabled, setDisplayVmapFallbackWarnings, false)
#undef TANDEM_SETTING

 public:
  int benchmarkLimitCuDNN() const { return benchmark_limit_; }
  void setBenchmarkLimitCuDNN(int value) { benchmark_limit_ = value; }
  CuBLASReductionOption allowFP16ReductionCuBLAS() const { return fp16_reduction_; }
  void setAllowFP16ReductionCuBLAS(bool reduced_precision, bool splitk = true) {
    fp16_reduction_ = reduction(reduced_precision, splitk);
  }
  CuBLASReductionOption allowBF16ReductionCuBLAS() const { return bf16_reduction_; }
  void setAllowBF16ReductionCuBLAS(bool reduced_precision, bool splitk = true) {
    bf16_reduction_ = reduction(reduced_precision, splitk);
  }

  // LibTorch's questions about its build.
  static bool hasCUDA() { return device_count(kCUDA) > 0; }
  static bool hasCuDNN() { return hasCUDA(); }
  static bool hasMPS() { return false; }
  static bool hasXLA() { return false; }
  static bool hasXPU() { return false; }
  static bool hasHIP() { return false; }
  static bool hasMKL() { return false; }
  static bool hasMKLDNN() { return false; }
  static bool hasMAGMA() { return false; }
  static bool hasOpenMP() { return false; }
  static bool hasLAPACK() { return true; }
  /// Every algorithm is deterministic; the settings are kept for programs that ask for them.
  bool deterministicAlgorithms() const { return required_.load(std::memory_order_relaxed); }
  void setDeterministicAlgorithms(bool value, bool warn_only = false) {
    required_.store(value, std::memory_order_relaxed);
    warn_only_.store(value && warn_only, std::memory_order_relaxed);
  }
  bool deterministicAlgorithmsWarnOnly() const { return warn_only_.load(std::memory_order_relaxed); }
  const Generator& defaultGenerator(Device) const { return default_generator(); }

 private:
  static CuBLASReductionOption reduction(bool reduced_precision, bool splitk) {
    check(splitk || !reduced_precision,
          "allow_splitk=False is not supported when reduced precision reductions are enabled");
    return reduced_precision ? CuBLASReductionOption::AllowReducedPrecisionWithSplitK
           : splitk          ? CuBLASReductionOption::DisallowReducedPrecisionAllowSplitK
                             : CuBLASReductionOption::DisallowReducedPrecisionDisallowSplitK;
  }
  static constexpr int8_t kNotSet = -1;
  static bool given_or_default(const std::atomic<int8_t>& setting) {
    const int8_t value = setting.load(std::memory_order_relaxed);
    return value == kNotSet ? reproducible() == Reproducible::kOff : value != 0;
  }

  // LibTorch's defaults.
  std::atomic<int> benchmark_limit_{10};
  std::atomic<CuBLASReductionOption> fp16_reduction_{CuBLASReductionOption::AllowReducedPrecisionWithSplitK},
      bf16_reduction_{CuBLASReductionOption::AllowReducedPrecisionWithSplitK};
  std::atomic<int8_t> tf32_dnn_{kNotSet}, benchmark_{kNotSet};
  std::atomic<bool> tf32_blas_{false}, deterministic_{true}, required_{false}, warn_only_{false};
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
inline bool hasMAGMA() { return false; }

}  // namespace tandem
