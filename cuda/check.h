// Checked calls: a failure throws Error with the library's message, the call and its location.
//
//   ensure(cudaMemsetAsync(p, 0, n, stream), "cudaMemsetAsync");
#pragma once
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <cufft.h>

#include <string>

namespace tandem::cuda_impl {

/// The location of a call. (clang 14 has no std::source_location with libstdc++.)
struct Where {
  const char* file;
  int line;
  static constexpr Where current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

[[noreturn]] void failed(cudaError_t status, const char* call, const Where& where);
[[noreturn]] void failed(cublasStatus_t status, const char* call, const Where& where);
[[noreturn]] void failed(cudnnStatus_t status, const char* call, const Where& where);
[[noreturn]] void failed(cufftResult status, const char* call, const Where& where);

/// Throws Error unless the call succeeded. If an earlier kernel's error surfaces here, the message lists the
/// last operations that this thread launched.
template <class Status>
void ensure(Status status, const char* call, const Where& where = Where::current()) {
  if (status != Status{}) [[unlikely]]  // 0 is the success of all four libraries
    failed(status, call, where);
}

/// Clears the last error, which a failed call may leave and CUB would mistake for its own. A sticky error
/// will be reported again.
inline void forget_error() noexcept { static_cast<void>(cudaGetLastError()); }

/// For destructors: logs to stderr instead of throwing. Silent while the process is exiting.
void log_failure(cudaError_t status, const char* call) noexcept;

/// Records an operation launched by the calling thread, for reports of asynchronous errors.
void note_launch(const char* operation) noexcept;
/// "conv2d, relu, add (most recent last)", or empty.
std::string recent_launches();

}  // namespace tandem::cuda_impl
