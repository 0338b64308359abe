// The recorder of each thread.
#include "tandem/core/backend/kernel_recorder.h"

#include <utility>

#include "tandem/core/base/fork.h"
#include "tandem/core/profile.h"

namespace tandem {

namespace {
constinit thread_local KernelRecorder* current = nullptr;
constinit thread_local KernelQueue* current_queue = nullptr;
}  // namespace

RecordKernels::RecordKernels(KernelRecorder& recorder)
    : outer_(std::exchange(current, &recorder)), process_(detail::this_process()) {
  profiler::detail::watchers.fetch_add(1, std::memory_order_relaxed);
}
RecordKernels::~RecordKernels() {
  current = outer_;
  // A forked child starts without watchers.
  if (process_ == detail::this_process()) profiler::detail::watchers.fetch_sub(1, std::memory_order_relaxed);
}

QueueKernels::QueueKernels(KernelQueue& queue)
    : outer_(std::exchange(current_queue, &queue)), process_(detail::this_process()) {
  profiler::detail::watchers.fetch_add(1, std::memory_order_relaxed);
}
QueueKernels::~QueueKernels() {
  current_queue = outer_;
  if (process_ == detail::this_process()) profiler::detail::watchers.fetch_sub(1, std::memory_order_relaxed);
}

namespace detail {

bool queued(const KernelCall& call) {
  return current_queue != nullptr && current == nullptr && current_queue->take(call);
}

PauseRecorder::PauseRecorder() noexcept
    : recorder_(std::exchange(current, nullptr)), queue_(std::exchange(current_queue, nullptr)) {}
PauseRecorder::~PauseRecorder() {
  current = recorder_;
  current_queue = queue_;
  if (queue_ != nullptr) queue_->resume();
}

void note_host_read(const Tensor& t, const char* reader) {
  const PauseRecorder paused;
  if (paused.recorder() != nullptr) paused.recorder()->read_on_host(t, reader);
}

}  // namespace detail
}  // namespace tandem
