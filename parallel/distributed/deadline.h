// Points in time until which a call may wait, and pauses between looks at something that does not call back.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

namespace tandem::distributed::detail {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;
  using Milliseconds = std::chrono::milliseconds;
  /// Longer waits end after this time, which also keeps the arithmetic in range.
  static constexpr Milliseconds kLongest = std::chrono::hours(24 * 365);

  /// A negative time counts as none.
  explicit Deadline(Milliseconds from_now) : at_(Clock::now() + std::clamp(from_now, Milliseconds(0), kLongest)) {}
  Clock::time_point at() const { return at_; }
  bool over() const { return Clock::now() >= at_; }
  /// For poll and epoll_wait: rounded up, so that the time is over afterwards; at most a minute.
  int poll_milliseconds() const {
    const auto left = std::chrono::ceil<Milliseconds>(at_ - Clock::now()).count();
    return static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
  }
  Deadline sooner(Milliseconds from_now) const { return Deadline(std::min(at_, Deadline(from_now).at_)); }

 private:
  explicit Deadline(Clock::time_point at) : at_(at) {}
  Clock::time_point at_;
};

/// Pauses of 0.1 ms that double up to 10 ms.
class Backoff {
 public:
  void sleep(const Deadline& deadline) {
    std::this_thread::sleep_until(std::min(deadline.at(), Deadline::Clock::now() + pause_));
    pause_ = std::min<std::chrono::microseconds>(2 * pause_, std::chrono::milliseconds(10));
  }

 private:
  std::chrono::microseconds pause_{100};
};

}  // namespace tandem::distributed::detail
