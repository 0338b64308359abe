// Runs threads one at a time, in an order that a seed decides, under a clock of its own. Threads are real, so
// thread_local variables are right; each waits until it has the baton. interpose.cpp replaces the functions of the C
// library with which threads wait, so that code under test needs no change.
//
// Where no thread can run, the clock jumps to the next deadline. Where there is none, the threads are deadlocked: the
// scheduler reports what each waits for and ends the process.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tandem/tests/simulation/random.h"

namespace tandem::simulation {

/// Virtual nanoseconds.
using Time = int64_t;
inline constexpr Time kNever = std::numeric_limits<Time>::max();
inline constexpr Time kMicrosecond = 1'000, kMillisecond = 1'000'000, kSecond = 1'000'000'000;

/// A process: threads belong to that of the thread that made them.
struct Process {
  std::string name;
  int rank = -1;
  Time stalled_until = 0;  ///< its threads do not run before
  Time clock_offset = 0;   ///< of CLOCK_REALTIME
};

struct SimulatedThread {
  enum class State : uint8_t { kRunnable, kBlocked, kFinished };
  int id = 0;
  Process* process = nullptr;
  State state = State::kRunnable;
  const char* waits_for = "";
  const void* address = nullptr;
  Time deadline = kNever;
  bool timed_out = false;
  std::atomic<uint32_t> baton{0};
};

struct SchedulerOptions {
  uint64_t seed = 0;
  /// On average every so many steps that do not block are followed by another thread's; 0: none.
  uint32_t preempt_every = 0;
  Time limit = 24 * 3600 * kSecond;  ///< a longer simulation counts as a deadlock
  bool trace = false;
};

class Scheduler {
 public:
  explicit Scheduler(const SchedulerOptions& options);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Of the calling thread; null outside simulations, and while an event runs.
  static SimulatedThread* thread();
  static Scheduler& instance();
  /// Runs `body` as the first thread, then until all threads have ended. From a thread outside simulations.
  void run(const std::function<void()>& body);

  Time now() const { return now_; }
  /// The same for a thread that looks at the clock: looking takes time, so that loops end.
  Time read_clock() { return now_ += 100; }
  /// A hash of all decisions so far.
  uint64_t hash() const { return hash_; }
  void note(uint64_t value) { hash_ = mix(hash_ ^ value); }
  /// Prints a line of the trace, if there is one.
  void trace(const std::function<std::string()>& text) const;

  // ---- for the calling thread
  /// A step that does not block, after which another thread may run.
  void step();
  void yield();
  /// Blocks until wake() of the address or the deadline; false after the deadline.
  bool block(const char* what, const void* address, Time deadline = kNever);
  void sleep_until(Time deadline) { block("sleep", nullptr, deadline); }
  /// Makes up to `count` threads that wait for the address runnable, in an order that is drawn; returns how many.
  int wake(const void* address, int count);
  int wake_all(const void* address) { return wake(address, std::numeric_limits<int>::max()); }
  /// Calls `action` at a time. It must not block.
  void at(Time time, std::function<void()> action);
  /// Its threads rest until then.
  void stall(Process& process, Time until);
  /// From now on the calling thread, and those that it makes, belong to the process.
  void enter(Process* process);

  // ---- for interpose.cpp
  SimulatedThread& add_thread();
  /// First and last call of a thread's start function.
  void begin(SimulatedThread& thread);
  void end(SimulatedThread& thread);
  int alive() const { return static_cast<int>(threads_.size()); }

 private:
  [[noreturn]] void deadlock(const char* why) const;
  void release(SimulatedThread& next);
  void await(SimulatedThread& thread);
  /// Gives the baton to a thread that can run, which may be the calling one.
  void switch_from(SimulatedThread& thread);
  SimulatedThread& pick();
  bool advance();
  void run_events();
  bool may_run(const SimulatedThread& thread) const {
    return thread.state == SimulatedThread::State::kRunnable &&
           (thread.process == nullptr || thread.process->stalled_until <= now_);
  }

  const SchedulerOptions options_;
  Random random_;
  Time now_ = 1000 * kSecond;
  uint64_t hash_ = 0;
  uint32_t until_preemption_ = 0;
  int next_id_ = 0;
  std::vector<std::unique_ptr<SimulatedThread>> threads_, finished_;
  std::multimap<Time, std::function<void()>> events_;
};

}  // namespace tandem::simulation
