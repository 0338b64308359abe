// The thread that performs a group's collectives, in order.
#pragma once
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "tandem/parallel/distributed/store.h"
#include "tandem/parallel/distributed/work.h"

namespace tandem::distributed {

class CommThread {
 public:
  /// Starts the thread, which keeps `group` alive until it ends.
  void start(std::shared_ptr<GroupState> group);
  void push(std::shared_ptr<CallWork> work);
  /// Empties the queue. Returns the running work, if any, and then the queued ones.
  std::vector<std::shared_ptr<CallWork>> take_all();
  /// Waits until all pushed works are done. Needs no timeout, because the watchdog makes calls fail.
  void drain();
  /// Makes drain() check again, after other threads have finished works.
  void wake();
  /// Ends the thread after the running call; returns whether it ended within `timeout`.
  bool stop(Milliseconds timeout);

 private:
  void loop(GroupState& group);

  std::mutex mutex_;
  std::condition_variable pushed_, changed_;
  std::deque<std::shared_ptr<CallWork>> queue_;
  std::shared_ptr<CallWork> running_;
  bool started_ = false, stop_ = false, ended_ = false;
};

}  // namespace tandem::distributed
