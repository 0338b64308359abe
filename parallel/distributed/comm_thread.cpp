#include "tandem/parallel/distributed/comm_thread.h"

#include <thread>
#include <utility>

#include "tandem/core/profile.h"
#include "tandem/parallel/distributed/group_state.h"

namespace tandem::distributed {

void CommThread::start(std::shared_ptr<GroupState> group) {
  lends_ = group->engine->aborts_at_once();
  std::thread([this, group = std::move(group)] {
    profiler::name_thread("communication");
    loop(*group);
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }).detach();
  started_ = true;
}

void CommThread::push(std::shared_ptr<CallWork> work) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
  }
  pushed_.notify_one();
}

std::shared_ptr<CallWork> CommThread::take(const CallWork& work) {
  const std::lock_guard lock(mutex_);
  if (!lends_ || stop_ || running_ || queue_.empty() || queue_.front().get() != &work) return nullptr;
  running_ = std::move(queue_.front());
  queue_.pop_front();
  return running_;
}

void CommThread::give_back() {
  const std::lock_guard lock(mutex_);
  running_ = nullptr;
  if (queue_.empty()) changed_.notify_all();
  if (stop_ || !queue_.empty()) pushed_.notify_one();
}

std::shared_ptr<CallWork> CommThread::running() {
  const std::lock_guard lock(mutex_);
  return running_;
}

std::list<std::shared_ptr<CallWork>> CommThread::take_queued() {
  const std::lock_guard lock(mutex_);
  return std::exchange(queue_, {});
}

void CommThread::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ended_ || (queue_.empty() && (!running_ || running_->finished())); });
}

void CommThread::wake() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

bool CommThread::stop(Milliseconds timeout) {
  std::unique_lock lock(mutex_);
  stop_ = true;
  pushed_.notify_all();
  return !started_ || changed_.wait_for(lock, timeout, [this] { return ended_; });
}

void CommThread::loop(GroupState& group) {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      pushed_.wait(lock, [this] { return !running_ && (stop_ || !queue_.empty()); });
      if (stop_) return;
      running_ = std::move(queue_.front());
      queue_.pop_front();
    }
    group.execute(*running_);
    give_back();
  }
}

}  // namespace tandem::distributed
