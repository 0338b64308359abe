// JobQueue: worker threads run numbered jobs ahead of a single consumer that takes their results.
//
// Only the consumer pushes, pops and cancels. Without workers, a job runs inside pop(), in order, so the two
// modes differ only in timing: a job sees the consumer's grad mode and CPU device, and runs single-threaded
// on a worker (the pool belongs to the computing thread).
#pragma once
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>

#include "tandem/core/error.h"

namespace tandem::data {

/// A loader throws this when a worker has failed to make a batch, and ChunkDataset when it has failed to read a chunk.
/// what() has LibTorch's words.
class WorkerException : public Error {
 public:
  /// `kind` names what `batch` counts.
  WorkerException(std::exception_ptr original, int worker, int64_t batch, const char* kind = "batch");
  std::exception_ptr original_exception;
  std::string message;  ///< what failed, where, and the original message
  int worker;           ///< -1: the consumer's own thread
  int64_t batch;
};

namespace detail {

/// A job throws this to name another number than the one with which it was pushed; pop() throws a WorkerException as if
/// `original` had been thrown.
struct NumberedError {
  std::exception_ptr original;
  int64_t batch;
};

class JobQueue {
 public:
  using Result = std::shared_ptr<void>;
  /// `worker` is 0 for the consumer's own thread when there are no workers.
  using Job = std::function<Result(int worker)>;

  /// in_order = false: pop() returns whichever job finished first. Throws Error if workers is not in 0 to
  /// 1024, or if the threads cannot be started.
  /// `kind`, a literal, names what the jobs make.
  explicit JobQueue(int workers, bool in_order = true, const char* kind = "batch");
  /// Drops waiting jobs and waits only for running ones. (A job may end the process with exit().)
  ~JobQueue();
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;

  int workers() const { return workers_; }
  /// Number of jobs pushed and not yet popped.
  int64_t pending() const { return pushed_ - popped_; }
  /// Queues a job; error messages name it by its kind and `batch`.
  void push(int64_t batch, Job job);
  /// The next result. Throws WorkerException if its job threw (the next call continues after it) and Error if
  /// `timeout` has passed (the next call waits for the same job). Precondition: pending() > 0.
  Result pop(std::optional<std::chrono::milliseconds> timeout = std::nullopt);
  /// Whether the workers belong to the parent of a fork. A child without pending jobs then starts its own.
  bool belongs_to_parent() const;
  /// Discards all pending jobs; returns when none is running.
  void cancel();

 private:
  struct State;
  void start();
  void take_over();
  std::unique_ptr<State> state_;
  int workers_;
  bool in_order_;
  const char* kind_;
  int64_t pushed_ = 0, popped_ = 0;
};

}  // namespace detail
}  // namespace tandem::data
