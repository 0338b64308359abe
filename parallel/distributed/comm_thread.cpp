#include "tandem/parallel/distributed/comm_thread.h"

#include <thread>

#include "tandem/core/profile.h"
#include "tandem/parallel/distributed/group_state.h"

namespace tandem::distributed {

void CommThread::start(std::shared_ptr<GroupState> group) {
  started_ = true;
  std::thread([this, group = std::move(group)] {
    profiler::name_thread("communication");
    loop(*group);
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }).detach();
}

void CommThread::push(std::shared_ptr<CallWork> work) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
  }
  pushed_.notify_one();
}

std::vector<std::shared_ptr<CallWork>> CommThread::take_all() {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<CallWork>> out;
  if (running_) out.push_back(running_);
  out.insert(out.end(), queue_.begin(), queue_.end());
  queue_.clear();
  return out;
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
      pushed_.wait(lock, [this] { return stop_ || !queue_.empty(); });
      if (stop_) return;
      running_ = std::move(queue_.front());
      queue_.pop_front();
    }
    group.execute(*running_);
    const std::lock_guard lock(mutex_);
    running_ = nullptr;
    if (queue_.empty()) changed_.notify_all();
  }
}

}  // namespace tandem::distributed
