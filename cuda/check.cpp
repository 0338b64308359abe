// Messages of failed calls, and the last launches of a thread.
#include "tandem/cuda/check.h"

#include <cstdio>
#include <cstring>
#include <string>

#include "tandem/core/error.h"

namespace tandem::cuda_impl {
namespace {

constexpr unsigned kRemembered = 6;
struct Launches {
  const char* name[kRemembered];
  unsigned count;
};
thread_local constinit Launches launches{};

// "cuda/runtime.cpp:41", whatever path the compiler was given.
std::string place(const Where& where) {
  const char* file = where.file;
  if (const char* found = std::strstr(file, "cuda/")) file = found;
  return concat(file, ":", where.line);
}

// Errors of earlier work that surface in a later call.
bool asynchronous(cudaError_t status) {
  switch (status) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorIllegalInstruction:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchTimeout:
    case cudaErrorECCUncorrectable:
      return true;
    default:
      return false;
  }
}

}  // namespace

void note_launch(const char* operation) noexcept { launches.name[launches.count++ % kRemembered] = operation; }

std::string recent_launches() {
  std::string out;
  const unsigned first = launches.count > kRemembered ? launches.count - kRemembered : 0;
  for (unsigned i = first; i < launches.count; ++i)
    out += concat(i == first ? "" : ", ", launches.name[i % kRemembered]);
  if (!out.empty()) out += " (most recent last)";
  return out;
}

void failed(cudaError_t status, const char* call, const Where& where) {
  forget_error();  // a recoverable error must not be reported twice
  std::string text = concat("CUDA: ", cudaGetErrorString(status), " (", cudaGetErrorName(status), ") from ", call,
                            " at ", place(where));
  if (asynchronous(status)) {
    const std::string recent = recent_launches();
    text +=
        concat("\n  caused by an earlier operation; the last ones of this thread: ", recent.empty() ? "none" : recent,
               "\n  restart the process; TANDEM_CUDA_SYNC=1 checks every launch and names the failing operation");
  }
  throw Error(text);
}
void failed(cublasStatus_t status, const char* call, const Where& where) {
  fail("cuBLAS: ", cublasGetStatusString(status), " from ", call, " at ", place(where));
}
void failed(cudnnStatus_t status, const char* call, const Where& where) {
  char more[512] = "";
  cudnnGetLastErrorString(more, sizeof more);
  fail("cuDNN: ", cudnnGetErrorString(status), " from ", call, " at ", place(where), more[0] == 0 ? "" : "\n  ", more);
}
// cuFFT has no messages for its statuses.
void failed(cufftResult status, const char* call, const Where& where) {
  const char* text = status == CUFFT_ALLOC_FAILED     ? " (out of memory)"
                     : status == CUFFT_INVALID_SIZE   ? " (unsupported size)"
                     : status == CUFFT_INVALID_VALUE  ? " (invalid value)"
                     : status == CUFFT_INTERNAL_ERROR ? " (internal error)"
                     : status == CUFFT_EXEC_FAILED    ? " (the transform failed to launch)"
                     : status == CUFFT_SETUP_FAILED   ? " (the library was not initialized)"
                                                      : "";
  fail("cuFFT: status ", static_cast<int>(status), text, " from ", call, " at ", place(where));
}

void log_failure(cudaError_t status, const char* call) noexcept {
  // At process exit the driver may be gone before the last destructor runs.
  if (status == cudaSuccess || status == cudaErrorCudartUnloading || status == cudaErrorContextIsDestroyed) return;
  forget_error();
  std::fprintf(stderr, "tandem: CUDA: %s from %s\n", cudaGetErrorString(status), call);
}

}  // namespace tandem::cuda_impl
