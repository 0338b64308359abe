// JobQueue: numbered jobs run by worker threads ahead of the one consumer that takes their results.
//
// Only the consumer pushes, pops and cancels. With no workers a job runs inside pop(), in order, so the two
// ways differ in time alone: a job sees the consumer's grad mode and CPU device, and runs single-threaded on
// a worker (the pool belongs to the thread that computes).
#pragma once
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>

#include "tandem/core/error.h"

namespace tandem::data {

/// What a loader throws when the making of a batch failed in a worker.
class WorkerException : public Error {
 public:
  WorkerException(std::exception_ptr original, int worker, int64_t batch);
  std::exception_ptr original_exception;
  std::string message;  ///< what()
  int worker;           ///< -1: the consumer's own thread
  int64_t batch;
};

namespace detail {

class JobQueue {
 public:
  using Result = std::shared_ptr<void>;
  /// `worker` is 0 for the consumer's own thread when there are no workers.
  using Job = std::function<Result(int worker)>;

  /// in_order = false: pop() gives whichever job ended first. Throws Error: workers < 0 or > 1024.
  explicit JobQueue(int workers, bool in_order = true);
  /// Drops waiting jobs; waits only for those that are running. (A job may end the process by exit().)
  ~JobQueue();
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;

  int workers() const { return workers_; }
  /// Jobs pushed whose results have not been taken.
  int64_t pending() const { return pushed_ - popped_; }
  /// `batch` names the job in errors.
  void push(int64_t batch, Job job);
  /// The next result. Throws WorkerException for the exception of its job (the next call goes on behind it)
  /// and Error when `timeout` has passed (the next call waits for the same one). Precondition: pending() > 0.
  Result pop(std::optional<std::chrono::milliseconds> timeout = std::nullopt);
  /// After a fork the workers are the parent's: a child that has asked for nothing yet starts its own.
  bool is_the_parents() const;
  /// Forgets all pending jobs; returns when none runs any more.
  void cancel();

 private:
  struct State;
  void start();
  void take_over();
  std::unique_ptr<State> state_;
  int workers_;
  bool in_order_;
  int64_t pushed_ = 0, popped_ = 0;
};

}  // namespace detail
}  // namespace tandem::data
