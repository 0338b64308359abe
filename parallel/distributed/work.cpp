#include "tandem/parallel/distributed/work.h"

#include "tandem/autograd/grad_mode.h"
#include "tandem/core/backend/kernel_recorder.h"
#include "tandem/core/profile.h"
#include "tandem/parallel/distributed/group_state.h"

namespace tandem::distributed {

Work::~Work() = default;

bool FinishableWork::finish(const std::exception_ptr& error) {
  if (claimed_.exchange(true)) {
    done_.wait(0, std::memory_order_acquire);  // the other thread is about to set the error
    return false;
  }
  error_ = error;
  done_.store(1, std::memory_order_release);
  done_.notify_all();
  return true;
}

void FinishableWork::rethrow() const {
  if (error_) std::rethrow_exception(error_);
}

// The watchdog ends the wait when the group's timeout has passed, or this one.
void FinishableWork::wait(Milliseconds timeout) {
  if (!finished()) {
    group_->check_process(call.label());
    std::unique_ptr<Watched> watched;
    if (timeout.count() > 0) watched = group_->watch(call, timeout);
    optional<profiler::Record> span;
    if (profiler::is_on()) span.emplace(concat("wait for ", name(call.operation)), "communication");
    // This yields before it sleeps. Longer spinning would take the cores that the engine's threads need.
    done_.wait(0, std::memory_order_acquire);
  }
  rethrow();
}

std::exception_ptr FinishableWork::exception() { return finished() ? error_ : nullptr; }

// To wake the group's thread for a call, and this one at its end, takes longer than a small call. The thread may record
// or differentiate what it does; the call is no part of that.
void CallWork::wait(Milliseconds timeout) {
  if (!finished()) {
    group_->check_process(call.label());
    if (const std::shared_ptr<CallWork> here = group_->comm.take(*this)) {
      const NoGradGuard no_grad;
      const tandem::detail::PauseRecorder unrecorded;
      std::unique_ptr<Watched> watched;
      if (timeout.count() > 0) watched = group_->watch(call, timeout);
      group_->execute(*this);
      group_->comm.give_back();
    }
  }
  FinishableWork::wait(timeout);
}

// A forked child leaves the request alone: it lacks the threads that the destructor waits for.
MessageWork::~MessageWork() {
  if (!group_->is_own_process()) static_cast<void>(request_.release());
}

void MessageWork::wait(Milliseconds timeout) {
  if (!finished()) {
    group_->check_process(call.label());
    const auto watched = group_->watch(call, timeout.count() > 0 ? timeout : group_->timeout);
    const std::lock_guard lock(mutex_);
    if (!finished()) {
      try {
        // The watchdog is to notice the timeout first: it knows what the other ranks do.
        request_->wait((timeout.count() > 0 ? timeout : group_->timeout) + GroupState::kGrace);
        finish(nullptr);
      } catch (const std::runtime_error& error) {
        finish(group_->fail({Failure::kEngine, call, watched->seconds(), error.what()}));
      }
    }
  }
  rethrow();
}

bool FinishableWork::is_completed() {
  if (!finished()) group_->check_process(call.label());
  return finished();
}

bool MessageWork::is_completed() {
  if (FinishableWork::is_completed()) return true;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return finished();  // another thread waits for it
  try {
    if (!request_->test()) return false;
    finish(nullptr);
  } catch (const std::runtime_error& error) {
    finish(group_->fail({Failure::kEngine, call, 0, error.what()}));
  }
  return true;
}

void DeviceWork::wait(Milliseconds) {
  if (const std::exception_ptr error = inner_->exception()) std::rethrow_exception(error);
  event_->wait(Stream::current(device_));
}

}  // namespace tandem::distributed
