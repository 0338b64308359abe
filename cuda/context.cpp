// Contexts are pooled: a thread that ends returns its own, and another thread reuses it with its handles and
// plans. They are never destroyed, because at process exit the driver is gone first.
#include "tandem/cuda/context.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>

#include "tandem/core/error.h"
#include "tandem/core/threads/of_thread.h"
#include "tandem/cuda/capture.h"
#include "tandem/cuda/fault.h"
#include "tandem/cuda/gpu_memory.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/streams.h"

namespace tandem::cuda_impl {
namespace {

constexpr std::size_t kMaxDevices = 64;

Fault* make_fault() {
  void* memory = nullptr;
  ensure(cudaHostAlloc(&memory, sizeof(Fault), cudaHostAllocMapped | cudaHostAllocPortable), "cudaHostAlloc");
  return new (memory) Fault;
}

DeviceState* make_state(int device) {
  const Gpu& gpu = gpu_of(device);
  use_gpu(device);
  const cudaError_t status = probe_gpu();
  if (status != cudaSuccess) {
    forget_error();
    fail("cuda:", device, ": ", gpu.name, ", compute capability ", gpu.major, ".", gpu.minor,
         ", cannot run the kernels of this build (", cudaGetErrorString(status), "); build with -Dcuda-arch=sm_",
         gpu.major, gpu.minor);
  }
  const cudaStream_t stream = take_stream(device);
  auto source = std::make_unique<GpuMemory>(device);
  auto allocator = std::make_unique<CachingAllocator>(*source, concat("cuda:", device));
  return new DeviceState{device, gpu, stream, std::move(source), std::move(allocator), make_fault()};
}

struct Shared {
  std::mutex mutex;
  std::array<std::atomic<DeviceState*>, kMaxDevices> states{};  // every freed tensor looks here: without the lock
  std::array<std::vector<Context*>, kMaxDevices> idle;
};
Shared& shared() {
  static Shared* instance = new Shared;
  return *instance;
}

struct ThreadContexts {
  std::array<Context*, kMaxDevices> contexts{};
  ~ThreadContexts() {
    if (is_forked_child()) return;
    std::lock_guard lock(shared().mutex);
    for (std::size_t i = 0; i < kMaxDevices; ++i)
      if (contexts[i] != nullptr) {
        contexts[i]->set_stream(nullptr);
        contexts[i]->pool = 0;
        contexts[i]->recording = nullptr;
        contexts[i]->fusion = nullptr;
        contexts[i]->rebind();  // keep nothing that a recording owned
        shared().idle[i].push_back(contexts[i]);
      }
  }
};
constinit thread_local int thread_device = 0;

Context* take_context(int device) {
  DeviceState& state = device_state(device);
  std::lock_guard lock(shared().mutex);
  auto& idle = shared().idle[static_cast<std::size_t>(device)];
  if (idle.empty()) return new Context(state);
  Context* found = idle.back();
  idle.pop_back();
  return found;
}

}  // namespace

DeviceState& device_state(int device) {
  gpu_of(device);  // throws if there is no such device
  refuse_in_forked_child();
  Shared& s = shared();
  auto& state = s.states[static_cast<std::size_t>(device)];
  if (DeviceState* made = state.load(std::memory_order_acquire)) return *made;
  std::lock_guard lock(s.mutex);
  if (state.load(std::memory_order_relaxed) == nullptr) state.store(make_state(device), std::memory_order_release);
  return *state.load(std::memory_order_relaxed);
}

Context& context(int device) {
  if (static_cast<std::size_t>(device) >= kMaxDevices) gpu_of(device);
  Context*& slot = tandem::detail::of_thread<ThreadContexts>().contexts[static_cast<std::size_t>(device)];
  if (slot == nullptr) [[unlikely]]
    slot = take_context(device);
  use_gpu(device);
  return *slot;
}

int current_device() { return thread_device; }
void set_current_device(int device) {
  gpu_of(device);
  thread_device = device;
}

Context::Context(DeviceState& state) : state_(state), stream_(state.stream) {}
Context::~Context() = default;

cublasHandle_t Context::blas() {
  if (blas_ == nullptr) {
    ensure(cublasCreate(&blas_), "cublasCreate");
    blas_stream_ = nullptr;
  }
  if (blas_stream_ != stream()) {
    ensure(cublasSetStream(blas_, stream_), "cublasSetStream");  // this resets the workspace
    ensure(cublasSetWorkspace(blas_, workspace(), kWorkspaceBytes), "cublasSetWorkspace");
    blas_stream_ = stream_;
  }
  return blas_;
}
cublasLtHandle_t Context::blas_lt() {
  if (blas_lt_ == nullptr) ensure(cublasLtCreate(&blas_lt_), "cublasLtCreate");
  return blas_lt_;
}
cudnnHandle_t Context::dnn() {
  if (dnn_ == nullptr) ensure(cudnnCreate(&dnn_), "cudnnCreate");
  if (dnn_stream_ != stream()) {
    ensure(cudnnSetStream(dnn_, stream_), "cudnnSetStream");
    dnn_stream_ = stream_;
  }
  return dnn_;
}

// One workspace for all streams of this context. Concurrent work on two streams would share it, so a change
// of stream allocates new memory in that stream's order.
void* Context::workspace() {
  if (recording != nullptr) {
    if (recording->workspace == nullptr)
      recording->workspace = state_.allocator->allocate(kWorkspaceBytes, stream_, pool);
    return recording->workspace;
  }
  if (workspace_ == nullptr || workspace_stream_ != stream_) {
    if (workspace_ != nullptr) state_.allocator->free(workspace_);
    workspace_ = state_.allocator->allocate(kWorkspaceBytes, stream_);
    workspace_stream_ = stream_;
  }
  return workspace_;
}

void check_fault(DeviceState& state) {
  Fault& fault = *state.fault;
  if (std::atomic_ref(fault.kind).load(std::memory_order_acquire) == 0) [[likely]]
    return;
  const Fault f = fault;
  std::atomic_ref(fault.kind).store(0, std::memory_order_relaxed);
  std::atomic_ref(fault.claimed).store(0, std::memory_order_release);
  const char* operation = f.operation.text != nullptr ? f.operation.text : "an operation";
  const std::string where = concat(" (found on cuda:", state.index, ", reported at this synchronisation)");
  switch (static_cast<FaultKind>(f.kind)) {
    case FaultKind::kIndex:
      throw IndexError(concat(operation, ": index ", f.value, " is out of bounds for dimension ", f.dim, " with size ",
                              f.size, where));
    case FaultKind::kTarget:
      throw IndexError(concat(operation, ": target ", f.value, " is out of range for ", f.size, " classes", where));
    case FaultKind::kDivisionByZero:
      fail(operation, ": integer division by zero", where);
    case FaultKind::kWeights:
      fail(operation, ": row ", f.value, ": ", f.text.text, where);
    default:
      fail(operation, ": ", f.text.text != nullptr ? f.text.text : "a bad value", where);
  }
}

bool sync_after_launch() {
  static const bool wanted = [] {
    const char* value = std::getenv("TANDEM_CUDA_SYNC");
    return value != nullptr && *value != 0 && std::strcmp(value, "0") != 0;
  }();
  return wanted;
}

void sync_and_check(Context& c, const char* operation) {
  if (c.recording != nullptr) return;  // a capture cannot wait
  const cudaError_t status = cudaStreamSynchronize(c.stream());
  if (status != cudaSuccess)
    fail(operation, ": CUDA: ", cudaGetErrorString(status), " on cuda:", c.state().index, " (TANDEM_CUDA_SYNC)");
  check_fault(c.state());
}

namespace detail {
bool may_start_in_recording(Context& c, const char* operation) {
  if (c.recording->phase == Recording::Phase::kCapturing) return true;
  c.recording->refuse(concat("launches ", operation, " in an optimizer's step"));
  return false;
}
cudaError_t allow_shared(Context& c, const void* kernel, std::size_t bytes) {
  // The driver keeps the last number that it was given for a GPU: it is only ever given larger ones.
  static std::mutex mutex;
  static auto& all = *new std::map<std::pair<int, const void*>, std::size_t>;  // never destroyed
  std::lock_guard lock(mutex);
  std::size_t& allowed = all[{c.gpu().index, kernel}];
  if (bytes <= allowed) return cudaSuccess;
  const cudaError_t status =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  if (status == cudaSuccess) allowed = bytes;
  return status;
}
void started(Context& c, const char* operation, cudaError_t status, const Grid& grid) {
  if (status != cudaSuccess) [[unlikely]] {
    forget_error();
    fail(operation, ": CUDA: ", cudaGetErrorString(status), " launching ", grid.blocks, " blocks of ", grid.threads,
         " threads with ", grid.shared_bytes, " bytes of shared memory on cuda:", c.state().index);
  }
  note_launch(operation);
  if (sync_after_launch()) [[unlikely]]
    sync_and_check(c, operation);
}
}  // namespace detail

}  // namespace tandem::cuda_impl
