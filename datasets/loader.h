// BatchLoader: one epoch of batches gathered from tensors that lie in memory: the fast path of training.
//
// Which examples batch k holds is a pure function of (seed, epoch, batch_size, number of examples): neither
// workers, prefetching nor a resumption in the middle changes a bit of it.
//
//   BatchLoader loader({images, labels}, {.batch_size = 256, .shuffle = true, .workers = 2, .epoch = epoch});
//   while (auto batch = loader.next()) train((*batch)[0], (*batch)[1]);
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "tandem/core/tensor.h"
#include "tandem/datasets/job_queue.h"

namespace tandem::data {

struct BatchLoaderOptions {
  int64_t batch_size = 1;
  bool shuffle = false;
  bool drop_last = false;  ///< leave out a last batch of fewer examples
  int workers = 0;         ///< threads that gather ahead; 0: next() gathers
  int64_t prefetch = 2;    ///< batches made ahead, a worker
  uint64_t seed = 0;
  int64_t epoch = 0;
  int64_t first_batch = 0;  ///< where to begin: what position() was
  bool pin_memory = false;  ///< batches in pinned memory, for copies to a GPU; nothing where there is none
};

/// Changes a gathered batch in place; runs in the worker. Random numbers that it draws from the default
/// generator depend on (seed, epoch, batch) alone.
using BatchTransform = std::function<void(std::vector<Tensor>& batch)>;

class BatchLoader {
 public:
  /// `tensors` have one length in dimension 0; example i is row i of each. They are not copied: leave them
  /// unchanged. Those on a GPU are gathered there, by the calling thread. Throws Error: no tensor, unequal
  /// lengths, 0-dim tensors, batch_size < 1, prefetch < 1, first_batch outside 0 … batches().
  BatchLoader(std::vector<Tensor> tensors, const BatchLoaderOptions& options, BatchTransform transform = {});
  /// Safe at any time; waits for a batch that is being made, not for those ahead.
  ~BatchLoader();
  BatchLoader(BatchLoader&&) noexcept;
  BatchLoader& operator=(BatchLoader&&) noexcept;

  /// The next batch, one tensor for each given; nothing after the last. An exception of the transform arrives
  /// as WorkerException with its worker and batch; the next call goes on behind that batch. For one thread at
  /// a time: throws Error when it meets a call of another.
  std::optional<std::vector<Tensor>> next();
  /// Of the whole epoch.
  int64_t batches() const;
  /// The number of the batch that next() gives.
  int64_t position() const;
  int64_t examples() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tandem::data
