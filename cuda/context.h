// A context: what a thread needs to submit work to a logical device, namely its stream, library handles,
// workspace and plans. There is one per logical device and thread, created on first use, so it needs no
// locks. DeviceState holds what threads share. tandem::Context (core/global_context.h) is LibTorch's name for the
// process's settings, which kernels read beside this.
#pragma once
#include <any>
#include <memory>
#include <mutex>
#include <typeindex>
#include <unordered_map>
#include <vector>

#include "tandem/core/device.h"
#include "tandem/cuda/allocator.h"
#include "tandem/cuda/check.h"
#include "tandem/cuda/gpus.h"

namespace tandem::cuda_impl {

struct Fault;

/// The state of a logical device shared by all threads. Never destroyed: tensors may outlive every static
/// object.
struct DeviceState {
  int index;
  const Gpu& gpu;
  cudaStream_t stream;  ///< the device's own default stream
  std::unique_ptr<MemorySource> source;
  std::unique_ptr<CachingAllocator> allocator;
  Fault* fault;  ///< in mapped host memory, at the same address on both sides
};
/// Created on first use. Throws Error if there is no such device.
DeviceState& device_state(int device);

/// A capture in progress on the calling thread and device; see cuda/capture.h.
struct Recording;
/// Its elementwise calls that wait; see cuda/fusion/queue.h.
class FusionQueue;

class Context {
 public:
  explicit Context(DeviceState& state);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  DeviceState& state() const { return state_; }
  Device device() const { return Device(kCUDA, static_cast<DeviceIndex>(state_.index)); }
  const Gpu& gpu() const { return state_.gpu; }
  Fault* fault() const { return state_.fault; }

  /// The thread's current stream, for work to be queued on it: runs what waits in a captured step's queue first.
  cudaStream_t stream() {
    run_queue();
    return stream_;
  }
  /// Runs what waits in the queue of a captured step. If it throws, the recording is refused.
  void run_queue() {
    if (fusion != nullptr) [[unlikely]]
      end_fusion();
  }
  /// The same stream as a name.
  StreamId stream_id() const { return stream_; }
  /// nullptr selects the device's default stream.
  void set_stream(cudaStream_t stream) { stream_ = stream != nullptr ? stream : state_.stream; }
  /// The pool for this thread's allocations: 0 outside a capture.
  PoolId pool = 0;
  Recording* recording = nullptr;
  FusionQueue* fusion = nullptr;

  /// Library handles bound to the current stream.
  cublasHandle_t blas();
  cublasLtHandle_t blas_lt();
  cudnnHandle_t dnn();
  /// Workspace of cuBLAS and cuBLASLt. Its size is fixed, so results do not depend on how much memory is
  /// free.
  void* workspace();
  /// Rebinds the handles before their next use, because a capture has its own workspace.
  void rebind() { blas_stream_ = dnn_stream_ = nullptr; }
  static constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

  /// The cache of one kind of plans: `context.plans<ConvPlans>()`.
  template <class Cache>
  Cache& plans() {
    std::any& slot = plans_[typeid(Cache)];
    if (!slot.has_value()) slot = std::make_shared<Cache>();
    return **std::any_cast<std::shared_ptr<Cache>>(&slot);
  }

 private:
  void end_fusion();

  DeviceState& state_;
  cudaStream_t stream_;
  cublasHandle_t blas_ = nullptr;
  cublasLtHandle_t blas_lt_ = nullptr;
  cudnnHandle_t dnn_ = nullptr;
  cudaStream_t blas_stream_ = nullptr, dnn_stream_ = nullptr;  // what the handles are bound to
  void* workspace_ = nullptr;
  cudaStream_t workspace_stream_ = nullptr;
  std::unordered_map<std::type_index, std::any> plans_;
};

/// The calling thread's context of `device`; makes that device's GPU current.
Context& context(int device);
inline Context& context(Device device) { return context(static_cast<int>(device.index())); }

/// The calling thread's current device.
int current_device();
void set_current_device(int device);

/// Throws the device's pending fault (cuda/fault.h), if any. Call after a synchronisation.
void check_fault(DeviceState& state);
/// Whether TANDEM_CUDA_SYNC=1 is set, which waits after every launch.
bool sync_after_launch();
void sync_and_check(Context& context, const char* operation);

}  // namespace tandem::cuda_impl
