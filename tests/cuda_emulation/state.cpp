// The GPUs, environment variables, injected faults and counters.
#include "tandem/tests/cuda_emulation/state.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace tandem::cuda_emulation {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// The number of GPUs left by CUDA_VISIBLE_DEVICES: its valid numbers before the first invalid word.
int visible(int gpus) {
  const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
  if (list == nullptr) return gpus;
  int count = 0;
  for (const char* p = list; *p != 0;) {
    char* end = nullptr;
    const long gpu = std::strtol(p, &end, 10);
    if (end == p || gpu < 0 || gpu >= gpus) break;
    ++count;
    p = *end == ',' ? end + 1 : end;
  }
  return count;
}

// Reserves addresses without access. Uses large pages, because access changes page by page around all work.
char* new_arena(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes + kLargePage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  const uintptr_t arena = (reinterpret_cast<uintptr_t>(memory) + kLargePage - 1) / kLargePage * kLargePage;
  madvise(reinterpret_cast<void*>(arena), bytes, MADV_HUGEPAGE);  // if such pages are available
  return reinterpret_cast<char*>(arena);
}

}  // namespace

State::State() {
  const std::string count = environment("TANDEM_EMULATED_GPUS"), bytes = environment("TANDEM_EMULATED_MEMORY");
  const std::string threads = environment("TANDEM_EMULATED_THREADS");
  no_driver = count == "none";
  eager = environment("TANDEM_EMULATED_STREAMS") == "eager";
  order = threads == "ascending" ? 1 : threads == "descending" ? -1 : 0;
  memory = bytes.empty() ? std::size_t{1} << 30 : std::strtoull(bytes.c_str(), nullptr, 10);
  const int gpus_here = no_driver ? 0 : visible(count.empty() ? 1 : std::atoi(count.c_str()));
  gpus.resize(static_cast<std::size_t>(gpus_here));
  for (int i = 0; i < gpus_here; ++i) {
    Gpu& gpu = gpus[static_cast<std::size_t>(i)];
    gpu.peers.resize(gpus.size());
    // Twice the memory, so that holes between allocations never exhaust it early.
    gpu.arena_bytes = 2 * memory + (std::size_t{64} << 20);
    gpu.arena = new_arena(gpu.arena_bytes);
    streams.push_back(std::make_unique<CUstream_st>(CUstream_st{.gpu = i, .flags = 0, .id = next_id++}));
    gpu.legacy = streams.back().get();
    gpu.legacy->legacy = true;
  }
}

State& state() {
  static State* one = new State;  // never destroyed: destructors of other statics call into it
  return *one;
}

HostThread& host_thread() {
  thread_local HostThread one;
  return one;
}

cudaError_t take_fault(const char* api) {
  auto& faults = state().faults;
  if (faults.empty()) return cudaSuccess;
  const auto found = faults.find(api);
  if (found == faults.end()) return cudaSuccess;
  const cudaError_t error = found->second;
  faults.erase(found);
  return error;
}

void fail_next(const char* api, cudaError_t error) {
  std::lock_guard lock(state().mutex);
  state().faults[api] = error;
}
void clear_fault() {
  std::lock_guard lock(state().mutex);
  state().faults.clear();
  state().sticky = cudaSuccess;
  host_thread().last_error = cudaSuccess;
}
Counters counters() {
  std::lock_guard lock(state().mutex);
  return state().counters;
}
std::size_t pending(cudaStream_t handle) {
  std::lock_guard lock(state().mutex);
  const CUstream_st* stream = find_stream(handle);
  return stream != nullptr ? stream->queue.size() : 0;
}
std::size_t bytes_in_use(int gpu) {
  std::lock_guard lock(state().mutex);
  return state().gpus.at(static_cast<std::size_t>(gpu)).used;
}

}  // namespace tandem::cuda_emulation
