#include "tandem/tests/simulation/scheduler.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tandem/tests/simulation/real.h"

namespace tandem::simulation {

namespace {
thread_local SimulatedThread* current = nullptr;
Scheduler* active = nullptr;

// Steps from one preemption to the next.
uint32_t draw_steps(Random& random, uint32_t every) {
  return every == 0 ? 0 : 1 + static_cast<uint32_t>(random.below(2 * uint64_t{every} - 1));
}
}  // namespace

SimulatedThread* Scheduler::thread() { return current; }
Scheduler& Scheduler::instance() { return *active; }

Scheduler::Scheduler(const SchedulerOptions& options)
    : options_(options),
      random_(options.seed, 1),
      hash_(mix(options.seed)),
      until_preemption_(draw_steps(random_, options.preempt_every)) {
  active = this;
}
Scheduler::~Scheduler() { active = nullptr; }

void Scheduler::run(const std::function<void()>& body) {
  SimulatedThread& first = add_thread();
  current = &first;
  body();
  enter(nullptr);
  while (alive() > 1) block("the end of all threads", this);
  current = nullptr;
  threads_.clear();
  finished_.clear();
}

void Scheduler::trace(const std::function<std::string()>& text) const {
  if (!options_.trace) return;
  const double seconds = 1e-9 * static_cast<double>(now_ - 1000 * kSecond);
  const std::string who = current == nullptr            ? "event"
                          : current->process == nullptr ? "thread " + std::to_string(current->id)
                                                        : current->process->name + "/" + std::to_string(current->id);
  std::fprintf(stderr, "%12.6f %-8s %s\n", seconds, who.c_str(), text().c_str());
}

// ---- threads

SimulatedThread& Scheduler::add_thread() {
  auto thread = std::make_unique<SimulatedThread>();
  thread->id = next_id_++;
  thread->process = current == nullptr ? nullptr : current->process;
  threads_.push_back(std::move(thread));
  return *threads_.back();
}

void Scheduler::enter(Process* process) { current->process = process; }

void Scheduler::begin(SimulatedThread& thread) {
  await(thread);
  current = &thread;
}

void Scheduler::end(SimulatedThread& thread) {
  thread.state = SimulatedThread::State::kFinished;
  wake_all(&thread);
  const auto place = std::find_if(threads_.begin(), threads_.end(), [&](const auto& t) { return t.get() == &thread; });
  finished_.push_back(std::move(*place));
  threads_.erase(place);
  if (alive() == 1) wake_all(this);
  SimulatedThread& next = pick();
  current = nullptr;
  release(next);
}

void Scheduler::release(SimulatedThread& next) {
  next.baton.store(1, std::memory_order_release);
  real_syscall(SYS_futex, &next.baton, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void Scheduler::await(SimulatedThread& thread) {
  while (thread.baton.load(std::memory_order_acquire) == 0)
    real_syscall(SYS_futex, &thread.baton, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  thread.baton.store(0, std::memory_order_relaxed);
}

void Scheduler::switch_from(SimulatedThread& thread) {
  SimulatedThread& next = pick();
  if (&next == &thread) return;
  now_ += kMicrosecond;
  release(next);
  await(thread);
}

// ---- who runs next

SimulatedThread& Scheduler::pick() {
  run_events();
  for (;;) {
    uint64_t count = 0;
    for (const auto& thread : threads_) count += may_run(*thread);
    if (count > 0) {
      uint64_t chosen = count == 1 ? 0 : random_.below(count);
      for (const auto& thread : threads_)
        if (may_run(*thread) && chosen-- == 0) {
          note(static_cast<uint64_t>(thread->id));
          return *thread;
        }
    }
    if (!advance()) deadlock("no thread can run");
  }
}

// Moves the clock to the next deadline, event or end of a stall; false if there is none.
bool Scheduler::advance() {
  Time next = events_.empty() ? kNever : events_.begin()->first;
  for (const auto& thread : threads_) {
    const Time stalled = thread->process == nullptr ? 0 : thread->process->stalled_until;
    const bool runnable = thread->state == SimulatedThread::State::kRunnable;
    const Time ready = runnable ? stalled : thread->deadline;
    next = std::min(next, ready);
  }
  if (next == kNever) return false;
  now_ = std::max(now_, next);
  if (now_ - 1000 * kSecond > options_.limit) deadlock("the limit of virtual time has passed");
  run_events();
  return true;
}

void Scheduler::run_events() {
  SimulatedThread* const before = current;
  current = nullptr;
  while (!events_.empty() && events_.begin()->first <= now_) {
    const std::function<void()> action = std::move(events_.begin()->second);
    events_.erase(events_.begin());
    action();
  }
  current = before;
  for (const auto& thread : threads_)
    if (thread->state == SimulatedThread::State::kBlocked && thread->deadline <= now_) {
      thread->state = SimulatedThread::State::kRunnable;
      thread->timed_out = true;
      thread->deadline = kNever;
    }
}

void Scheduler::deadlock(const char* why) const {
  std::fflush(stdout);
  std::fprintf(stderr, "deadlock: %s, after %.6f s\n", why, 1e-9 * static_cast<double>(now_ - 1000 * kSecond));
  for (const auto& thread : threads_) {
    const char* process = thread->process == nullptr ? "-" : thread->process->name.c_str();
    const bool runnable = thread->state == SimulatedThread::State::kRunnable;
    std::fprintf(stderr, "  thread %d (%s): %s %s %p\n", thread->id, process, runnable ? "can run after" : "waits for",
                 thread->waits_for, thread->address);
  }
  std::_Exit(3);
}

// ---- what threads do

void Scheduler::step() {
  if (until_preemption_ == 0 || --until_preemption_ > 0) return;
  until_preemption_ = draw_steps(random_, options_.preempt_every);
  yield();
}

void Scheduler::yield() { switch_from(*current); }

bool Scheduler::block(const char* what, const void* address, Time deadline) {
  SimulatedThread& thread = *current;
  thread.state = SimulatedThread::State::kBlocked;
  thread.waits_for = what;
  thread.address = address;
  thread.deadline = deadline;
  thread.timed_out = false;
  switch_from(thread);
  return !thread.timed_out;
}

int Scheduler::wake(const void* address, int count) {
  int waiting = 0, woken = 0;
  const auto waits = [&](const SimulatedThread& thread) {
    return thread.state == SimulatedThread::State::kBlocked && thread.address == address;
  };
  for (const auto& thread : threads_) waiting += waits(*thread);
  for (const auto& thread : threads_) {
    if (!waits(*thread) || woken == count) continue;
    // Each subset of `count` threads is equally likely.
    const auto wanted = static_cast<uint64_t>(count - woken), left = static_cast<uint64_t>(waiting--);
    if (wanted < left && random_.below(left) >= wanted) continue;
    thread->state = SimulatedThread::State::kRunnable;
    thread->deadline = kNever;
    ++woken;
  }
  return woken;
}

void Scheduler::at(Time time, std::function<void()> action) { events_.emplace(time, std::move(action)); }

void Scheduler::stall(Process& process, Time until) { process.stalled_until = std::max(process.stalled_until, until); }

}  // namespace tandem::simulation
