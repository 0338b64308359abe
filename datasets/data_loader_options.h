// DataLoaderOptions: the settings of a data loader. Setters chain, DataLoaderOptions(64).workers(2), or assign:
// options.workers() = 2.
#pragma once
#include <chrono>

#include "tandem/core/arg.h"
#include "tandem/core/options.h"

namespace tandem::data {

class DataLoaderOptions {
 public:
  using Timeout = optional<std::chrono::milliseconds>;
  DataLoaderOptions() = default;
  DataLoaderOptions(size_t batch_size) : batch_size_(batch_size) {}

  /// Examples per batch.
  TANDEM_ARG(size_t, batch_size) = 1;
  /// Threads that make batches in advance; 0: the consuming thread makes them.
  TANDEM_ARG(size_t, workers) = 0;
  /// Batches requested in advance; default: 2 per worker.
  TANDEM_ARG(optional<size_t>, max_jobs) = nullopt;
  /// How long to wait for a worker's batch before throwing Error; default: forever.
  TANDEM_ARG(Timeout, timeout) = nullopt;
  /// false: batches arrive in the order in which they are finished.
  TANDEM_ARG(bool, enforce_ordering) = true;
  /// Drops a last batch with fewer examples.
  TANDEM_ARG(bool, drop_last) = false;
  /// Seed of the sampler's order and of the random numbers that data sets and transforms draw from the
  /// default generator; default: drawn from the default generator.
  TANDEM_ARG(optional<uint64_t>, seed) = nullopt;
  /// Puts batches in pinned memory, for copies to a GPU; ignored without a GPU.
  TANDEM_ARG(bool, pin_memory) = false;
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
