// Replaces the functions of the C library with which threads start, wait and look at the clock. Outside simulations
// they do what they always do. Mutexes keep their own state, so both sides may use one; condition variables and futexes
// are addresses on which the scheduler lets threads wait.
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "tandem/tests/simulation/interpose.h"
#include "tandem/tests/simulation/real.h"
#include "tandem/tests/simulation/scheduler.h"

namespace tandem::simulation {

constinit Real<long(long, ...)> real_syscall{"syscall"};

namespace {

constinit Real<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)> real_create{
    "pthread_create", "__interceptor_pthread_create"};
constinit Real<int(pthread_t, void**)> real_join{"pthread_join", "__interceptor_pthread_join"};
constinit Real<int(pthread_t)> real_detach{"pthread_detach", "__interceptor_pthread_detach"};
constinit Real<int(pthread_mutex_t*)> real_lock{"pthread_mutex_lock"}, real_trylock{"pthread_mutex_trylock"},
    real_unlock{"pthread_mutex_unlock"};
constinit Real<int(pthread_cond_t*, pthread_mutex_t*)> real_wait{"pthread_cond_wait"};
constinit Real<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)> real_timedwait{"pthread_cond_timedwait"};
constinit Real<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)> real_clockwait{
    "pthread_cond_clockwait"};
constinit Real<int(pthread_cond_t*)> real_signal{"pthread_cond_signal"}, real_broadcast{"pthread_cond_broadcast"};
constinit Real<int(clockid_t, timespec*)> real_clock{"clock_gettime"};
constinit Real<int(const timespec*, timespec*)> real_nanosleep{"nanosleep"};
constinit Real<int(clockid_t, int, const timespec*, timespec*)> real_clock_nanosleep{"clock_nanosleep"};
constinit Real<int(useconds_t)> real_usleep{"usleep"};
constinit Real<int()> real_yield{"sched_yield"};

constexpr Time kEpoch = 1'700'000'000 * kSecond;

// ---- threads

struct Start {
  void* (*function)(void*);
  void* argument;
  SimulatedThread* thread;
};

// Of threads that can be joined.
std::map<pthread_t, SimulatedThread*>& joinable() {
  static auto& instance = *new std::map<pthread_t, SimulatedThread*>;
  return instance;
}

// Its destructor runs after those of thread_local variables.
pthread_key_t end_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    pthread_key_create(&made, [](void* thread) { Scheduler::instance().end(*static_cast<SimulatedThread*>(thread)); });
    return made;
  }();
  return key;
}

void* run_thread(void* given) {
  const Start start = *static_cast<Start*>(given);
  delete static_cast<Start*>(given);
  pthread_setspecific(end_key(), start.thread);
  Scheduler::instance().begin(*start.thread);
  return start.function(start.argument);
}

// ---- mutexes

int blocked_on_mutexes = 0;
bool learning = false;
constexpr std::size_t kMaxSilent = 8;
const pthread_mutex_t* silent[kMaxSilent];
std::size_t silent_count = 0;

bool is_silent(const pthread_mutex_t* mutex) {
  for (std::size_t i = 0; i < silent_count; ++i)
    if (silent[i] == mutex) return true;
  return false;
}

int lock(Scheduler& scheduler, pthread_mutex_t* mutex) {
  int result = 0;
  while ((result = real_trylock(mutex)) == EBUSY) {
    ++blocked_on_mutexes;
    scheduler.block("a mutex", mutex);
    --blocked_on_mutexes;
  }
  return result;
}

void unlock(Scheduler& scheduler, pthread_mutex_t* mutex) {
  real_unlock(mutex);
  if (blocked_on_mutexes > 0) scheduler.wake(mutex, 1);
}

// ---- time

Time nanoseconds(const timespec& time) { return time.tv_sec * kSecond + time.tv_nsec; }

Time offset_of(clockid_t clock) {
  if (clock != CLOCK_REALTIME) return 0;
  const Process* process = Scheduler::thread()->process;
  return kEpoch + (process == nullptr ? 0 : process->clock_offset);
}

Time deadline_of(clockid_t clock, const timespec& time) {
  const Time at = nanoseconds(time);
  return at - offset_of(clock);
}

int wait(pthread_cond_t* condition, pthread_mutex_t* mutex, Time deadline) {
  Scheduler& scheduler = Scheduler::instance();
  unlock(scheduler, mutex);
  const bool woken = scheduler.block("a condition variable", condition, deadline);
  lock(scheduler, mutex);
  return woken ? 0 : ETIMEDOUT;
}

long futex(Scheduler& scheduler, const uint32_t* address, int operation, uint32_t value, const timespec* timeout) {
  const int command = operation & FUTEX_CMD_MASK;
  if (command == FUTEX_WAKE || command == FUTEX_WAKE_BITSET) {
    // Whether std::atomic::notify_one asks when nobody waits depends on addresses, so that is no step.
    const int woken = scheduler.wake(address, static_cast<int>(value));
    if (woken > 0) scheduler.step();
    return woken;
  }
  if (command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET) {
    std::fprintf(stderr, "simulation: futex operation %d is not simulated\n", operation);
    std::abort();
  }
  if (__atomic_load_n(address, __ATOMIC_SEQ_CST) != value) {
    errno = EAGAIN;
    return -1;
  }
  Time deadline = kNever;
  if (timeout != nullptr && command == FUTEX_WAIT) deadline = scheduler.now() + nanoseconds(*timeout);
  if (timeout != nullptr && command == FUTEX_WAIT_BITSET)
    deadline = deadline_of((operation & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC, *timeout);
  if (scheduler.block("a futex", address, deadline)) return 0;
  errno = ETIMEDOUT;
  return -1;
}

bool simulated() { return Scheduler::thread() != nullptr; }

}  // namespace

void silence_mutexes_of(const std::function<void()>& action) {
  learning = true;
  action();
  learning = false;
}

}  // namespace tandem::simulation

using namespace tandem::simulation;

extern "C" {

int pthread_create(pthread_t* id, const pthread_attr_t* attributes, void* (*function)(void*), void* argument) noexcept {
  if (!simulated()) return real_create(id, attributes, function, argument);
  Scheduler& scheduler = Scheduler::instance();
  SimulatedThread& thread = scheduler.add_thread();
  const int result = real_create(id, attributes, run_thread, new Start{function, argument, &thread});
  if (result != 0) {
    std::fprintf(stderr, "simulation: no thread can be made\n");
    std::abort();
  }
  joinable()[*id] = &thread;
  scheduler.step();
  return 0;
}

int pthread_join(pthread_t id, void** result) {
  if (!simulated()) return real_join(id, result);
  Scheduler& scheduler = Scheduler::instance();
  const auto place = joinable().find(id);
  while (place->second->state != SimulatedThread::State::kFinished) scheduler.block("a thread's end", place->second);
  joinable().erase(place);
  return real_join(id, result);
}

int pthread_detach(pthread_t id) noexcept {
  if (simulated()) joinable().erase(id);
  return real_detach(id);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  if (!simulated()) {
    if (learning && silent_count < kMaxSilent && !is_silent(mutex)) silent[silent_count++] = mutex;
    return real_lock(mutex);
  }
  Scheduler& scheduler = Scheduler::instance();
  if (!is_silent(mutex)) scheduler.step();
  return lock(scheduler, mutex);
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  if (simulated() && !is_silent(mutex)) Scheduler::instance().step();
  return real_trylock(mutex);
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  if (!simulated()) return real_unlock(mutex);
  unlock(Scheduler::instance(), mutex);
  return 0;
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  return simulated() ? wait(condition, mutex, kNever) : real_wait(condition, mutex);
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  if (!simulated()) return real_timedwait(condition, mutex, until);
  return wait(condition, mutex, deadline_of(CLOCK_REALTIME, *until));
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  if (!simulated()) return real_clockwait(condition, mutex, clock, until);
  return wait(condition, mutex, deadline_of(clock, *until));
}

int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  if (!simulated()) return real_signal(condition);
  Scheduler::instance().wake(condition, 1);
  Scheduler::instance().step();
  return 0;
}

int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  if (!simulated()) return real_broadcast(condition);
  Scheduler::instance().wake_all(condition);
  Scheduler::instance().step();
  return 0;
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const bool of_cpu = clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID || clock < 0;
  if (of_cpu || !simulated()) return real_clock(clock, time);
  const Time now = Scheduler::instance().read_clock() + offset_of(clock);
  *time = {now / kSecond, now % kSecond};
  return 0;
}

int nanosleep(const timespec* duration, timespec* left) {
  if (!simulated()) return real_nanosleep(duration, left);
  Scheduler& scheduler = Scheduler::instance();
  scheduler.sleep_until(scheduler.now() + nanoseconds(*duration));
  return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
  if (!simulated()) return real_clock_nanosleep(clock, flags, time, left);
  Scheduler& scheduler = Scheduler::instance();
  const bool absolute = (flags & TIMER_ABSTIME) != 0;
  scheduler.sleep_until(absolute ? deadline_of(clock, *time) : scheduler.now() + nanoseconds(*time));
  return 0;
}

int usleep(useconds_t microseconds) {
  if (!simulated()) return real_usleep(microseconds);
  Scheduler& scheduler = Scheduler::instance();
  scheduler.sleep_until(scheduler.now() + microseconds * kMicrosecond);
  return 0;
}

int sched_yield() noexcept {
  if (!simulated()) return real_yield();
  Scheduler::instance().read_clock();
  Scheduler::instance().yield();
  return 0;
}

// std::atomic::wait and std::future wait through this one. It reads six arguments whatever the caller passes, as the C
// library's does.
__attribute__((no_sanitize("address"))) long syscall(long number, ...) noexcept {
  va_list arguments;
  va_start(arguments, number);
  long a[6];
  for (long& argument : a) argument = va_arg(arguments, long);
  va_end(arguments);
  if (number == SYS_futex && simulated())
    return futex(Scheduler::instance(), reinterpret_cast<const uint32_t*>(a[0]), static_cast<int>(a[1]),
                 static_cast<uint32_t>(a[2]), reinterpret_cast<const timespec*>(a[3]));
  return real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
}
