// Captured steps: recording and replay.
#include "tandem/cuda/capture.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "tandem/core/backend/capture.h"
#include "tandem/core/random/splitmix64.h"
#include "tandem/cuda/fusion/compiler.h"
#include "tandem/cuda/gpu_memory.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/streams.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
namespace {

Recording& recording_of(void* capture) { return *static_cast<Recording*>(capture); }

// Makes `behind` wait for the work now queued on `other`.
void order(DeviceState& state, cudaStream_t behind, cudaStream_t other) {
  const EventId event = state.source->mark(other);
  ensure(cudaStreamWaitEvent(behind, static_cast<cudaEvent_t>(event), 0), "cudaStreamWaitEvent");
  state.source->drop(event);
}

// Switches the context to a stream and a pool; its library handles follow.
void go_to(Context& c, cudaStream_t stream, PoolId pool, Recording* recording) {
  c.set_stream(stream);
  c.pool = pool;
  if (c.recording != recording) c.rebind();
  c.recording = recording;
}

void enter(void* capture) {
  Recording& r = recording_of(capture);
  Context& c = context(r.device);
  refuse_in_capture(c, "begins another one");
  r.outer_stream = c.stream();
  r.outer_pool = c.pool;
  order(c.state(), r.stream, c.stream());
  go_to(c, r.stream, r.pool, nullptr);
}

void leave(void* capture) try {
  Recording& r = recording_of(capture);
  Context& c = context(r.device);
  go_to(c, r.outer_stream, r.outer_pool, nullptr);
  order(c.state(), r.outer_stream, r.stream);
} catch (const std::exception& error) {
  std::fprintf(stderr, "tandem: %s\n", error.what());
}

void begin(void* capture, bool fuses) {
  Recording& r = recording_of(capture);
  Context& c = context(r.device);
  refuse_in_capture(c, "begins another one");
  if (r.graph != nullptr) ensure(cudaGraphExecDestroy(std::exchange(r.graph, nullptr)), "cudaGraphExecDestroy");
  r.refusal.clear();
  r.slots.clear();
  r.calls.clear();
  r.numbers.assign(sizeof(Generator::Draw), 0);
  r.uploaded.clear();
  if (r.device_numbers == nullptr)
    r.device_numbers = static_cast<char*>(c.state().allocator->allocate(Recording::kNumberBytes, r.stream, r.pool));
  r.first_draw = default_generator().take(0);
  r.draws = 0;
  r.outer_stream = c.stream();
  r.outer_pool = c.pool;
  fuses = fuses && has_fused_compiler();
  ensure(begin_capture(r.device, r.stream), "cudaStreamBeginCapture");
  r.phase = Recording::Phase::kCapturing;
  go_to(c, r.stream, r.pool, &r);
  r.fused = {};
  if (fuses) {
    r.queue = std::make_unique<FusionQueue>(c);
    r.queueing.emplace(*r.queue);
  }
}

// Runs what still waits; r.fused says what the queue has done.
void end_queue(Recording& r) {
  r.queueing.reset();
  if (r.queue == nullptr) return;
  const std::unique_ptr<FusionQueue> queue = std::move(r.queue);
  queue->end();
  r.fused = queue->counts();
}

void instantiate(Recording& r, cudaGraph_t graph, std::size_t& nodes) {
  ensure(cudaGraphGetNodes(graph, nullptr, &nodes), "cudaGraphGetNodes");
  ensure(cudaGraphInstantiate(&r.graph, graph, 0), "cudaGraphInstantiate");
}

CaptureResult end(void* capture) {
  Recording& r = recording_of(capture);
  CaptureResult result;
  cudaGraph_t graph = nullptr;
  try {
    Context& c = context(r.device);
    try {
      end_queue(r);
    } catch (const std::exception& error) {
      r.refuse(error.what());
    }
    const cudaError_t status = end_capture(r.device, r.stream, &graph);
    r.phase = Recording::Phase::kIdle;
    go_to(c, r.outer_stream, r.outer_pool, nullptr);
    const Generator& generator = default_generator();
    const Generator::Draw now = generator.take(0);
    if (now.seed != r.first_draw.seed || now.offset < r.first_draw.offset)
      r.refuse("sets the seed of the default generator");
    r.draws = now.offset - r.first_draw.offset;
    generator.set_current_seed(r.first_draw.seed);
    generator.set_offset(r.first_draw.offset);
    if (status != cudaSuccess) {
      forget_error();
      r.refuse(concat("performs an operation that CUDA cannot record (", cudaGetErrorString(status), ")"));
    }
    if (r.refusal.empty()) instantiate(r, graph, result.nodes);
  } catch (const std::exception& error) {
    r.refuse(error.what());
  }
  if (graph != nullptr) log_failure(cudaGraphDestroy(graph), "cudaGraphDestroy");
  result.refusal = r.refusal;
  result.fused = r.fused;
  result.calls = std::move(r.calls);
  r.calls.clear();
  return result;
}

void begin_numbers(void* capture) {
  Recording& r = recording_of(capture);
  Context& c = context(r.device);
  r.refusal.clear();
  for (Recording::Slot& slot : r.slots) slot.written = false;
  r.phase = Recording::Phase::kNumbers;
  c.recording = &r;
}

std::string end_numbers(void* capture) {
  Recording& r = recording_of(capture);
  r.phase = Recording::Phase::kIdle;
  context(r.device).recording = nullptr;
  for (const Recording::Slot& slot : r.slots)
    if (!slot.written) r.refuse("an optimizer that stepped in the recording does not step now");
  return r.refusal;
}

void replay(void* capture) {
  Recording& r = recording_of(capture);
  Context& c = context(r.device);
  if (r.draws != 0) {
    const Generator::Draw draw = default_generator().take(r.draws);
    std::memcpy(r.numbers.data(), &draw, sizeof draw);
  }
  r.upload(c.stream());
  ensure(cudaGraphLaunch(r.graph, c.stream()), "cudaGraphLaunch");
  if (std::ranges::find(r.replayed_in, c.stream()) == r.replayed_in.end()) r.replayed_in.push_back(c.stream());
  note_launch("captured step");
  if (sync_after_launch()) [[unlikely]]
    sync_and_check(c, "captured step");
}

}  // namespace

Recording::Recording(int device)
    : device(device), pool(context(device).state().allocator->new_pool()), stream(take_stream(device)) {}

// A replay may still be running.
Recording::~Recording() {
  if (is_forked_child()) return;
  log_failure(cudaSetDevice(gpu_of(device).index), "cudaSetDevice");
  replayed_in.push_back(stream);  // eager steps before the capture
  for (const cudaStream_t used : replayed_in) log_failure(wait_for_stream(device, used), "cudaStreamSynchronize");
  if (graph != nullptr) log_failure(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
  CachingAllocator& allocator = *device_state(device).allocator;
  allocator.free(device_numbers);
  allocator.free(workspace);
  allocator.retire_pool(pool);
  if (ring_ != nullptr) free_pinned(ring_);
  for (cudaEvent_t event : read_)
    if (event != nullptr) log_failure(cudaEventDestroy(event), "cudaEventDestroy");
  give_stream(device, stream);
}

void Recording::refuse(std::string reason) {
  if (refusal.empty()) refusal = std::move(reason);
}

const void* Recording::number(const void* value, std::size_t bytes, uint64_t signature) {
  Slot* slot = nullptr;
  for (Slot& s : slots)
    if (s.signature == signature && s.bytes == bytes) slot = &s;
  if (phase == Phase::kCapturing) {
    const std::size_t at = (numbers.size() + 15) / 16 * 16;
    if (slot != nullptr)
      refuse("steps an optimizer twice");
    else if (at + bytes > kNumberBytes)
      refuse("has too many optimizer groups");
    if (!refusal.empty()) return nullptr;
    numbers.resize(at + bytes);
    slots.push_back({at, bytes, signature, true});
    slot = &slots.back();
  } else if (slot == nullptr || slot->written) {
    refuse("an optimizer's parameters, gradients or kind of step changed");
    return nullptr;
  }
  slot->written = true;
  std::memcpy(numbers.data() + slot->at, value, bytes);
  return device_numbers + slot->at;
}

void Recording::upload(cudaStream_t to) {
  if (numbers == uploaded) return;
  const std::size_t bytes = numbers.size();
  if (ring_ == nullptr) {
    ring_ = static_cast<char*>(allocate_pinned(2 * kHalf * kNumberBytes));
    for (cudaEvent_t& event : read_)
      ensure(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  }
  const int half = next_ / kHalf;
  if (next_ % kHalf == 0 && used_[half])  // that was at least 32 copies ago
    ensure(cudaEventSynchronize(read_[half]), "cudaEventSynchronize");
  char* from = ring_ + static_cast<std::size_t>(next_) * kNumberBytes;
  std::memcpy(from, numbers.data(), bytes);
  ensure(cudaMemcpyAsync(device_numbers, from, bytes, cudaMemcpyHostToDevice, to), "cudaMemcpyAsync");
  if (next_ % kHalf == kHalf - 1) {
    ensure(cudaEventRecord(read_[half], to), "cudaEventRecord");
    used_[half] = true;
  }
  next_ = (next_ + 1) % (2 * kHalf);
  uploaded = numbers;
}

ReplayedDraw replayed_draw(Context& c, const Generator::Draw& draw) {
  ReplayedDraw out{draw.seed, draw.offset, nullptr};
  if (c.recording == nullptr || c.recording->phase != Recording::Phase::kCapturing) [[likely]]
    return out;
  Recording& r = *c.recording;
  const Generator::Draw next = default_generator().take(0);
  if (draw.seed != r.first_draw.seed || draw.offset < r.first_draw.offset || draw.offset >= next.offset) {
    r.refuse("draws from a generator other than the default one");
    return out;
  }
  out.offset -= r.first_draw.offset;
  out.memory = reinterpret_cast<const Generator::Draw*>(r.device_numbers);
  return out;
}

void refuse_in_capture(Context& c, const char* reason) {
  if (c.recording == nullptr) [[likely]]
    return;
  c.recording->refuse(reason);
  fail("a captured step ", reason);
}

uint64_t call_signature(const void* kind, std::initializer_list<TensorList> lists) {
  uint64_t hash = reinterpret_cast<uintptr_t>(kind);
  const auto add = [&](uint64_t value) { hash = mixed(hash + value); };
  for (const TensorList& list : lists) {
    add(list.size());
    for (const Tensor& t : list) {
      add(reinterpret_cast<uintptr_t>(t.data_ptr()));
      add(static_cast<uint64_t>(t.numel()));
    }
  }
  return hash;
}

constinit const CaptureKernels capture_kernels{
    .create = +[](Device device) -> void* { return new Recording(device.index()); },
    .destroy = +[](void* capture) { delete &recording_of(capture); },
    .enter = enter,
    .leave = leave,
    .begin = begin,
    .end = end,
    .begin_numbers = begin_numbers,
    .end_numbers = end_numbers,
    .replay = replay,
};

}  // namespace tandem::cuda_impl
