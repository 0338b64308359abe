// LoaderCore: the part shared by all data loaders: epochs, prefetching, errors, position. It does not depend
// on data sets or batch types.
#pragma once
#include <memory>
#include <optional>

#include "tandem/core/base/exclusive.h"
#include "tandem/core/tensor.h"
#include "tandem/datasets/data_loader_options.h"
#include "tandem/datasets/example.h"
#include "tandem/datasets/job_queue.h"

namespace tandem::data::detail {

class LoaderCore {
 public:
  LoaderCore(const LoaderCore&) = delete;
  LoaderCore& operator=(const LoaderCore&) = delete;
  virtual ~LoaderCore() = default;

  const FullDataLoaderOptions& options() const noexcept { return options_; }
  /// The loader's position; load_state() continues from it. Call it between two batches of a loop.
  LoaderState state() const { return next_.value_or(LoaderState{seed_, epoch_, position_}); }
  /// The next begin() continues there: in epoch state.epoch after its first state.position batches, which are
  /// not made again.
  void load_state(const LoaderState& state);
  /// The next begin() starts this epoch.
  void set_epoch(int64_t epoch) { load_state({seed_, epoch, 0}); }
  int64_t epoch() const { return state().epoch; }
  /// Batches taken in the current epoch.
  int64_t position() const { return state().position; }
  void seek(int64_t epoch, int64_t position) { load_state({seed_, epoch, position}); }
  /// Ends the epoch and the loop over it; returns when no worker is running. begin() works again afterwards.
  void join();

 protected:
  /// Uses at most `max_workers` threads.
  LoaderCore(const DataLoaderOptions& options, optional<uint64_t> seed, size_t max_workers);

  /// Drops the rest of the epoch and starts the next one. The returned token represents the loop over it:
  /// while the token is held and the end of the loop is not reached, begin_epoch throws Error, or without workers
  /// ends that loop.
  std::shared_ptr<void> begin_epoch();
  /// The next batch of that loop; null at the end. Throws as described in data_loader.h.
  JobQueue::Result next(const std::shared_ptr<void>& loop);
  /// Number of the batch that next_job() makes or skip_batch() skips.
  int64_t asked() const { return asked_; }
  /// Stops the workers; for destructors of classes that own data used by jobs.
  void stop() { queue_.reset(); }

  /// Starts an epoch (`chosen`: exactly this one; otherwise the one after the last) and returns its number.
  virtual int64_t start_epoch(int64_t epoch, bool chosen) = 0;
  /// The job of the next batch; empty at the end of the epoch.
  virtual JobQueue::Job next_job() = 0;
  /// Skips a batch; returns false at the end of the epoch.
  virtual bool skip_batch() = 0;
  virtual void seed_changed(uint64_t) {}
  /// Whether errors of a batch are WorkerExceptions without workers, too.
  virtual bool always_wraps() const { return false; }
  /// Of several processes: each gets other random numbers.
  virtual int64_t rank() const { return 0; }

 private:
  void ask();

  FullDataLoaderOptions options_;
  uint64_t seed_;
  int64_t epoch_ = -1, position_ = 0, asked_ = 0;
  bool exhausted_ = true;
  optional<LoaderState> next_;
  std::weak_ptr<void> loop_;  // the unfinished loop
  std::unique_ptr<JobQueue> queue_;
  Exclusive exclusive_;
};

/// Moves batches of known types to pinned memory; leaves others unchanged.
void pin_batch(Tensor& tensor);
void pin_batch(std::vector<Tensor>& tensors);
template <typename Target>
void pin_batch(Example<Tensor, Target>& batch) {
  pin_batch(batch.data);
  if constexpr (std::is_same_v<Target, Tensor>) pin_batch(batch.target);
}
template <typename Batch>
void pin_batch(Batch&) {}

}  // namespace tandem::data::detail
