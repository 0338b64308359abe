// Idle threads wait in a list for jobs. They are never joined, so nothing waits for them at process exit.
#include "tandem/core/device_threads.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <latch>
#include <mutex>
#include <thread>

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/runtime.h"
#include "tandem/core/base/fork.h"
#include "tandem/core/random/generator.h"
#include "tandem/core/threads/spin.h"
#include "tandem/core/threads/thread_state.h"

namespace tandem {
namespace {

class Worker {
 public:
  explicit Worker(Device device) : device_(device) {
    std::thread([this] { loop(); }).detach();
  }
  Device device() const { return device_; }
  /// The job itself must give the worker back at its end.
  void start(std::function<void()> job) {
    std::lock_guard lock(mutex_);
    job_ = std::move(job);
    posted_.store(true, std::memory_order_release);
    wake_.notify_one();
  }

 private:
  void loop() {
    for (;;) {
      std::function<void()> job;
      spin_until([this] { return posted_.load(std::memory_order_acquire); });
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return job_ != nullptr; });
        job.swap(job_);
        posted_.store(false, std::memory_order_relaxed);
      }
      job();
    }
  }

  const Device device_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::function<void()> job_;
  std::atomic<bool> posted_{false};  // whether job_ is set; readable without the lock
};

struct IdleWorkers {
  IdleWorkers() = default;
  IdleWorkers(const IdleWorkers&) {}  // after a fork the threads are the parent's
  std::mutex mutex;
  std::vector<Worker*> workers;  // has room for all, so that a worker can always be given back
  std::size_t all = 0;
};
constinit detail::PerProcess<IdleWorkers> idle_workers;

Worker* take(Device device) {
  IdleWorkers& list = idle_workers.get();
  {
    std::lock_guard lock(list.mutex);
    const auto found = std::find_if(list.workers.rbegin(), list.workers.rend(),
                                    [&](const Worker* worker) { return worker->device() == device; });
    if (found != list.workers.rend()) {
      Worker* worker = *found;
      list.workers.erase(std::next(found).base());
      return worker;
    }
    list.workers.reserve(list.all + 1);
    ++list.all;
  }
  return new Worker(device);
}

void give_back(Worker* worker) {
  IdleWorkers& list = idle_workers.get();
  std::lock_guard lock(list.mutex);
  list.workers.push_back(worker);
}

// The thread-local modes that a job inherits from its caller.
class CallerModes {
 public:
  explicit CallerModes(ArrayRef<Device> devices) : state_(detail::thread_state), generator_(default_generator()) {
    for (const Device& device : devices)
      if (device.is_cuda()) streams_.push_back(backend(device).runtime.current_stream(device));
  }
  void run(Device device, FunctionRef<void()> job) const {
    const detail::ThreadState before = detail::thread_state;
    detail::thread_state = state_;
    const GeneratorGuard generator(generator_);
    for (const StreamHandle& stream : streams_) backend(stream.device).runtime.set_current_stream(stream);
    try {
      const DeviceGuard guard(device);
      job();
    } catch (...) {
      detail::thread_state = before;
      throw;
    }
    detail::thread_state = before;
  }

 private:
  detail::ThreadState state_;
  Generator generator_;
  std::vector<StreamHandle> streams_;
};

}  // namespace

std::vector<std::exception_ptr> run_on_devices(ArrayRef<Device> devices, FunctionRef<void(std::size_t)> job) {
  std::vector<std::exception_ptr> errors(devices.size());
  if (devices.size() == 0) return errors;
  const auto guarded = [&](std::size_t i, auto&& call) {
    try {
      call();
    } catch (...) {
      errors[i] = std::current_exception();
    }
  };
  const CallerModes modes(devices);
  const uint32_t process = detail::this_process();
  std::latch ended(static_cast<std::ptrdiff_t>(devices.size() - 1));
  // All workers first: jobs may wait for each other, so either all run or none. Starting them takes no memory.
  std::vector<Worker*> workers(devices.size());
  for (std::size_t i = 1; i < devices.size(); ++i) guarded(i, [&] { workers[i] = take(devices[i]); });
  if (std::any_of(errors.begin(), errors.end(), [](const std::exception_ptr& error) { return error != nullptr; })) {
    for (Worker* worker : workers)
      if (worker != nullptr) give_back(worker);
    return errors;
  }
  const auto run = [&](std::size_t i) {
    guarded(i, [&] { modes.run(devices[i], [&] { job(i); }); });
    give_back(workers[i]);
    ended.count_down();
  };
  for (std::size_t i = 1; i < devices.size(); ++i) workers[i]->start([&run, i] { run(i); });
  guarded(0, [&] {
    const DeviceGuard guard(devices[0]);
    job(0);
  });
  if (devices.size() > 1) detail::check_same_process(process, "run_on_devices");
  if (!spin_until([&] { return ended.try_wait(); })) ended.wait();
  return errors;
}

}  // namespace tandem
