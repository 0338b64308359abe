// Automatic mixed precision: while autocast is enabled for a type of devices, matrix products, convolutions and
// attention compute in a half type, operations that need range or precision in float32, and some that combine tensors
// in the widest of their dtypes (PyTorch's lists). Other operations keep
// the dtypes of their arguments, and so do operations that write to a given tensor (addmm_, mm_out). float64 and
// integers are never converted.
//
//   { tandem::autocast::AutocastGuard mixed(kCPU, kBFloat16);
//     loss = cross_entropy(net->forward(x), y); }
//   loss.backward();   // parameters are float32, and so are their gradients
//
// The state belongs to the thread. Threads of parallel/ and of a backward pass on several devices inherit it.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::autocast {

bool is_autocast_enabled(DeviceType device);
void set_autocast_enabled(DeviceType device, bool enabled);
/// bfloat16 on the CPU and float16 on CUDA unless set.
ScalarType get_autocast_dtype(DeviceType device);
/// Throws Error unless it is float16, bfloat16 or float32.
void set_autocast_dtype(DeviceType device, ScalarType dtype);
/// Whether the conversions of leaves that require gradients are kept until clear_cache.
bool is_autocast_cache_enabled();
void set_autocast_cache_enabled(bool enabled);
void clear_cache();
/// Return the number of open regions after the change. Call clear_cache after leaving the last one.
int increment_nesting();
int decrement_nesting();

/// LibTorch's older names for the states of CUDA and of the CPU.
inline bool is_enabled() { return is_autocast_enabled(kCUDA); }
inline void set_enabled(bool enabled) { set_autocast_enabled(kCUDA, enabled); }
inline bool is_cpu_enabled() { return is_autocast_enabled(kCPU); }
inline void set_cpu_enabled(bool enabled) { set_autocast_enabled(kCPU, enabled); }
inline ScalarType get_autocast_gpu_dtype() { return get_autocast_dtype(kCUDA); }
inline ScalarType get_autocast_cpu_dtype() { return get_autocast_dtype(kCPU); }
inline void set_autocast_gpu_dtype(ScalarType dtype) { set_autocast_dtype(kCUDA, dtype); }
inline void set_autocast_cpu_dtype(ScalarType dtype) { set_autocast_dtype(kCPU, dtype); }

/// `t` in `to_type` if it is floating point, not float64, and on a device of this type; otherwise `t` itself.
/// Conversions are recorded.
Tensor cached_cast(ScalarType to_type, const Tensor& t, DeviceType device = kCUDA);

/// A region with autocast, as torch.autocast. With enabled = false it is a region without, inside of one with.
class AutocastGuard {
 public:
  [[nodiscard]] AutocastGuard(DeviceType device, optional<ScalarType> dtype = nullopt, bool enabled = true,
                              bool cache_enabled = true);
  ~AutocastGuard();
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  DeviceType device_;
  bool enabled_, cache_enabled_;
  ScalarType dtype_;
};

namespace detail {
/// Bit DeviceType of `enabled` says whether autocast is on.
struct State {
  unsigned enabled = 0;
  bool cache_enabled = true;
  int nesting = 0;
  ScalarType dtypes[2] = {kBFloat16, kHalf};
};
[[gnu::tls_model("initial-exec")]] extern thread_local constinit State state;

/// Switches autocast off for one type of devices.
class Off {
 public:
  explicit Off(DeviceType device) : before_(state.enabled) { state.enabled &= ~(1u << static_cast<unsigned>(device)); }
  ~Off() { state.enabled = before_; }
  Off(const Off&) = delete;
  Off& operator=(const Off&) = delete;

 private:
  unsigned before_;
};
}  // namespace detail

}  // namespace tandem::autocast
