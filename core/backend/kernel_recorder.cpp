// The recorder of each thread.
#include "tandem/core/backend/kernel_recorder.h"

#include <utility>

#include "tandem/core/base/fork.h"
#include "tandem/core/profile.h"

namespace tandem {

namespace {
constinit thread_local KernelRecorder* current = nullptr;
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

namespace detail {

PauseRecorder::PauseRecorder() noexcept : recorder_(std::exchange(current, nullptr)) {}
PauseRecorder::~PauseRecorder() { current = recorder_; }

void note_host_read(const Tensor& t, const char* reader) {
  const PauseRecorder paused;
  if (paused.recorder() != nullptr) paused.recorder()->read_on_host(t, reader);
}

}  // namespace detail
}  // namespace tandem
