// FullyShardedDataParallel: trains one model in several processes, each of which keeps a part of the parameters, of
// their gradients and of the optimizer's state (torch.distributed.fsdp; S. Rajbhandari et al.: ZeRO. 2020, stage 3).
//
//   auto group = distributed::init_process_group();
//   distributed::FullyShardedDataParallel<Net> model(net);
//   optim::Adam optimizer(model->parameters(), optim::AdamOptions(1e-3));   // of this process's slices
//   for (auto& batch : loader) {                          // over this process's part of the data
//     optimizer.zero_grad();
//     loss(model->forward(batch.data), batch.target).backward();
//     model->clip_grad_norm_(1.0);
//     optimizer.step();
//   }
//
// The parameters of each unit are one flat buffer per dtype, cut into P slices. A unit is gathered before its forward
// and before its backward, and freed afterwards; its gradients are averaged over the processes, each of which receives
// its slice, while backward still runs. So with P processes parameters, gradients and state take 1 / P of the memory,
// besides the values or gradients of three units, or of two without `overlap`; the root's values do not count in
// backward after its first operations, unless the units lie between operations that need them. Every process receives
// the parameters and buffers of rank 0 at construction.
//
// Outside of forward and backward the module's own parameters are empty; an optimizer gets the model's parameters(),
// and must be elementwise. A unit's parameters must be used by calls of its module that run hooks: `block(x)`,
// containers or nn::call. Sums over processes are added in the order of the ranks; with two processes results have the
// bits of DistributedDataParallel. A parameter without a gradient gets zeros in a pass in which another has one.
//
// Every process must run forward, also without gradients, and backward in the same order and mode, through the same
// modules. Unlike with DistributedDataParallel, each backward pass is averaged and added to the slices' gradients. An
// exception in forward or backward fails the group, and every process throws.
#pragma once
#include <memory>
#include <type_traits>
#include <utility>

#include "tandem/nn/call.h"
#include "tandem/nn/module_holder.h"
#include "tandem/parallel/fully_sharded/fully_sharded_data_parallel_base.h"
#include "tandem/parallel/shared/containers.h"

namespace tandem::distributed {

template <class M>
class FullyShardedDataParallelImpl : public FullyShardedDataParallelBase {
 public:
  /// Throws Error if there is no process group, if the module has no parameters, or if they are not on the group's
  /// device. Throws DistributedError, on every process, if the models differ in names, shapes, dtypes or frozen
  /// parameters.
  explicit FullyShardedDataParallelImpl(std::shared_ptr<M> module, FullyShardedDataParallelOptions options = {})
      : FullyShardedDataParallelBase(module, std::move(options)), module_(std::move(module)) {}

  /// The wrapped module.
  const std::shared_ptr<M>& module() const { return module_; }

  /// Calls module->forward with the same arguments. Its hooks run.
  template <class... Args>
  auto forward(Args&&... args) {
    using Result = decltype(nn::call(*module_, std::forward<Args>(args)...));
    try {
      before_forward();
      Tensors outputs;
      if constexpr (std::is_void_v<Result>) {
        nn::call(*module_, std::forward<Args>(args)...);
        after_forward(outputs);
      } else {
        Result result = nn::call(*module_, std::forward<Args>(args)...);
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
class FullyShardedDataParallel : public nn::ModuleHolder<FullyShardedDataParallelImpl<M>> {
 public:
  using Impl = FullyShardedDataParallelImpl<M>;

  FullyShardedDataParallel(std::nullptr_t) : nn::ModuleHolder<Impl>(nullptr) {}
  explicit FullyShardedDataParallel(std::shared_ptr<M> module, FullyShardedDataParallelOptions options = {})
      : nn::ModuleHolder<Impl>(std::make_shared<Impl>(std::move(module), std::move(options))) {}
  explicit FullyShardedDataParallel(const nn::ModuleHolder<M>& module, FullyShardedDataParallelOptions options = {})
      : FullyShardedDataParallel(module.ptr(), std::move(options)) {}
};

}  // namespace tandem::distributed
