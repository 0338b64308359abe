// The recorder and the queue of each thread.
#include "tandem/core/backend/kernel_recorder.h"

#include <utility>

#include "tandem/core/base/fork.h"
#include "tandem/core/profile.h"

namespace tandem {

namespace {
template <class Watcher>
constinit thread_local Watcher* current = nullptr;
}  // namespace

template <class Watcher>
WatchKernels<Watcher>::WatchKernels(Watcher& watcher)
    : outer_(std::exchange(current<Watcher>, &watcher)), process_(detail::this_process()) {
  profiler::detail::watchers.fetch_add(1, std::memory_order_relaxed);
}
template <class Watcher>
WatchKernels<Watcher>::~WatchKernels() {
  current<Watcher> = outer_;
  // A forked child starts without watchers.
  if (process_ == detail::this_process()) profiler::detail::watchers.fetch_sub(1, std::memory_order_relaxed);
}
template class WatchKernels<KernelRecorder>;
template class WatchKernels<KernelQueue>;

namespace detail {

bool queued(const KernelCall& call) {
  return current<KernelQueue> != nullptr && current<KernelRecorder> == nullptr && current<KernelQueue>->take(call);
}

PauseRecorder::PauseRecorder() noexcept
    : recorder_(std::exchange(current<KernelRecorder>, nullptr)),
      queue_(std::exchange(current<KernelQueue>, nullptr)) {}
PauseRecorder::~PauseRecorder() {
  current<KernelRecorder> = recorder_;
  current<KernelQueue> = queue_;
  if (queue_ != nullptr) queue_->resume();
}

void note_host_read(const Tensor& t, const char* reader) {
  const PauseRecorder paused;
  if (paused.recorder() != nullptr)
    paused.recorder()->read_on_host(t, reader);
  else if (paused.queue() != nullptr)
    paused.queue()->read_on_host(t, reader);
}

}  // namespace detail
}  // namespace tandem
