// One mutex guards all state; jobs run without it. A job makes a whole batch, so the lock is taken rarely.
#include "tandem/datasets/job_queue.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "tandem/core/base/fork.h"
#include "tandem/core/profile.h"
#include "tandem/core/threads/parallel_for.h"
#include "tandem/core/threads/thread_state.h"

namespace tandem::data {
namespace {

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

std::string describe(const std::exception_ptr& error, int worker, int64_t batch, const char* kind) {
  return concat("data loader: ", kind, " ", batch, " failed ",
                worker < 0 ? std::string("in the calling thread") : concat("in worker ", worker),
                ". Original message: ", text_of(error));
}

}  // namespace

WorkerException::WorkerException(std::exception_ptr original, int worker, int64_t batch, const char* kind)
    : Error("Caught exception in DataLoader worker thread. Original message: " + text_of(original)),
      original_exception(std::move(original)),
      message(describe(original_exception, worker, batch, kind)),
      worker(worker),
      batch(batch) {}

namespace detail {

struct JobQueue::State {
  struct Done {
    Result result;
    std::exception_ptr error;
    int worker;
    int64_t batch;
  };
  using DoneJobs = std::map<int64_t, Done>;
  struct Waiting {
    int64_t batch;
    Job job;
    tandem::detail::ThreadState modes;
    int device;
    DoneJobs::node_type place;  // by number, for the result: a worker cannot report that there is no memory for it
  };

  std::mutex mutex;
  std::condition_variable work, done_or_idle;
  std::deque<Waiting> waiting;
  DoneJobs done;
  int running = 0;
  bool stop = false, in_order = true;
  const uint32_t process = tandem::detail::this_process();
  std::vector<std::thread> threads;

  void start(int workers) {
    threads.reserve(static_cast<std::size_t>(workers));
    for (int i = 0; i < workers; ++i) threads.emplace_back([this, i] { loop(i); });
  }
  // Returns false if a worker called it, from a job that ends the process: then the state must be leaked.
  bool end() {
    {
      std::lock_guard lock(mutex);
      stop = true;
    }
    work.notify_all();
    bool all = true;
    for (auto& thread : threads) {
      const bool self = thread.get_id() == std::this_thread::get_id();
      self ? thread.detach() : thread.join();
      all = all && !self;
    }
    return all;
  }

  static Done run(Waiting& item, int worker, bool own_thread) {
    Done out{nullptr, nullptr, own_thread ? -1 : worker, item.batch};
    try {
      if (!own_thread) cpu::set_current_device(item.device);  // throws if it no longer exists
      const profiler::Record span("make batch", "data");
      out.result = item.job(worker);
    } catch (const NumberedError& error) {
      out.error = error.original;
      out.batch = error.batch;
    } catch (...) {
      out.error = std::current_exception();
    }
    item.job = nullptr;  // destroys the job's captures before the result becomes visible
    return out;
  }

  void loop(int worker) {
    const SerialGuard serial;
    profiler::name_thread(concat("data worker ", worker).c_str());
    std::unique_lock lock(mutex);
    for (;;) {
      work.wait(lock, [&] { return stop || !waiting.empty(); });
      if (stop) return;
      Waiting item = std::move(waiting.front());
      waiting.pop_front();
      ++running;
      lock.unlock();
      tandem::detail::thread_state = item.modes;
      item.place.mapped() = run(item, worker, false);
      lock.lock();
      done.insert(std::move(item.place));
      --running;
      done_or_idle.notify_all();
    }
  }
};

JobQueue::JobQueue(int workers, bool in_order, const char* kind) : workers_(workers), in_order_(in_order), kind_(kind) {
  check(workers >= 0 && workers <= 1024, "data loader: workers = ", workers, ", expected 0 to 1024");
  start();
}

void JobQueue::start() {
  state_ = std::make_unique<State>();
  state_->in_order = in_order_;
  try {
    state_->start(workers_);
  } catch (const std::bad_alloc&) {
    state_->end();
    throw;
  } catch (const std::system_error& error) {
    const std::size_t started = state_->threads.size();
    state_->end();
    fail("data loader: only ", started, " of ", workers_, " worker threads could be started: ", error.code().message(),
         "; use fewer workers");
  }
}

JobQueue::~JobQueue() {
  if (belongs_to_parent() || !state_->end()) static_cast<void>(state_.release());
}

bool JobQueue::belongs_to_parent() const { return workers_ > 0 && state_->process != tandem::detail::this_process(); }

void JobQueue::take_over() {
  if (!belongs_to_parent()) return;
  check(pending() == 0,
        "data loader: this process was forked during an epoch, and the requested batches are being made in the "
        "parent; begin an epoch in the child, or create a loader there");
  static_cast<void>(state_.release());
  start();
}

void JobQueue::push(int64_t batch, Job job) {
  take_over();
  State::DoneJobs places;
  places[pushed_];
  {
    std::lock_guard lock(state_->mutex);
    state_->waiting.push_back(
        {batch, std::move(job), tandem::detail::thread_state, cpu::current_device(), places.extract(places.begin())});
    ++pushed_;
  }
  state_->work.notify_one();
}

JobQueue::Result JobQueue::pop(std::optional<std::chrono::milliseconds> timeout) {
  check(pending() > 0, "data loader: no batch was requested");
  take_over();
  State::Done out;
  if (workers_ == 0) {
    State::Waiting item = std::move(state_->waiting.front());
    state_->waiting.pop_front();
    out = State::run(item, 0, true);
  } else {
    const profiler::Record span("wait for batch", "data");
    std::unique_lock lock(state_->mutex);
    auto& done = state_->done;
    const auto ready = [&] { return !done.empty() && (!state_->in_order || done.begin()->first == popped_); };
    if (!timeout)
      state_->done_or_idle.wait(lock, ready);
    else
      check(state_->done_or_idle.wait_for(lock, *timeout, ready),
            "Timeout in DataLoader queue while waiting for next batch (timeout was ", timeout->count(), " ms)");
    out = std::move(done.begin()->second);
    done.erase(done.begin());
  }
  ++popped_;
  if (out.error) throw WorkerException(std::move(out.error), out.worker, out.batch, kind_);
  return std::move(out.result);
}

void JobQueue::cancel() {
  if (belongs_to_parent()) {
    popped_ = pushed_;
    return take_over();
  }
  std::deque<State::Waiting> dropped;
  State::DoneJobs forgotten;
  std::unique_lock lock(state_->mutex);
  dropped.swap(state_->waiting);
  state_->done_or_idle.wait(lock, [&] { return state_->running == 0; });
  forgotten.swap(state_->done);
  popped_ = pushed_;
}

}  // namespace detail
}  // namespace tandem::data
