// What the shards of a batch do to a module's buffers, such as running statistics.
#pragma once
#include <cstdint>
#include <vector>

#include "tandem/autograd/buffer_updates.h"
#include "tandem/nn/module.h"

namespace tandem::distributed {
class ProcessGroup;
}

namespace tandem::parallel {

/// The buffers of a replica while it computes shards; each shard starts with their values before the step.
class ShardBuffers {
 public:
  /// Call before the first shard, once the buffers of `net` have their values. Skips the copy of a buffer that has not
  /// been written since the last step.
  void begin(const nn::Module& net);
  /// The log to use in the forward of a shard.
  autograd::BufferLog* log() { return buffers_.empty() ? nullptr : &log_; }
  /// Call after each shard: keeps what it wrote and restores the initial values.
  void end_shard();
  /// Restores the initial values after a shard that failed.
  void restore();

 private:
  friend void fold_buffers(const std::vector<ShardBuffers*>&, const std::vector<Tensor>&, distributed::ProcessGroup*,
                           int64_t);
  struct Stamp {
    const void* data = nullptr;
    uint32_t version = 0;
    bool operator==(const Stamp&) const = default;
  };
  static Stamp stamp(const Tensor& t) { return {t.data_ptr(), t._version()}; }
  /// Whether a shard of this replica wrote buffer k directly.
  bool wrote(std::size_t k) const { return k < written_.size() && written_[k].defined(); }

  std::vector<Tensor> buffers_, initial_, written_;
  std::vector<Stamp> stamps_;  // stamps of the buffers while they equal initial_
  autograd::BufferLog log_;
};

/// Changes `buffers` as if the shards of all replicas had run in their order on them: `replicas` have the shards of this
/// process, rank r of `group` those of run r. One that was written directly gets the value from the last shard that did.
/// All processes of a group call it; messages have about `bytes`. Null: this process only.
void fold_buffers(const std::vector<ShardBuffers*>& replicas, const std::vector<Tensor>& buffers,
                  distributed::ProcessGroup* group, int64_t bytes);

}  // namespace tandem::parallel
