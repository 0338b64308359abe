// The part of DistributedDataParallel that does not depend on the type of the module: its options,
// its group and its state.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tandem/parallel/distributed/process_group.h"
#include "tandem/parallel/distributed_data_parallel/reducer.h"
#include "tandem/parallel/shared/wrapped_module.h"

namespace tandem::distributed {

struct DistributedDataParallelOptions {
  std::shared_ptr<ProcessGroup> process_group = nullptr;  ///< null: the default group
  optional<Device> device = {};                           ///< where to move the module first
  /// The devices of this process, which may differ in number between processes. The module is moved to `device` or to
  /// the first one. Empty: only the module's own. Throws Error if one appears twice or if `device` is not among them.
  std::vector<Device> devices = {};
  int64_t bucket_bytes = 4 << 20;
  int64_t first_bucket_bytes = 1 << 20;
  bool find_unused_parameters = false;  ///< see ReducerOptions
  bool static_graph = false;            ///< see ReducerOptions
  bool broadcast_buffers = true;
  CommHook comm_hook = allreduce_hook;
};

/// While alive, backward passes accumulate gradients on this process only. The first pass whose forward runs afterwards
/// averages their sum. Guards nest; the model must outlive them.
class NoSyncGuard {
 public:
  explicit NoSyncGuard(class DistributedDataParallelBase& model);
  ~NoSyncGuard();
  NoSyncGuard(const NoSyncGuard&) = delete;
  NoSyncGuard& operator=(const NoSyncGuard&) = delete;

 private:
  DistributedDataParallelBase& model_;
};

/// Base of DistributedDataParallel.
class DistributedDataParallelBase : public parallel::WrappedModule {
 public:
  DistributedDataParallelBase(std::shared_ptr<nn::Module> module, DistributedDataParallelOptions options);
  ~DistributedDataParallelBase() override;

  [[nodiscard]] NoSyncGuard no_sync() { return NoSyncGuard(*this); }
  /// For processes with different numbers of batches: runs `loop`, the training loop of this process. Then it takes
  /// part in the steps of the others, with zero gradients, until all have finished, and receives the parameters and
  /// buffers of the last one. Meanwhile the buffers before a step come from the highest rank that still has batches,
  /// and some processes may be in eval mode. Gradients stay averages over all processes. The optimizers'
  /// state is not exchanged. In `loop`, every forward that records gradients outside no_sync() needs a backward.
  void join(const std::function<void()>& loop);
  void register_comm_hook(CommHook hook) { reducer_.set_hook(std::move(hook)); }
  const std::shared_ptr<ProcessGroup>& process_group() const { return group_; }
  /// Bytes of the buckets, which hold the gradients.
  std::size_t bucket_bytes() const { return reducer_.bytes(); }
  std::size_t bucket_count() const { return reducer_.buckets(); }
  void pretty_print(std::ostream& stream) const override;

 protected:
  void before_forward();
  /// `outputs`: what forward returned. Returns whether it has replaced them.
  bool after_forward(Tensors& outputs);
  /// As in the options, with indices.
  const std::vector<Device>& devices() const { return options_.devices; }
  /// For handlers: aborts the group if gradients are recorded, so the other processes do not wait for this one.
  void forward_failed() noexcept;

 private:
  friend class NoSyncGuard;
  struct JoinedStep {
    int source = -1;       ///< the highest rank that still has batches, as in PyTorch; -1: none has
    bool buffers = false;  ///< all receive its buffers, because one that has batches is in training mode
  };
  JoinedStep announce(bool active);
  /// Whether a forward in the current mode receives buffers first.
  bool wants_buffers() const;
  void receive_buffers(int from);
  void abort_group() noexcept;

  DistributedDataParallelOptions options_;
  std::shared_ptr<ProcessGroup> group_;
  Reducer reducer_;
  std::vector<Tensor> buffers_;
  std::vector<std::pair<std::string, Tensor>> frozen_;
  int holding_ = 0;
  bool joining_ = false;
};

}  // namespace tandem::distributed
