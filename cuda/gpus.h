// The GPUs of this process and the logical devices on them.
//
// cuda:k is GPU k, unless TANDEM_CUDA_DEVICES=n asks for n logical devices: then cuda:k is on GPU k modulo
// the number of GPUs. CUDA_VISIBLE_DEVICES decides which GPUs are visible.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

namespace tandem::cuda_impl {

struct Gpu {
  int index = 0;
  std::string name;
  int major = 0, minor = 0;  ///< compute capability
  int multiprocessors = 0, threads_per_multiprocessor = 0;
  std::size_t shared_bytes = 0;  ///< of shared memory that a block may have
  std::size_t memory = 0;        ///< bytes
};

/// Number of logical devices; 0 if CUDA cannot be used, and why_none() says why.
int device_count();
/// "no CUDA device: <the driver's message>", or empty.
const std::string& why_none();
/// Whether an ancestor of this process used the driver before the fork: its state does not carry over to a
/// child. The child must not free device memory, which belongs to the parent.
bool is_forked_child();
/// Throws Error in such a child.
void refuse_in_forked_child();
/// The GPU of logical device `device`. Throws Error if there is no such device.
const Gpu& gpu_of(int device);
/// Number of logical devices on the GPU of `device`.
int sharers(int device);
/// Number of logical devices for `GPUs` GPUs, given the value of TANDEM_CUDA_DEVICES (null or empty: one
/// per GPU). Throws Error unless it is a number from 1 to 64.
int logical_devices(const char* wanted, int gpus);

/// Success if the current GPU can run this build's kernels.
cudaError_t probe_gpu();

/// Makes the GPU of `device` current for the calling thread until the guard goes out of scope.
class GpuGuard {
 public:
  explicit GpuGuard(int device);
  ~GpuGuard();
  GpuGuard(const GpuGuard&) = delete;
  GpuGuard& operator=(const GpuGuard&) = delete;

 private:
  int previous_;
};
/// Makes the GPU of `device` current permanently; every operation starts with this. Asks the driver only if
/// there are several GPUs.
void use_gpu(int device);

}  // namespace tandem::cuda_impl
