// Device memory: one arena per GPU, accessible only while its work runs. Pinned memory: plain memory,
// tracked.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tandem/core/base/sanitizers.h"
#include "tandem/tests/cuda_emulation/state.h"

#ifdef TANDEM_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace tandem::cuda_emulation {
namespace {

constexpr std::size_t kAlignment = 512, kFilled = std::size_t{4} << 20, kEdge = std::size_t{1} << 20;
constexpr int kPoison = 0xff;  // NaN as a float, -1 as an integer

// Unallocated addresses are poisoned for AddressSanitizer.
void mark([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes, [[maybe_unused]] bool used) {
#ifdef TANDEM_ASAN
  if (used)
    ASAN_UNPOISON_MEMORY_REGION(p, bytes);
  else
    ASAN_POISON_MEMORY_REGION(p, bytes);
#endif
}

std::size_t rounded(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
Gpu& gpu_at(int gpu) { return state().gpus[static_cast<std::size_t>(gpu)]; }

const std::pair<const uintptr_t, Allocation>* containing(const std::map<uintptr_t, Allocation>& all, const void* p) {
  const auto after = all.upper_bound(reinterpret_cast<uintptr_t>(p));
  if (after == all.begin()) return nullptr;
  const auto& found = *std::prev(after);
  return reinterpret_cast<uintptr_t>(p) - found.first < found.second.bytes ? &found : nullptr;
}

// The first hole that is large enough and leaves one unit free at its end.
char* place(const Gpu& gpu, std::size_t bytes) {
  uintptr_t at = reinterpret_cast<uintptr_t>(gpu.arena);
  const auto& all = state().device_memory;
  for (auto i = all.lower_bound(at); i != all.end() && i->first < at + gpu.arena_bytes; ++i) {
    if (i->first - at >= bytes + kAlignment) break;
    at = i->first + rounded(i->second.bytes) + kAlignment;
  }
  return reinterpret_cast<char*>(at);
}

// Reports the fault, then passes it to the previous handler.
struct sigaction handled_before;
void explain_fault(int, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (const Gpu& gpu : state().gpus) {
    const auto begin = reinterpret_cast<uintptr_t>(gpu.arena);
    if (address < begin || address - begin >= gpu.arena_bytes) continue;
    constexpr char kText[] =
        "emulated CUDA: memory of a GPU was touched by the host, or by a kernel of a GPU without access to "
        "it\n";
    static_cast<void>(!write(2, kText, sizeof kText - 1));
  }
  sigaction(SIGSEGV, &handled_before, nullptr);
}

void explain_faults() {
  struct sigaction action {};
  action.sa_sigaction = explain_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, &handled_before);
}

cudaError_t allocate(void** out, std::size_t bytes) {
  if (out == nullptr) return cudaErrorInvalidValue;
  *out = nullptr;
  if (const cudaError_t status = unsafe_in_capture(); status != cudaSuccess) return status;
  if (bytes == 0) return cudaSuccess;
  const int index = host_thread().gpu;
  Gpu& gpu = gpu_at(index);
  static std::once_flag once;
  std::call_once(once, explain_faults);
  if (bytes > state().memory || rounded(bytes) > state().memory - gpu.used) return cudaErrorMemoryAllocation;
  char* memory = place(gpu, rounded(bytes));
  if (memory + rounded(bytes) > gpu.arena + gpu.arena_bytes) return cudaErrorMemoryAllocation;
  gpu.used += rounded(bytes);
  state().device_memory[reinterpret_cast<uintptr_t>(memory)] = {bytes, index};
  ++state().counters.mallocs;
#ifdef TANDEM_ASAN
  static bool first = true;  // poisons all holes, once
  if (first)
    for (const Gpu& one : state().gpus) mark(one.arena, one.arena_bytes, false);
  first = false;
#endif
  mark(memory, bytes, true);
  open_memory(index, index);
  const std::size_t head = bytes <= kFilled ? bytes : kEdge;  // the middle of a large allocation is left as is
  std::memset(memory, kPoison, head);
  if (head < bytes) std::memset(memory + bytes - kEdge, kPoison, kEdge);
  open_memory(-1, -1);
  *out = memory;
  return cudaSuccess;
}

cudaError_t release(void* p) {
  if (p == nullptr) return cudaSuccess;
  if (const cudaError_t status = unsafe_in_capture(); status != cudaSuccess) return status;
  auto& all = state().device_memory;
  const auto found = all.find(reinterpret_cast<uintptr_t>(p));
  if (found == all.end()) return cudaErrorInvalidValue;
  const int gpu = found->second.gpu;
  for (std::size_t i = 0; i < state().gpus.size(); ++i) drain_gpu(static_cast<int>(i));
  const std::size_t bytes = rounded(found->second.bytes);
  gpu_at(gpu).used -= bytes;
  mark(p, bytes, false);
  const uintptr_t page = (found->first + kLargePage - 1) / kLargePage * kLargePage;
  const uintptr_t end = (found->first + bytes) / kLargePage * kLargePage;
  if (end > page) madvise(reinterpret_cast<void*>(page), end - page, MADV_DONTNEED);
  all.erase(found);
  ++state().counters.frees;
  return cudaSuccess;
}

cudaError_t allocate_pinned(void** out, std::size_t bytes) {
  if (out == nullptr) return cudaErrorInvalidValue;
  *out = nullptr;
  if (const cudaError_t status = unsafe_in_capture(); status != cudaSuccess) return status;
  if (bytes == 0) return cudaSuccess;
  void* memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (memory == nullptr) return cudaErrorMemoryAllocation;
  std::memset(memory, kPoison, std::min(bytes, kFilled));
  state().pinned_memory[reinterpret_cast<uintptr_t>(memory)] = {bytes, host_thread().gpu};
  ++state().counters.pinned_mallocs;
  *out = memory;
  return cudaSuccess;
}

}  // namespace

void check_pointer(const char* operation, const void* p) {
  std::lock_guard lock(state().mutex);
  if (p == nullptr || where(p, 1).side != Side::kPageable) return;
  std::fprintf(stderr, "emulated CUDA: kernel '%s' received a pointer to host memory\n", operation);
  std::abort();
}

Where where(const void* p, std::size_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  if (const auto* found = containing(state().pinned_memory, p))
    return {found->first + found->second.bytes - address >= bytes ? Side::kPinned : Side::kWrong, found->second.gpu};
  for (std::size_t i = 0; i < state().gpus.size(); ++i) {
    const Gpu& gpu = state().gpus[i];
    const auto begin = reinterpret_cast<uintptr_t>(gpu.arena);
    if (address < begin || address - begin >= gpu.arena_bytes) continue;
    const auto* found = containing(state().device_memory, p);
    const bool inside = found != nullptr && found->first + found->second.bytes - address >= bytes;
    return {inside ? Side::kDevice : Side::kWrong, static_cast<int>(i)};
  }
  return {Side::kPageable, -1};
}

bool usable(const void* p, std::size_t bytes, int gpu) {
  if (bytes == 0) return true;
  const Where at = where(p, bytes);
  if (at.side == Side::kPinned) return true;
  return at.side == Side::kDevice && (at.gpu == gpu || gpu_at(gpu).peers[static_cast<std::size_t>(at.gpu)]);
}

namespace {
void set_open(Gpu& gpu, bool open) {
  if (gpu.open == open) return;
  mprotect(gpu.arena, gpu.arena_bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE);
  gpu.open = open;
}
}  // namespace

void open_memory(int gpu, int other) {
  for (int i = 0; i < static_cast<int>(state().gpus.size()); ++i) set_open(gpu_at(i), i == gpu || i == other);
}
void open_for_kernel(int gpu) {
  for (int i = 0; i < static_cast<int>(state().gpus.size()); ++i)
    set_open(gpu_at(i), i == gpu || gpu_at(gpu).peers[static_cast<std::size_t>(i)]);
}

}  // namespace tandem::cuda_emulation

using namespace tandem::cuda_emulation;
extern "C" {

cudaError_t cudaMalloc(void** out, size_t bytes) {
  return call("cudaMalloc", [&] { return allocate(out, bytes); });
}
cudaError_t cudaFree(void* p) {
  return call("cudaFree", [&] { return release(p); });
}
cudaError_t cudaMallocHost(void** out, size_t bytes) {
  return call("cudaMallocHost", [&] { return allocate_pinned(out, bytes); });
}
cudaError_t cudaHostAlloc(void** out, size_t bytes, unsigned) {
  return call("cudaHostAlloc", [&] { return allocate_pinned(out, bytes); });
}
cudaError_t cudaFreeHost(void* p) {
  return call("cudaFreeHost", [&] {
    if (p == nullptr) return cudaSuccess;
    if (const cudaError_t status = unsafe_in_capture(); status != cudaSuccess) return status;
    if (state().pinned_memory.count(reinterpret_cast<uintptr_t>(p)) == 0) return cudaErrorInvalidValue;
    for (std::size_t i = 0; i < state().gpus.size(); ++i) drain_gpu(static_cast<int>(i));
    state().pinned_memory.erase(reinterpret_cast<uintptr_t>(p));
    ++state().counters.pinned_frees;
    std::free(p);
    return cudaSuccess;
  });
}
cudaError_t cudaHostGetDevicePointer(void** out, void* p, unsigned) {
  return call("cudaHostGetDevicePointer", [&] {
    if (out == nullptr || where(p, 1).side != Side::kPinned) return cudaErrorInvalidValue;
    *out = p;
    return cudaSuccess;
  });
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return call("cudaMemGetInfo", [&] {
    *total = state().memory;
    *free = state().memory - state().gpus[static_cast<std::size_t>(host_thread().gpu)].used;
    return cudaSuccess;
  });
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* out, const void* p) {
  return call("cudaPointerGetAttributes", [&] {
    if (out == nullptr) return cudaErrorInvalidValue;
    *out = {};
    const Where at = where(p, 1);
    out->device = at.side == Side::kDevice || at.side == Side::kPinned ? at.gpu : -2;
    out->type = cudaMemoryTypeUnregistered;
    if (at.side == Side::kDevice) out->type = cudaMemoryTypeDevice;
    if (at.side == Side::kPinned) out->type = cudaMemoryTypeHost;
    if (out->type != cudaMemoryTypeUnregistered) out->devicePointer = const_cast<void*>(p);
    if (out->type == cudaMemoryTypeHost) out->hostPointer = const_cast<void*>(p);
    return cudaSuccess;
  });
}

}  // extern "C"
