// The thread that performs a group's collectives, in order; one that waits for the next of them may do it instead.
#pragma once
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>

#include "tandem/parallel/distributed/store.h"
#include "tandem/parallel/distributed/work.h"

namespace tandem::distributed {

class CommThread {
 public:
  /// Starts the thread, which keeps `group` alive until it ends.
  void start(std::shared_ptr<GroupState> group);
  void push(std::shared_ptr<CallWork> work);
  /// If it is the next call, none is running and the engine aborts at once: makes it the running one, for the calling
  /// thread, which has to call give_back() after it. Otherwise returns null.
  std::shared_ptr<CallWork> take(const CallWork& work);
  void give_back();
  /// Null if none is running.
  std::shared_ptr<CallWork> running();
  /// Empties the queue.
  std::list<std::shared_ptr<CallWork>> take_queued();
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
  std::list<std::shared_ptr<CallWork>> queue_;
  std::shared_ptr<CallWork> running_;
  bool lends_ = false;  // threads that wait may make calls
  bool started_ = false, stop_ = false, ended_ = false;
};

}  // namespace tandem::distributed
