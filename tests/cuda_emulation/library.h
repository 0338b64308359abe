// Shared by the emulated libraries: entering a call, enqueueing work on a stream, TF32 precision.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tandem/core/dtype.h"
#include "tandem/tests/cuda_emulation/state.h"

namespace tandem::cuda_emulation {

/// Body of a library function: takes the lock. Returns `failed` after a failed kernel and for injected
/// faults, which `of_fault` may map to another status.
template <class Status, class Body>
Status library_call(const char* api, Status failed, Body&& body, Status (*of_fault)(cudaError_t) = nullptr) {
  if (host_thread().in_host_function) return failed;
  std::lock_guard lock(state().mutex);
  if (state().gpus.empty() || state().sticky != cudaSuccess) return failed;
  if (const cudaError_t fault = take_fault(api); fault != cudaSuccess) {
    host_thread().last_error = fault;
    return of_fault != nullptr ? of_fault(fault) : failed;
  }
  return body();
}

/// Enqueues a library's kernel. The stream must belong to the current GPU.
inline bool enqueue_library(cudaStream_t stream, const char* operation, std::function<void()> run) {
  const cudaError_t status = enqueue(stream, Work::kKernel, operation, std::move(run));
  if (status != cudaSuccess) host_thread().last_error = status;
  if (status == cudaSuccess) ++state().counters.library_calls;
  return status == cudaSuccess;
}

/// Whether `count` elements are in memory that the current GPU can use.
inline bool elements_usable(const void* p, int64_t count, std::size_t size) {
  return usable(p, static_cast<std::size_t>(count) * size, host_thread().gpu);
}

/// The operand of a product as tensor cores see it: float with 10 mantissa bits if `tf32`.
template <class T>
T operand(T x, bool tf32) {
  if constexpr (std::is_same_v<T, float>)
    if (tf32 && x - x == 0) return std::bit_cast<float>((std::bit_cast<uint32_t>(x) + 0x1000u) & ~uint32_t{0x1fff});
  return x;
}

/// Calls f(T{}, S{}) with the type of the sums and that of the operands.
template <class F>
void by_dtype(ScalarType type, F f) {
  if (type == kDouble) return f(double{}, double{});
  if (type == kHalf) return f(float{}, Half{});
  if (type == kBFloat16) return f(float{}, BFloat16{});
  f(float{}, float{});
}

/// Overwrites a workspace: its contents are undefined after a call.
inline void clobber(void* workspace, std::size_t bytes) {
  if (bytes > 0) std::memset(workspace, 0xff, bytes);
}

// ---- gemm.cpp
/// D = epilogue(alpha op(A) op(B) + beta C + bias), column-major, `batch` times; D is m x n, op(A) m x k.
struct Gemm {
  struct Operand {
    const void* data = nullptr;
    int64_t ld = 1, stride = 0;
    bool transposed = false;
  };
  ScalarType type = kFloat;  // of all operands; the half types are computed in float
  bool tf32 = false, relu = false;
  int64_t m = 0, n = 0, k = 0, batch = 1;
  double alpha = 1, beta = 0;
  Operand a, b, c;
  void* d = nullptr;
  int64_t ldd = 1, stride_d = 0;
  const void* bias = nullptr;  // one per row of D
};
/// Whether the sizes are valid and all operands are in usable memory.
bool valid(const Gemm& gemm);
bool usable(const Gemm& gemm);
void run(const Gemm& gemm);

}  // namespace tandem::cuda_emulation
