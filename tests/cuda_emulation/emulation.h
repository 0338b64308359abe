// An emulation of CUDA on the host, for tests on machines without a GPU. This header declares what the backend's
// launcher and the tests call; the toolkit's own functions (cudaMalloc, cublasSgemm, …) are declared by its
// headers and defined in this folder.
//
// Streams are queues. Work runs only when a thread must wait for it, whole streams at a time, so a missing
// event wait or a host buffer reused too early produces a wrong result. Device memory is accessible only while a
// kernel or a copy runs: a host that reads it crashes, as on a real machine.
//
// Environment, read once:
//   TANDEM_EMULATED_GPUS=n                        number of GPUs, each with 132 multiprocessors and compute
//                                                  capability 9.0 (default 1); "none": no driver
//   TANDEM_EMULATED_MEMORY=bytes                   memory per GPU (default 1 GiB)
//   TANDEM_EMULATED_STREAMS=eager                  run work as soon as it is enqueued
//   TANDEM_EMULATED_THREADS=ascending|descending   order of the threads of a block (default: alternates
//                                                  between launches)
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>

namespace tandem::cuda_emulation {

/// Enqueues a kernel. `thread` is called once per thread, with threadIdx and the like set. `operation` names
/// the kernel in messages and must stay valid for the whole program. More than 48 KiB of shared memory requires
/// cudaFuncSetAttribute on `kernel`, or on any kernel if `kernel` is null. Returns what cudaLaunchKernel would.
cudaError_t launch(const char* operation, cudaStream_t stream, dim3 grid, dim3 block, std::size_t shared_bytes,
                   std::function<void()> thread, const void* kernel = nullptr);

/// Aborts the program with a message if `p` points to host memory that is not pinned: kernels must not use
/// it.
void check_pointer(const char* operation, const void* p);
/// The same for a kernel argument, if it is a pointer.
template <class T>
void check_argument(const char* operation, const T& argument) {
  if constexpr (std::is_pointer_v<T>) check_pointer(operation, argument);
}

/// The next call of `api` ("cudaMalloc", "cublasGemmEx", "launch", …) does nothing and returns `error`;
/// libraries return the corresponding status. With "execution" the next kernel that runs fails, and every
/// later call returns `error` until clear_fault().
void fail_next(const char* api, cudaError_t error);
/// Clears injected faults and the error of a failed kernel.
void clear_fault();

/// Calls so far, including captured ones. Kernels of a replayed graph count only in `graph_nodes`.
struct Counters {
  uint64_t launches, copies, memsets, host_functions, library_calls, graph_launches, graph_nodes;
  uint64_t mallocs, frees, pinned_mallocs, pinned_frees, syncs, events_created, streams_created;
};
Counters counters();

/// Number of entries that are enqueued and have not run.
std::size_t pending(cudaStream_t stream);
/// Bytes of device memory in use on a GPU.
std::size_t bytes_in_use(int gpu);

}  // namespace tandem::cuda_emulation
