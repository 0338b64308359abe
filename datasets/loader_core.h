// LoaderCore: what all data loaders share: epochs, prefetching, errors, position. Knows neither data sets nor
// the type of a batch.
#pragma once
#include <memory>
#include <optional>

#include "tandem/core/exclusive.h"
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
  /// Where the loader stands: between two batches of a loop this is what continues it.
  LoaderState state() const { return next_.value_or(LoaderState{seed_, epoch_, position_}); }
  /// The next begin() continues there: epoch state.epoch behind its first state.position batches, which are
  /// not made again.
  void load_state(const LoaderState& state);
  /// The next begin() begins this epoch.
  void set_epoch(int64_t epoch) { load_state({seed_, epoch, 0}); }
  int64_t epoch() const { return state().epoch; }
  /// Batches taken of the current epoch.
  int64_t position() const { return state().position; }
  void seek(int64_t epoch, int64_t position) { load_state({seed_, epoch, position}); }
  /// Ends the epoch and the loop over it; returns when no worker runs any more. begin() works again
  /// afterwards.
  void join();

 protected:
  /// Uses at most `most_workers` threads.
  LoaderCore(const DataLoaderOptions& options, optional<uint64_t> seed, size_t most_workers);

  /// Drops what is left of the epoch and begins the next one. What it gives stands for the loop over it:
  /// while somebody holds that and its end is not reached, begin_epoch throws Error.
  std::shared_ptr<void> begin_epoch();
  /// The next batch of that loop; null at the end. Throws as described at DataLoader.
  JobQueue::Result next(const std::shared_ptr<void>& loop);
  /// Ends the workers: for the destructors of classes that own what jobs use.
  void stop() { queue_.reset(); }

  /// Begins an epoch (`chosen`: this very one, else the one after the last) and gives its number.
  virtual int64_t start_epoch(int64_t epoch, bool chosen) = 0;
  /// The job of the next batch; none at the end of the epoch.
  virtual JobQueue::Job next_job() = 0;
  /// Leaves out a batch; false at the end of the epoch.
  virtual bool skip_batch() = 0;
  virtual void seed_changed(uint64_t) {}

 private:
  void ask();

  FullDataLoaderOptions options_;
  uint64_t seed_;
  int64_t epoch_ = -1, position_ = 0, asked_ = 0;
  bool exhausted_ = true;
  optional<LoaderState> next_;
  std::weak_ptr<void> loop_;  // the one that has not come to its end
  std::unique_ptr<JobQueue> queue_;
  Exclusive exclusive_;
};

/// Batches of known form in pinned memory; others as they are.
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
