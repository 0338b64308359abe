// One thread pool per logical CPU device.
#include "tandem/core/threads/parallel_for.h"

#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "tandem/core/base/fork.h"
#include "tandem/core/error.h"
#include "tandem/core/profile.h"
#include "tandem/core/threads/spin.h"
#include "tandem/core/threads/usable_cores.h"

namespace tandem {

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

namespace {

constexpr int kMaxDevices = 64;
thread_local int current_cpu_device = 0;
thread_local bool inside_body = false;
thread_local int own_number = 0;

// One parallel_for in flight. `next` hands out chunks.
struct Job {
  FunctionRef<void(int64_t, int64_t)> body;
  int64_t n, grain, chunks;
  std::atomic<int64_t> next{0};
  std::mutex error_mutex;
  std::exception_ptr error{};

  void work() {
    for (int64_t c; (c = next.fetch_add(1, std::memory_order_relaxed)) < chunks;) {
      try {
        body(c * grain, c + 1 == chunks ? n : (c + 1) * grain);
      } catch (...) {
        std::lock_guard lock(error_mutex);
        if (!error) error = std::current_exception();
      }
    }
  }
};

class Pool {
 public:
  explicit Pool(int threads) {
    workers_.reserve(static_cast<std::size_t>(threads - 1));
    try {
      for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { loop(i); });
    } catch (const std::system_error& error) {
      const std::size_t started = workers_.size();
      end();
      fail("only ", started, " of ", threads - 1, " worker threads could be started: ", error.code().message(),
           "; use fewer threads");
    }
  }
  ~Pool() {
    if (process_ != detail::this_process()) {  // after a fork the threads are the parent's: nothing to join
      new std::vector<std::thread>(std::move(workers_));
      return;
    }
    end();
  }
  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Returns false if another caller is using the pool.
  bool run(Job& job) {
    if (workers_.empty() || !busy_.try_lock()) return false;
    std::lock_guard lock(busy_, std::adopt_lock);
    left_.store(0, std::memory_order_relaxed);
    job_ = &job;
    entered_.store(0, std::memory_order_release);
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
    inside_body = true;
    const uint32_t process = detail::this_process();
    job.work();
    inside_body = false;
    detail::check_same_process(process, "parallel_for");
    const uint32_t entered = entered_.exchange(kClosed, std::memory_order_acq_rel);
    uint32_t left = 0;
    const auto all_left = [&] { return (left = left_.load(std::memory_order_acquire)) == entered; };
    if (!spin_until(all_left))
      while (!all_left()) left_.wait(left, std::memory_order_acquire);
    return true;
  }

 private:
  void end() {
    stop_ = true;
    generation_.fetch_add(1);
    generation_.notify_all();
    for (auto& worker : workers_) worker.join();
  }

  void loop(int number) {
    inside_body = true;
    own_number = number;
    profiler::name_thread(concat("pool ", number).c_str());
    uint32_t seen = 0;
    for (;;) {
      if (!spin_until([&] { return generation_.load(std::memory_order_acquire) != seen; }))
        generation_.wait(seen, std::memory_order_acquire);
      ++seen;
      if (stop_) return;
      if (entered_.fetch_add(1, std::memory_order_acq_rel) >= kClosed) continue;
      {
        const profiler::Record span("share of a kernel", "pool");
        job_->work();
      }
      left_.fetch_add(1, std::memory_order_release);
      left_.notify_one();
    }
  }

  const uint32_t process_ = detail::this_process();
  std::vector<std::thread> workers_;
  std::mutex busy_;
  std::atomic<uint32_t> generation_{0};
  // Number of workers that entered the job; at least kClosed when there is none. The caller waits for those
  // that entered in time, not for one that is still waking up. left_ counts those that have finished.
  static constexpr uint32_t kClosed = 1u << 31;
  std::atomic<uint32_t> entered_{kClosed}, left_{0};
  std::atomic<bool> stop_{false};
  Job* job_ = nullptr;
};

int environment_int(const char* name, int fallback, int limit) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return fallback;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  check(*end == '\0' && value >= 1 && value <= limit, name, "=", text, ": expected an integer from 1 to ", limit);
  return static_cast<int>(value);
}

struct State {
  State() = default;
  State(const State& parent) : threads(parent.threads.load()), devices(parent.devices.load()) {}
  std::mutex mutex;
  std::atomic<int> threads{environment_int("TANDEM_NUM_THREADS", usable_cores(), 4096)};
  std::atomic<int> devices{environment_int("TANDEM_CPU_DEVICES", 1, kMaxDevices)};
  // Shared with the calls in flight: a replaced pool ends when the last of them does. (No atomic shared_ptr:
  // the one in libstdc++ 12 has a race.)
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<Pool> pool;
  };
  Slot pools[kMaxDevices];

  int threads_per_device() const { return std::max(1, threads.load() / devices.load()); }
  void drop_pools() {
    for (Slot& slot : pools) {
      std::shared_ptr<Pool> ended;  // destroyed after the lock is released
      std::lock_guard lock(slot.mutex);
      ended.swap(slot.pool);
    }
  }
};

// Never destroyed: user threads may still compute during process exit.
State& state() {
  static constinit detail::PerProcess<State> instance;
  return instance.get();
}

std::shared_ptr<Pool> current_pool() {
  State& s = state();
  State::Slot& slot = s.pools[current_cpu_device];
  {
    std::lock_guard lock(slot.mutex);
    if (slot.pool) return slot.pool;
  }
  std::lock_guard lock(s.mutex);
  std::lock_guard slot_lock(slot.mutex);
  if (!slot.pool) slot.pool = std::make_shared<Pool>(s.threads_per_device());
  return slot.pool;
}

}  // namespace

void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) {
  if (n <= 0) return;
  if (grain < 1) grain = 1;
  if (n <= grain) return body(0, n);
  Job job{body, n, grain, (n + grain - 1) / grain};
  if (inside_body || !current_pool()->run(job)) job.work();
  if (job.error) std::rethrow_exception(job.error);
}

bool in_parallel_region() { return inside_body; }
int thread_number() { return own_number; }

SerialGuard::SerialGuard() : previous_(inside_body) { inside_body = true; }
SerialGuard::~SerialGuard() { inside_body = previous_; }

void set_num_threads(int count) {
  check(count >= 1 && count <= 4096, "set_num_threads: expected 1 to 4096, got ", count);
  State& s = state();
  std::lock_guard lock(s.mutex);
  if (s.threads == count) return;
  s.threads = count;
  s.drop_pools();
}

int get_num_threads() { return state().threads; }
int device_num_threads() { return current_pool()->threads(); }

namespace cpu {
void set_device_count(int count) {
  check(count >= 1 && count <= kMaxDevices, "cpu::set_device_count: expected 1 to ", kMaxDevices, ", got ", count);
  State& s = state();
  std::lock_guard lock(s.mutex);
  if (s.devices == count) return;
  s.devices = count;
  s.drop_pools();
}
int device_count() { return state().devices; }
int current_device() { return current_cpu_device; }
void set_current_device(int index) {
  check(index >= 0 && index < device_count(), "cpu:", index, ": this process has ", device_count(),
        " logical CPU device(s); set TANDEM_CPU_DEVICES");
  current_cpu_device = index;
}
}  // namespace cpu

}  // namespace tandem
