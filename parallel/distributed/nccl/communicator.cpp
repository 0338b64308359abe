#include "tandem/parallel/distributed/nccl/communicator.h"

#include <stdexcept>
#include <thread>

namespace tandem::distributed::nccl {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kFinalizeTimeout{2000};

}  // namespace

void check(cudaError_t result, const char* operation) {
  if (result == cudaSuccess) return;
  throw std::runtime_error("nccl: " + std::string(operation) + ": " + cudaGetErrorString(result));
}

DeviceGuard::DeviceGuard(int device) {
  check(cudaGetDevice(&before_), "cudaGetDevice");
  if (device == before_)
    before_ = -1;
  else
    check(cudaSetDevice(device), "cudaSetDevice");
}

DeviceGuard::~DeviceGuard() {
  if (before_ >= 0) cudaSetDevice(before_);
}

Communicator::Communicator(int device, int rank, int size, const ncclUniqueId& id, milliseconds timeout)
    : device_(device) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const DeviceGuard guard(device_);
  try {
    ncclResult_t result;
    {
      const std::lock_guard lock(mutex_);
      result = ncclCommInitRankConfig(&comm_, size, id, rank, &config);
    }
    finish(result, "ncclCommInitRankConfig", timeout);
  } catch (const std::runtime_error&) {
    abort();
    throw;
  }
}

Communicator::~Communicator() {
  try {
    submit("ncclCommFinalize", kFinalizeTimeout, [](ncclComm_t comm) { return ncclCommFinalize(comm); });
    const std::lock_guard lock(mutex_);
    if (comm_ != nullptr) ncclCommDestroy(comm_);
  } catch (const std::runtime_error&) {
    abort();
  }
}

void Communicator::check_usable() const {
  if (comm_ == nullptr) throw std::runtime_error("nccl: the engine has been aborted");
  if (failed_) throw std::runtime_error("nccl: an earlier call failed");
}

ncclResult_t Communicator::state() {
  const std::lock_guard lock(mutex_);
  check_usable();
  ncclResult_t state = ncclSuccess;
  const ncclResult_t result = ncclCommGetAsyncError(comm_, &state);
  return result == ncclSuccess ? state : result;
}

void Communicator::finish(ncclResult_t result, const char* operation, milliseconds timeout) {
  const auto end = steady_clock::now() + timeout;
  while (result == ncclInProgress) {
    result = state();
    if (result != ncclInProgress) break;
    if (steady_clock::now() >= end) {
      const std::lock_guard lock(mutex_);
      failed_ = true;
      throw std::runtime_error("nccl: " + std::string(operation) + ": the ranks did not connect within " +
                               std::to_string(timeout.count()) + " ms");
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  if (result != ncclSuccess) fail(result, operation);
}

void Communicator::fail(ncclResult_t result, const char* operation) {
  const std::lock_guard lock(mutex_);
  failed_ = true;
  std::string text = "nccl: " + std::string(operation) + ": " + ncclGetErrorString(result);
  if (const char* more = ncclGetLastError(comm_); more != nullptr && *more != '\0') text += "; " + std::string(more);
  if (text.find("Duplicate GPU") != std::string::npos)
    text += "\nNCCL before 2.30 refuses two ranks on one GPU: give every rank a GPU of its own, or use backend gloo";
  throw std::runtime_error(text);
}

void Communicator::check_submitted() {
  const ncclResult_t result = state();
  if (result != ncclSuccess && result != ncclInProgress) fail(result, "a submitted call");
}

void Communicator::abort() noexcept {
  const std::lock_guard lock(mutex_);
  if (comm_ != nullptr) ncclCommAbort(comm_);
  comm_ = nullptr;
}

}  // namespace tandem::distributed::nccl
