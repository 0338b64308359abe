// Sums the gradients of shards in a fixed binary tree (tree_sum.h), on any number of devices and processes, and applies
// their changes of buffers as if they had run sequentially: devices, and processes, hold consecutive runs of shards.
#pragma once
#include <optional>
#include <vector>

#include "tandem/autograd/buffer_updates.h"
#include "tandem/parallel/parameter_server/gradient_reduction.h"
#include "tandem/parallel/parameter_server/part_exchange.h"
#include "tandem/parallel/parameter_server/tree_sum.h"

namespace tandem::parallel {

/// The buffers of a replica while it computes shards; each shard starts with their values before the step.
class ShardBuffers {
 public:
  /// Call before the first shard, once the buffers of `net` have their values.
  void begin(const nn::Module& net);
  /// The log to use in the forward of a shard.
  autograd::BufferLog* log() { return buffers_.empty() ? nullptr : &log_; }
  /// Call after each shard: keeps what it wrote and restores the initial values.
  void end_shard();
  /// Restores the initial values after a shard that failed.
  void restore();
  /// Copies into each buffer the value from the last shard of this replica that wrote it.
  void copy_written(const std::vector<Tensor>& buffers) const;
  /// Whether a shard of this replica wrote buffer k directly.
  bool wrote(std::size_t k) const { return k < written_.size() && written_[k].defined(); }
  void replay(const std::vector<Tensor>& buffers) { log_.replay(buffers); }

 private:
  struct Stamp {
    const void* data = nullptr;
    uint32_t version = 0;
    bool operator==(const Stamp&) const = default;
  };
  static Stamp stamp(const Tensor& t) { return {t.data_ptr(), t._version()}; }
  std::vector<Tensor> buffers_, initial_, written_;
  std::vector<Stamp> stamps_;  // stamps of the buffers while they equal initial_
  autograd::BufferLog log_;
};

class TreeReduction final : public GradientReduction {
 public:
  TreeReduction(const Replicas& replicas, std::size_t root, const ServerOptions& options);

  void begin_step(int64_t samples, int64_t step) override;
  void begin_device(std::size_t device) override;
  void before_backward(std::size_t device, const Piece& piece) override;
  void after_backward(std::size_t device) override;
  autograd::BufferLog* log(std::size_t device) override { return devices_[device].buffers.log(); }
  bool complete(bool failed) override;
  void finish(const optim::Optimizer* next) override;
  void drop(bool failed) override;

 private:
  struct DeviceSums {
    TreeSum tree;
    ShardBuffers buffers;
  };
  /// The shards of this process, of all processes' batch.
  struct Shards {
    uint64_t seed = 0;  // of the default generator on rank 0
    int64_t total = 0, first = 0;
    std::vector<int64_t> sizes;  // of shards first, first + 1, …
    bool operator==(const Shards&) const = default;
  };
  Shards own_shards() const;
  void set_shards(Shards shards);
  void fold_buffers();
  void fold_over_processes(const std::vector<Tensor>& buffers);

  std::vector<DeviceSums> devices_;
  std::optional<PartExchange> parts_;  // with other processes
  Shards shards_;
};

}  // namespace tandem::parallel
