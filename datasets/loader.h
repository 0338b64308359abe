// BatchLoader: one epoch of batches gathered from tensors in memory. Beside make_data_loader, which collates
// examples that a data set makes one by one, it is the fast path for training.
//
// The examples of batch k are a pure function of (seed, epoch, batch_size, number of examples): workers,
// prefetching and resuming in the middle of an epoch do not change them.
//
//   BatchLoader loader({images, labels}, {.batch_size = 256, .shuffle = true, .workers = 2, .epoch = epoch});
//   while (auto batch = loader.next()) train((*batch)[0], (*batch)[1]);
//
// With `pixels`, one kernel gathers, converts and scales a batch of images. If they are on the training device, only the
// epoch's order is copied from the host.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "tandem/core/pixel_scale.h"
#include "tandem/core/tensor.h"
#include "tandem/datasets/batch_part.h"
#include "tandem/datasets/job_queue.h"

namespace tandem::data {

struct BatchLoaderOptions {
  int64_t batch_size = 1;
  bool shuffle = false;
  bool drop_last = false;  ///< drop a last batch with fewer examples
  int workers = 0;         ///< threads that gather in advance; 0: next() gathers
  int64_t prefetch = 2;    ///< batches made in advance, per worker
  uint64_t seed = 0;
  int64_t epoch = 0;
  int64_t first_batch = 0;  ///< where to start: an earlier position()
  bool pin_memory = false;  ///< put batches in pinned memory, for copies to a GPU; ignored without a GPU
  BatchPart part = {};      ///< of each batch; batch_size counts the whole batch
  /// If set, the tensors are uint8 images [N, height, width] or [N, C, height, width] and int64 labels [N], on one
  /// device; copied unless contiguous. Images of a batch, also for the transform, are float32 [n, 1, height, width] or
  /// [n, C, height, width], scaled so.
  std::optional<PixelScale> pixels = {};
};

/// Modifies a gathered batch in place; runs in the worker. Random numbers that it draws from the default
/// generator depend only on (seed, epoch, batch). If batches are cut into shards, it is called for each shard,
/// and the numbers depend on the shard, too, but not on the process; the results are concatenated.
using BatchTransform = std::function<void(std::vector<Tensor>& batch)>;

class BatchLoader {
 public:
  /// `tensors` have equal lengths in dimension 0; example i is row i of each. They are not copied, so do not
  /// modify them. Tensors on a GPU are gathered there, by the calling thread. Throws Error on no tensors,
  /// unequal lengths, zero-dimensional tensors, batch_size < 1, prefetch < 1, workers outside 0 … 1024, first_batch
  /// outside 0 … batches(), a part in which a process would have no examples, and tensors that do not fit `pixels`.
  BatchLoader(std::vector<Tensor> tensors, const BatchLoaderOptions& options, BatchTransform transform = {});
  /// Safe at any time; waits for batches that are being made, not for queued ones.
  ~BatchLoader();
  BatchLoader(BatchLoader&&) noexcept;
  BatchLoader& operator=(BatchLoader&&) noexcept;

  /// The next batch, with one tensor per given tensor; nullopt after the last. An exception of the transform
  /// is rethrown as WorkerException with its worker and batch; the next call continues after that batch. Only
  /// for one thread at a time: throws Error if another thread is inside next().
  std::optional<std::vector<Tensor>> next();
  /// Number of batches in the epoch: batch_count of batch_part.h.
  int64_t batches() const;
  /// Index of the batch that next() will return.
  int64_t position() const;
  int64_t examples() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tandem::data
