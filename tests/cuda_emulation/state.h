// Shared by the parts of the emulated runtime: GPUs, memory, streams as queues, captures. Everything here
// requires the single lock; API calls take it through call().
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tandem/tests/cuda_emulation/emulation.h"

namespace tandem::cuda_emulation {

// A position in a stream, reached when the preceding work has run.
struct Recording {
  CUstream_st* stream;
  bool done = false;
  double milliseconds = 0;
};

enum class Work : uint8_t { kKernel, kCopy, kMemset, kHost, kGraph, kRecord, kWait };

struct Entry {
  Work work;
  int gpu;
  const char* operation;
  std::function<void()> run;
  std::shared_ptr<Recording> recording;  // for kRecord and kWait
};

struct Node {
  Entry entry;
  std::vector<std::size_t> after;  // indices of the nodes it depends on
};

struct Capture {
  cudaStreamCaptureMode mode;
  unsigned long long id;
  CUstream_st* origin;
  const void* thread;  // the thread that began it
  bool invalid = false;
  std::unique_ptr<CUgraph_st> graph;
  std::vector<CUstream_st*> streams;  // the streams taking part
};

struct Allocation {
  std::size_t bytes;
  int gpu;
};

constexpr std::size_t kLargePage = std::size_t{2} << 20;

struct Gpu {
  char* arena = nullptr;
  std::size_t arena_bytes = 0, used = 0;
  bool open = false;
  std::vector<bool> peers;
  CUstream_st* legacy = nullptr;
};

struct State {
  State();
  std::mutex mutex;
  std::vector<Gpu> gpus;
  bool no_driver = false, eager = false;
  int order = 0;  // of threads: 1 ascending, -1 descending, 0 alternating
  std::size_t memory = 0;
  std::map<uintptr_t, Allocation> device_memory, pinned_memory;
  std::vector<std::unique_ptr<CUstream_st>> streams;
  std::vector<CUevent_st*> events;
  std::vector<std::shared_ptr<Capture>> captures;
  std::map<std::string, cudaError_t> faults;
  std::map<const void*, std::size_t> shared_limits;  // set by cudaFuncSetAttribute
  cudaError_t sticky = cudaSuccess;
  Counters counters{};
  unsigned long long next_id = 1;
};
State& state();

// State of the calling host thread.
struct HostThread {
  int gpu = 0;
  cudaError_t last_error = cudaSuccess;
  cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;
  bool in_host_function = false;
};
HostThread& host_thread();

/// The fault injected for this call, or success.
cudaError_t take_fault(const char* api);

/// Body of an API function: takes the lock and checks injected faults and the sticky error before `body`.
template <class Body>
cudaError_t call(const char* api, Body&& body) {
  HostThread& own = host_thread();
  if (own.in_host_function) return own.last_error = cudaErrorNotPermitted;
  std::lock_guard lock(state().mutex);
  cudaError_t status =
      state().gpus.empty() ? (state().no_driver ? cudaErrorInsufficientDriver : cudaErrorNoDevice) : state().sticky;
  if (status == cudaSuccess) status = take_fault(api);
  if (status == cudaSuccess) status = body();
  if (status != cudaSuccess && status != cudaErrorNotReady)
    own.last_error = status;  // cudaErrorNotReady is not an error
  return status;
}

// ---- queue.cpp, streams.cpp
/// The stream behind a handle; null if there is none or it was destroyed.
CUstream_st* find_stream(cudaStream_t handle);
CUevent_st* find_event(cudaEvent_t handle);
/// Appends to the stream, or to the graph that it is capturing.
cudaError_t enqueue(cudaStream_t handle, Work work, const char* operation, std::function<void()> run);
/// Records an event at the end of the stream.
std::shared_ptr<Recording> enqueue_record(CUstream_st* stream);
void enqueue_wait(CUstream_st* stream, const std::shared_ptr<Recording>& recording);
void run_entry(const Entry& entry);
/// Runs everything enqueued, and whatever it waits for.
void drain(CUstream_st* stream);
void drain_until(const std::shared_ptr<Recording>& recording);
void drain_gpu(int gpu);
/// Runs one entry of the stream, or of a stream that it waits for.
void advance(CUstream_st* stream);

// ---- graph.cpp
/// Returns cudaErrorStreamCapture… if the thread's mode forbids an unsafe call now, and invalidates the
/// captures concerned.
cudaError_t unsafe_in_capture();
/// cudaErrorStreamCaptureImplicit if this is the legacy stream and a blocking stream of its GPU is
/// capturing.
cudaError_t legacy_in_capture(const CUstream_st* stream);
cudaError_t capture_entry(CUstream_st* stream, Entry entry);
cudaError_t capture_wait(CUstream_st* stream, CUevent_st* event);
/// Marks the capture of the stream as invalid.
cudaError_t invalidate(CUstream_st* stream, cudaError_t why);
bool capturing(const CUstream_st* stream);

// ---- memory.cpp
enum class Side : uint8_t { kPageable, kPinned, kDevice, kWrong };
struct Where {
  Side side;
  int gpu;
};
/// The location of all the bytes; kWrong if they extend beyond an allocation or were freed.
Where where(const void* p, std::size_t bytes);
/// Whether a kernel on the GPU may use all the bytes: the GPU's own memory, its peers' memory, pinned
/// memory.
bool usable(const void* p, std::size_t bytes, int gpu);
/// Makes the memory of exactly these GPUs accessible; both may be the same, and -1 means none.
void open_memory(int gpu, int other);
/// Makes the memory of the GPU and its peers accessible.
void open_for_kernel(int gpu);

}  // namespace tandem::cuda_emulation

struct CUstream_st {
  int gpu;
  unsigned flags;
  unsigned long long id;
  int priority = 0;
  bool legacy = false, destroyed = false, busy = false;
  std::deque<tandem::cuda_emulation::Entry> queue;
  std::shared_ptr<tandem::cuda_emulation::Capture> capture;
  std::vector<std::size_t> ends;  // in a capture: the nodes that the next one depends on
};

struct CUevent_st {
  int gpu;
  unsigned flags;
  std::shared_ptr<tandem::cuda_emulation::Recording> recording;
  std::shared_ptr<tandem::cuda_emulation::Capture> capture;  // the capture in which it was last recorded
  std::vector<std::size_t> ends;
};

struct CUgraphNode_st {
  tandem::cuda_emulation::Work work;
};

struct CUgraph_st {
  std::vector<tandem::cuda_emulation::Node> nodes;
  std::deque<CUgraphNode_st> handles;  // the address of element i is the handle of node i
};

struct CUgraphExec_st {
  std::shared_ptr<std::vector<tandem::cuda_emulation::Entry>> entries;  // in an order that the dependencies allow
};
