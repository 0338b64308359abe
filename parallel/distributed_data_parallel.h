// DistributedDataParallel: trains one model in several processes (torch.nn.parallel.DistributedDataParallel).
//
//   auto group = distributed::init_process_group();
//   distributed::DistributedDataParallel<Net> model(net);
//   for (auto& batch : loader) {                          // over this process's part of the data
//     optimizer.zero_grad();
//     loss(model->forward(batch.data), batch.target).backward();   // averages the gradients
//     optimizer.step();                                   // the same on every process
//   }
//
// At construction the models are compared, and every process receives the parameters and buffers of rank 0. Gradients
// are averaged over the processes in buckets while backward still runs. Each process has the same weight, so the loss
// should be a mean over equally many samples on each.
//
// In training mode every forward first receives the buffers of rank 0 (broadcast_buffers), because running statistics
// would differ otherwise. Every process must run forward and backward in the same order and mode. Only the first backward
// after a forward is averaged; later ones, and autograd::grad, stay on this process. An exception in forward (while
// gradients are recorded), in a communication hook or in join() fails the group, and every process throws.
//
// Freeze, convert and move parameters before wrapping: forward throws if they change afterwards.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tandem/nn/call.h"
#include "tandem/nn/module_holder.h"
#include "tandem/parallel/containers.h"
#include "tandem/parallel/distributed/process_group.h"
#include "tandem/parallel/reducer.h"
#include "tandem/parallel/wrapped_module.h"

namespace tandem::distributed {

struct DistributedDataParallelOptions {
  std::shared_ptr<ProcessGroup> process_group = nullptr;  ///< null: the default group
  optional<Device> device = {};                           ///< where to move the module first
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

/// The part of DistributedDataParallel that does not depend on the type of the module.
class DistributedDataParallelBase : public parallel::WrappedModule {
 public:
  DistributedDataParallelBase(std::shared_ptr<nn::Module> module, DistributedDataParallelOptions options);
  ~DistributedDataParallelBase() override;

  [[nodiscard]] NoSyncGuard no_sync() { return NoSyncGuard(*this); }
  /// For processes with different numbers of batches: runs `loop`, the training loop of this process. Then it takes part
  /// in the steps of the others, with zero gradients, until all have finished, and receives the parameters and buffers
  /// of the last one. Some may be in eval mode meanwhile. Gradients stay averages over all processes. The optimizers'
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
  /// For handlers: aborts the group if gradients are recorded, so the other processes do not wait for this one.
  void forward_failed() noexcept;

 private:
  friend class NoSyncGuard;
  struct JoinedStep {
    int source = -1;       ///< the lowest rank that still has batches; -1: none has
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

template <class M>
class DistributedDataParallelImpl : public DistributedDataParallelBase {
 public:
  /// Throws Error if there is no process group or if no parameter requires a gradient. Throws DistributedError, on every
  /// process, if the models differ in names, shapes, dtypes or frozen parameters.
  explicit DistributedDataParallelImpl(std::shared_ptr<M> module, DistributedDataParallelOptions options = {})
      : DistributedDataParallelBase(module, std::move(options)), module_(std::move(module)) {}

  /// The wrapped module.
  const std::shared_ptr<M>& module() const { return module_; }

  /// Calls module->forward with the same arguments. Its hooks run.
  template <class... Args>
  auto forward(Args&&... args) {
    using Result = decltype(nn::call(*module_, std::forward<Args>(args)...));
    before_forward();
    try {
      if constexpr (std::is_void_v<Result>) {
        nn::call(*module_, std::forward<Args>(args)...);
        Tensors none;
        after_forward(none);
      } else {
        Result result = nn::call(*module_, std::forward<Args>(args)...);
        Tensors outputs;
        parallel::detail::map_tensors(result, [&](const Tensor& t) {
          outputs.push_back(t);
          return t;
        });
        if (!after_forward(outputs)) return result;
        std::size_t next = 0;
        return parallel::detail::map_tensors(result, [&](const Tensor&) { return outputs[next++]; });
      }
    } catch (...) {
      forward_failed();
      throw;
    }
  }

 private:
  std::shared_ptr<M> module_;
};

/// The holder: model->forward(x), or model(x).
template <class M>
class DistributedDataParallel : public nn::ModuleHolder<DistributedDataParallelImpl<M>> {
 public:
  using Impl = DistributedDataParallelImpl<M>;

  DistributedDataParallel(std::nullptr_t) : nn::ModuleHolder<Impl>(nullptr) {}
  explicit DistributedDataParallel(std::shared_ptr<M> module, DistributedDataParallelOptions options = {})
      : nn::ModuleHolder<Impl>(std::make_shared<Impl>(std::move(module), std::move(options))) {}
  explicit DistributedDataParallel(const nn::ModuleHolder<M>& module,
                                   DistributedDataParallelOptions options = {})
      : DistributedDataParallel(module.ptr(), std::move(options)) {}
};

}  // namespace tandem::distributed
