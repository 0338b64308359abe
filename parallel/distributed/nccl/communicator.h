// A NCCL communicator whose calls never wait longer than their timeout.
//
// It is nonblocking (ncclConfig_t::blocking = 0): NCCL connects to peers when a communicator is made and again in the
// first calls, and waits for them there without end. Nonblocking calls return ncclInProgress instead and are polled.
#pragma once
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <chrono>
#include <mutex>
#include <string>

namespace tandem::distributed::nccl {

/// Throws std::runtime_error with CUDA's explanation.
void check(cudaError_t result, const char* operation);

/// Makes a device current until the end of the scope.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int before_ = 0;
};

class Communicator {
 public:
  /// Connects the ranks that call this with the same id. Throws std::runtime_error.
  Communicator(int device, int rank, int size, const ncclUniqueId& id, std::chrono::milliseconds timeout);
  /// Waits for a moment until the others are done, too.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Runs `call(ncclComm_t)`, which submits work to a stream, and waits until it has been submitted. Throws
  /// std::runtime_error if that fails or takes longer than `timeout`; the communicator is unusable then.
  template <class Call>
  void submit(const char* operation, std::chrono::milliseconds timeout, const Call& call) {
    const DeviceGuard guard(device_);
    const std::lock_guard one_at_a_time(submit_mutex_);
    ncclResult_t result;
    {
      const std::lock_guard lock(mutex_);
      check_usable();
      result = call(comm_);
    }
    finish(result, operation, timeout);
  }
  /// Throws std::runtime_error if submitted work is known to fail, e.g. because a peer has gone. From any thread.
  void check_submitted();
  /// Ends work that is running on the device. From any thread.
  void abort() noexcept;
  int device() const { return device_; }

 private:
  void check_usable() const;
  void finish(ncclResult_t result, const char* operation, std::chrono::milliseconds timeout);
  ncclResult_t state();
  [[noreturn]] void fail(ncclResult_t result, const char* operation);

  const int device_;
  std::mutex submit_mutex_;  // taken before mutex_, and held while a call is in progress
  std::mutex mutex_;         // guards comm_ and every call of NCCL with it, none of which waits
  ncclComm_t comm_ = nullptr;
  bool failed_ = false;
};

}  // namespace tandem::distributed::nccl
