// A group's thread that notices calls that take too long, failures that other ranks have published, and failures of
// work on a device.
#pragma once
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "tandem/core/base/clock.h"
#include "tandem/core/options.h"
#include "tandem/parallel/distributed/call_record.h"
#include "tandem/parallel/distributed/store.h"

namespace tandem::distributed {

class GroupState;

class Watchdog {
 public:
  struct Entry {
    CallRecord call;
    int64_t began = 0, deadline = 0;  ///< nanoseconds
    double seconds() const { return 1e-9 * static_cast<double>(nanoseconds_now() - began); }
  };
  using Place = std::list<Entry>::iterator;

  /// Starts the thread, which keeps `group` alive until stop().
  void start(std::shared_ptr<GroupState> group);
  void stop();
  Place add(const CallRecord& call, Milliseconds timeout);
  void remove(Place place);

 private:
  void loop(const std::shared_ptr<GroupState>& group);
  optional<std::string> engine_error(GroupState& group) const;
  bool tick(const std::shared_ptr<GroupState>& group, std::unique_lock<std::mutex>& lock);
  void poll(const std::shared_ptr<GroupState>& group, const Entry& longest);

  struct Poll;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Entry> entries_;
  bool idle_ = false, stop_ = false;
  std::shared_ptr<Poll> poll_;  // the last question to the store
};

/// A call that the watchdog observes while this object exists.
class Watched {
 public:
  Watched(Watchdog& watchdog, const CallRecord& call, Milliseconds timeout)
      : watchdog_(watchdog), place_(watchdog.add(call, timeout)) {}
  ~Watched() { watchdog_.remove(place_); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  double seconds() const { return place_->seconds(); }

 private:
  Watchdog& watchdog_;
  const Watchdog::Place place_;
};

}  // namespace tandem::distributed
