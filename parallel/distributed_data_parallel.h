// DistributedDataParallel: trains one model in several processes (torch.nn.parallel.DistributedDataParallel).
//
//   auto group = distributed::init_process_group();
//   distributed::DistributedDataParallel<Net> model(net);
//   for (auto& batch : loader) {                          // of this process's part of the data
//     optimizer.zero_grad();
//     loss(model->forward(batch.data), batch.target).backward();   // gradients are averaged meanwhile
//     optimizer.step();                                   // the same on every process
//   }
//
// At construction the models are compared and every process receives the parameters and buffers of rank 0. The
// gradients are averaged over the processes in buckets, while backward still runs. The average is over processes, so
// the loss should be a mean over equally many samples on each.
//
// In training mode every forward first receives the buffers of rank 0 (broadcast_buffers), as running statistics
// differ otherwise. A forward and its backward must follow each other on every process in the same order.
#pragma once
#include <functional>
#include <memory>
#include <tuple>
#include <vector>

#include "tandem/nn/call.h"
#include "tandem/nn/module_holder.h"
#include "tandem/parallel/containers.h"
#include "tandem/parallel/distributed/process_group.h"
#include "tandem/parallel/reducer.h"
#include "tandem/parallel/wrapped_module.h"

namespace tandem::distributed {

struct DistributedDataParallelOptions {
  std::shared_ptr<ProcessGroup> process_group = nullptr;  ///< the default group
  optional<Device> device = {};                           ///< moves the module there first
  int64_t bucket_bytes = 25 << 20;
  int64_t first_bucket_bytes = 1 << 20;
  bool find_unused_parameters = false;  ///< see ReducerOptions
  bool static_graph = false;
  bool broadcast_buffers = true;
  CommHook comm_hook = allreduce_hook;
};

/// While alive, backward passes accumulate gradients on this process only; the first pass whose forward runs
/// afterwards sends their sum.
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
  /// For processes with different numbers of batches: runs `loop`, the training loop of this process; then takes part,
  /// with zero gradients, in the steps of the others until all have finished, and receives the parameters and buffers of the
  /// last one. Gradients stay averages over all processes. The optimizers' state is not exchanged.
  void join(const std::function<void()>& loop);
  void register_comm_hook(CommHook hook) { reducer_.set_hook(std::move(hook)); }
  const std::shared_ptr<ProcessGroup>& process_group() const { return group_; }
  /// Bytes that the buckets occupy beside the gradients of construction.
  std::size_t bucket_bytes() const { return reducer_.bytes(); }
  std::size_t bucket_count() const { return reducer_.buckets(); }
  void pretty_print(std::ostream& stream) const override;

 protected:
  void before_forward();
  void after_forward(const Tensors& outputs);
  /// Aborts the group, so that the other processes do not wait for this one.
  void forward_failed() noexcept;

 private:
  friend class NoSyncGuard;
  /// The lowest rank that still has batches, or -1.
  int announce(bool active);
  void receive_buffers(int from);

  DistributedDataParallelOptions options_;
  std::shared_ptr<ProcessGroup> group_;
  Reducer reducer_;
  std::vector<Tensor> buffers_;
  int holding_ = 0;
  bool joining_ = false;
};

template <class M>
class DistributedDataParallelImpl : public DistributedDataParallelBase {
 public:
  /// Throws Error without a process group, if the model has no parameter that requires a gradient, and (on every process)
  /// DistributedError if the models differ in names, shapes or dtypes.
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
        after_forward({});
      } else {
        Result result = nn::call(*module_, std::forward<Args>(args)...);
        Tensors outputs;
        parallel::detail::map_tensors(result, [&](const Tensor& t) {
          outputs.push_back(t);
          return t;
        });
        after_forward(outputs);
        return result;
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
