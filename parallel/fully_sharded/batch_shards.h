// BatchShards: trains a FullyShardedDataParallel with results that do not depend on the number of processes.
//
//   distributed::FullyShardedDataParallel<Net> model(net);
//   optim::Adam optimizer(model->parameters(), optim::AdamOptions(1e-3));
//   distributed::BatchShards shards(model.ptr(), {.shards = 8});
//   for (auto& batch : loader) {                       // this process's run of each batch's shards (core/shards.h)
//     optimizer.zero_grad();
//     shards.backward({batch.data, batch.target},
//                     [&](const auto& shard) { return cross_entropy(model(shard[0]), shard[1]); });
//     shards.clip_grad_norm_(1.0);
//     optimizer.step();
//   }
//
// Every shard has a forward and a backward pass of its own, with its own random numbers, and starts with the buffers
// from before the step. Gradients are added in a binary tree over the shards, and changes of buffers are applied in
// their order: results have the bits of a ParameterServer with the same `shards`, on one device or many. A tree needs all
// gradients of a process's shards, so the whole gradients stay in memory until all have run: once if each process has
// one or two shards, twice with four, three times with eight.
#pragma once
#include <memory>
#include <vector>

#include "tandem/core/reduction.h"
#include "tandem/parallel/fully_sharded/fully_sharded_data_parallel_base.h"
#include "tandem/parallel/shards/pieces.h"

namespace tandem::distributed {

using parallel::NotFinite;

struct BatchShardsOptions {
  int64_t shards = 8;  ///< of each batch of all processes, which it must not be less than
  /// Whether the loss of a shard is a mean (shards are weighted by size) or a sum. Hooks see gradients times the size
  /// of their shard: the sum is divided once.
  Reduction loss = Reduction::Mean;
  NotFinite not_finite = NotFinite::kThrow;
  bool chunks = false;  ///< cut batches as chunk does; otherwise sizes of shards differ by at most one
};

class BatchShards {
 public:
  /// Throws Error unless shards is positive.
  BatchShards(std::shared_ptr<FullyShardedDataParallelBase> model, const BatchShardsOptions& options = {});
  ~BatchShards();
  BatchShards(const BatchShards&) = delete;
  BatchShards& operator=(const BatchShards&) = delete;

  using Loss = FunctionRef<Tensor(const Tensors& shard)>;
  /// Forward and backward of this process's part of a batch: tensors that are split along dimension 0. `loss` calls the
  /// model with a shard and returns a scalar; on a process with a shard less than others it is called for its last
  /// shard twice, the second time without effect on gradients, buffers and the result. Adds the gradient of the whole
  /// batch's loss to those of the slices. All processes call it together. Throws Error on an empty batch, parts that
  /// are not the processes' runs of shards, or a loss that is not finite; the group has then failed, and gradients and
  /// buffers are as before. In a step that is skipped they are, too.
  parallel::StepResult backward(const Tensors& batch, Loss loss);

  /// The norms of the whole gradients, in the order of the wrapped module's parameters that have one, with the bits of
  /// Tensor::norm. Gathers them, one unit at a time. All processes call it. Throws Error unless norm_type is positive.
  std::vector<double> gradient_norms(double norm_type = 2);
  /// nn::utils::clip_grad_norm_ of the whole gradients, with its bits; see gradient_norms().
  double clip_grad_norm_(double max_norm, double norm_type = 2);

  /// Steps so far; part of a checkpoint, since random numbers depend on it.
  int64_t steps() const;
  /// Throws Error if it is negative.
  void set_steps(int64_t steps);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem::distributed
