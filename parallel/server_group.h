// How a ParameterServer communicates with the other processes of its group.
#pragma once
#include <exception>
#include <memory>
#include <vector>

#include "tandem/core/threads/parallel_for.h"
#include "tandem/nn/module.h"
#include "tandem/parallel/distributed/process_group.h"
#include "tandem/parallel/tree_exchange.h"

namespace tandem::parallel {

/// The batch of all processes and this process's shards of it.
struct WholeBatch {
  int64_t samples = 0;
  int64_t assumed = 0;  ///< samples as of the last step, the same on all processes; in the first step those of this one
  uint64_t seed = 0;    ///< with shards, of the default generator on rank 0; otherwise of this process's
  int64_t first = 0, count = 0;     ///< shards first … first + count - 1 are computed here
  std::vector<int64_t> own_shards;  ///< their sizes; empty without shards
  int64_t total = 0;                ///< number of shards
};

class ServerGroup {
 public:
  using ShardSizes = FunctionRef<std::vector<int64_t>(int64_t samples)>;
  /// Compares the models of all processes, then overwrites their parameters and buffers with those of rank 0.
  ServerGroup(std::shared_ptr<distributed::ProcessGroup> group, const nn::Module& net, int64_t bucket_bytes);

  int rank() const { return group_->rank(); }
  const std::shared_ptr<distributed::ProcessGroup>& processes() const { return group_; }
  /// Starts to exchange the sizes of the batch's parts, and returns the whole batch. `shard_sizes(n)`: the sizes of the
  /// shards of n samples; empty without shards. If this process's part is as in the last step, the others' are assumed
  /// to be as well (unless `wait`), and complete() returns the actual ones. Throws Error on every process if one has
  /// other options, is at another step, or has a number of samples that does not match its shards; where the parts are
  /// assumed, complete() throws.
  WholeBatch begin_step(int64_t samples, int64_t shards, int64_t step, ShardSizes shard_sizes, bool wait);
  /// Waits for the sizes and corrects `whole`. Returns whether its shards and its seed are as begin_step() said.
  bool complete(WholeBatch& whole, ShardSizes shard_sizes);
  /// Whether it is true on any process.
  bool any(bool here);
  /// The sum in tree order: see TreeExchange::run.
  void sum_tree(const std::vector<TreeSum::Node>& nodes, int64_t leaves, const Tensor& sum, bool accumulate,
                double divisor);
  void broadcast_buffers(const std::vector<Tensor>& buffers);
  /// Applies the updates of all processes to the `buffers` of all, in rank order. copy_written(), then replay(), apply
  /// those of this process. written[k]: whether copy_written() writes buffers[k].
  void fold_buffers(const std::vector<Tensor>& buffers, const std::vector<bool>& written,
                    FunctionRef<void()> copy_written, FunctionRef<void()> replay);
  /// Makes the other processes fail too, with the message of `error`.
  void abort(const std::exception_ptr& error) noexcept;

 private:
  void receive();
  WholeBatch batch(ShardSizes shard_sizes) const;

  std::shared_ptr<distributed::ProcessGroup> group_;
  int64_t bucket_bytes_;
  std::vector<int64_t> parts_;  // one row per rank: what this step uses
  Tensor arriving_;             // the same as the ranks have sent it, complete after exchange_of_parts_
  distributed::WorkPtr exchange_of_parts_;
  distributed::TreeExchange exchange_;
};

}  // namespace tandem::parallel
