#include "tandem/parallel/distributed/watchdog.h"

#include <algorithm>
#include <thread>

#include "tandem/core/profile.h"
#include "tandem/parallel/distributed/group_state.h"

namespace tandem::distributed {

namespace {
constexpr int64_t kSecond = 1'000'000'000;
constexpr Milliseconds kTick{100};
}  // namespace

// The store may not answer, so a separate thread asks it.
struct Watchdog::Poll {
  const int64_t asked = nanoseconds_now();
  bool answered = false, failure_noticed = false;
};

void Watchdog::start(std::shared_ptr<GroupState> group) {
  std::thread([this, group = std::move(group)] {
    profiler::name_thread("watchdog");
    loop(group);
  }).detach();
}

void Watchdog::stop() {
  const std::lock_guard lock(mutex_);
  stop_ = true;
  changed_.notify_all();
}

Watchdog::Place Watchdog::add(const CallRecord& call, Milliseconds timeout) {
  const int64_t now = nanoseconds_now();
  const int64_t limit = std::min<int64_t>(timeout.count(), 1'000'000'000) * 1'000'000;
  const std::lock_guard lock(mutex_);
  entries_.push_back({call, now, now + limit});
  if (idle_) changed_.notify_all();
  return std::prev(entries_.end());
}

void Watchdog::remove(Place place) {
  const std::lock_guard lock(mutex_);
  entries_.erase(place);
}

void Watchdog::loop(const std::shared_ptr<GroupState>& group) {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (entries_.empty()) {
      idle_ = true;
      changed_.wait(lock, [this] { return stop_ || !entries_.empty(); });
      idle_ = false;
    } else if (!tick(group, lock)) {
      return;
    }
  }
}

// Why work on the device fails, if it does. With the lock, so that the engine is alive: stop() comes before its end.
optional<std::string> Watchdog::engine_error(GroupState& group) const {
  if (!group.on_device()) return nullopt;
  try {
    group.engine->check_submitted();
  } catch (const std::runtime_error& error) {
    return std::string(error.what());
  }
  return nullopt;
}

// Returns false once the group has failed.
bool Watchdog::tick(const std::shared_ptr<GroupState>& group, std::unique_lock<std::mutex>& lock) {
  const int64_t now = nanoseconds_now();
  const auto first = std::min_element(entries_.begin(), entries_.end(),
                                      [](const Entry& a, const Entry& b) { return a.deadline < b.deadline; });
  const auto longest = std::min_element(entries_.begin(), entries_.end(),
                                        [](const Entry& a, const Entry& b) { return a.began < b.began; });
  if (const auto error = engine_error(*group)) {
    const Entry entry = *longest;
    lock.unlock();
    group->fail({Failure::kEngine, entry.call, entry.seconds(), *error});
    return false;
  }
  const bool late = first->deadline <= now;
  if (late || (poll_ && poll_->failure_noticed)) {
    const Entry entry = late ? *first : *longest;
    lock.unlock();
    group->fail({late ? Failure::kTimeout : Failure::kOtherRank, entry.call, entry.seconds(), ""});
    return false;
  }
  if (now - longest->began > kSecond) poll(group, *longest);
  const auto left = Milliseconds((first->deadline - now) / 1'000'000 + 1);
  changed_.wait_for(lock, std::min(left, kTick));
  return true;
}

void Watchdog::poll(const std::shared_ptr<GroupState>& group, const Entry& longest) {
  if (poll_ && (!poll_->answered || nanoseconds_now() - std::max(poll_->asked, longest.began) < kSecond)) return;
  try {
    const auto next = std::make_shared<Poll>();
    std::thread([this, next, group] {
      bool noticed = false;
      try {
        noticed = group->board.failure_noticed();
      } catch (const std::exception&) {
        // The store is gone; the running call will fail by itself, and the message will say so.
      }
      const std::lock_guard lock(mutex_);
      next->failure_noticed = noticed;
      next->answered = true;
      if (noticed) changed_.notify_all();
    }).detach();
    poll_ = next;
  } catch (const std::exception&) {
    // Out of memory or threads: asks at the next tick.
  }
}

}  // namespace tandem::distributed
