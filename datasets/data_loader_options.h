// DataLoaderOptions: how a data loader makes batches. Setters chain: DataLoaderOptions(64).workers(2).
#pragma once
#include <chrono>

#include "tandem/core/options.h"

namespace tandem::data {

class DataLoaderOptions {
 public:
  using Timeout = optional<std::chrono::milliseconds>;
  DataLoaderOptions() = default;
  DataLoaderOptions(size_t batch_size) : batch_size_(batch_size) {}

  /// Examples per batch.
  DataLoaderOptions& batch_size(size_t value) { return set(batch_size_, value); }
  /// Threads that make batches in advance; 0: the consuming thread makes them.
  DataLoaderOptions& workers(size_t value) { return set(workers_, value); }
  /// Batches requested in advance; default: 2 per worker.
  DataLoaderOptions& max_jobs(optional<size_t> value) { return set(max_jobs_, value); }
  /// How long to wait for a worker's batch before throwing Error; default: forever.
  DataLoaderOptions& timeout(Timeout value) { return set(timeout_, value); }
  /// false: batches arrive in the order in which they are finished.
  DataLoaderOptions& enforce_ordering(bool value) { return set(enforce_ordering_, value); }
  /// Drops a last batch with fewer examples.
  DataLoaderOptions& drop_last(bool value) { return set(drop_last_, value); }
  /// Seed of the sampler's order and of the random numbers that data sets and transforms draw from the
  /// default generator; default: drawn from the default generator.
  DataLoaderOptions& seed(optional<uint64_t> value) { return set(seed_, value); }
  /// Puts batches in pinned memory, for copies to a GPU; ignored without a GPU.
  DataLoaderOptions& pin_memory(bool value) { return set(pin_memory_, value); }

  size_t batch_size() const { return batch_size_; }
  size_t workers() const { return workers_; }
  optional<size_t> max_jobs() const { return max_jobs_; }
  Timeout timeout() const { return timeout_; }
  bool enforce_ordering() const { return enforce_ordering_; }
  bool drop_last() const { return drop_last_; }
  optional<uint64_t> seed() const { return seed_; }
  bool pin_memory() const { return pin_memory_; }

 private:
  template <typename T>
  DataLoaderOptions& set(T& option, T value) {
    option = value;
    return *this;
  }
  size_t batch_size_ = 1, workers_ = 0;
  optional<size_t> max_jobs_;
  Timeout timeout_;
  bool enforce_ordering_ = true, drop_last_ = false, pin_memory_ = false;
  optional<uint64_t> seed_;
};

/// The options with all defaults filled in.
struct FullDataLoaderOptions {
  explicit FullDataLoaderOptions(const DataLoaderOptions& options)
      : batch_size(options.batch_size()),
        workers(options.workers()),
        max_jobs(options.max_jobs().value_or(2 * options.workers())),
        timeout(options.timeout()),
        enforce_ordering(options.enforce_ordering()),
        drop_last(options.drop_last()),
        pin_memory(options.pin_memory()) {}
  size_t batch_size, workers, max_jobs;
  DataLoaderOptions::Timeout timeout;
  bool enforce_ordering, drop_last, pin_memory;
};

/// The position of a loader, for checkpoints.
struct LoaderState {
  uint64_t seed = 0;
  int64_t epoch = 0;
  int64_t position = 0;  ///< batches taken in this epoch
};

}  // namespace tandem::data
