// DataShuttle: jobs on the way to worker threads, and their results on the way back.
#pragma once
#include "torch/data/detail/queue.h"

namespace torch::data::detail {

/// One thread pushes jobs, pops results and drains; workers do the rest.
template <class Job, class Result>
class DataShuttle {
 public:
  void push_job(Job job) {
    jobs_.push(std::move(job));
    ++in_flight_;
  }
  Job pop_job() { return jobs_.pop(); }
  void push_result(Result result) { results_.push(std::move(result)); }
  /// nullopt if all results were popped. Throws Error if the timeout has passed.
  std::optional<Result> pop_result(std::optional<std::chrono::milliseconds> timeout = std::nullopt) {
    if (in_flight_ == 0) return std::nullopt;
    std::optional<Result> result(results_.pop(timeout));
    --in_flight_;
    return result;
  }
  /// Drops the jobs that no worker has taken, and the results of the others, which it waits for.
  void drain() {
    in_flight_ -= jobs_.clear();
    while (in_flight_ > 0) pop_result();
  }
  /// The number of jobs whose results were not popped.
  std::size_t in_flight_jobs() const noexcept { return in_flight_; }

 private:
  Queue<Job> jobs_;
  Queue<Result> results_;
  std::size_t in_flight_ = 0;
};

}  // namespace torch::data::detail
