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
// would differ otherwise. Every process must run forward and backward in the same order and mode. Only the first
// backward after a forward is averaged; later ones, and autograd::grad, stay on this process. An exception in forward
// (while gradients are recorded), in a communication hook or in join() fails the group, and every process throws.
//
// A process may use several devices, as with DataParallel, which describes how arguments are split and results joined:
// a 0-d result becomes a vector. The gradients of the loss are summed over the devices and then averaged over the
// processes, so the loss should be a mean over the joined results. On the CPU and with equal parts whose sizes are
// powers of two, two devices of one process have the same bits as two processes. Gradients of passes nested in backward
// are added as they come, so with three or more devices the order may differ between runs.
//
// Freeze, convert and move parameters before wrapping: forward throws if they change afterwards.
#pragma once
#include <memory>
#include <type_traits>
#include <utility>

#include "tandem/nn/call.h"
#include "tandem/nn/module_holder.h"
#include "tandem/parallel/data_parallel/data_parallel.h"
#include "tandem/parallel/distributed_data_parallel/distributed_data_parallel_base.h"
#include "tandem/parallel/shared/containers.h"

namespace tandem::distributed {

template <class M>
class DistributedDataParallelImpl : public DistributedDataParallelBase {
 public:
  /// Throws Error if there is no process group or if no parameter requires a gradient. Throws DistributedError, on
  /// every process, if the models differ in names, shapes, dtypes or frozen parameters.
  explicit DistributedDataParallelImpl(std::shared_ptr<M> module, DistributedDataParallelOptions options = {})
      : DistributedDataParallelBase(module, std::move(options)), module_(std::move(module)) {
    if (devices().size() > 1) replicas_ = std::make_shared<parallel::DataParallelImpl<M>>(module_, devices());
  }

  /// The wrapped module.
  const std::shared_ptr<M>& module() const { return module_; }

  /// Calls module->forward with the same arguments, on several devices with pieces of them. Its hooks run.
  template <class... Args>
  auto forward(Args&&... args) {
    using Result = decltype(nn::call(*module_, std::forward<Args>(args)...));
    before_forward();
    try {
      if constexpr (std::is_void_v<Result>) {
        call(std::forward<Args>(args)...);
        Tensors none;
        after_forward(none);
      } else {
        Result result = call(std::forward<Args>(args)...);
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
  template <class... Args>
  auto call(Args&&... args) -> decltype(nn::call(std::declval<M&>(), std::forward<Args>(args)...)) {
    using Result = decltype(nn::call(*module_, std::forward<Args>(args)...));
    constexpr bool can_be_split =
        (std::is_copy_constructible_v<std::decay_t<Args>> && ...) &&
        (std::is_void_v<Result> || std::is_copy_constructible_v<Result>)&&!std::is_reference_v<Result>;
    if constexpr (can_be_split) {
      if (replicas_) return replicas_->forward(args...);
    } else {
      check(!replicas_, "DistributedDataParallel: arguments and results must be copyable on several devices");
    }
    return nn::call(*module_, std::forward<Args>(args)...);
  }

  std::shared_ptr<M> module_;
  std::shared_ptr<parallel::DataParallelImpl<M>> replicas_;  // null for a single device
};

/// The holder: model->forward(x), or model(x).
template <class M>
class DistributedDataParallel : public nn::ModuleHolder<DistributedDataParallelImpl<M>> {
 public:
  using Impl = DistributedDataParallelImpl<M>;

  DistributedDataParallel(std::nullptr_t) : nn::ModuleHolder<Impl>(nullptr) {}
  explicit DistributedDataParallel(std::shared_ptr<M> module, DistributedDataParallelOptions options = {})
      : nn::ModuleHolder<Impl>(std::make_shared<Impl>(std::move(module), std::move(options))) {}
  explicit DistributedDataParallel(const nn::ModuleHolder<M>& module, DistributedDataParallelOptions options = {})
      : DistributedDataParallel(module.ptr(), std::move(options)) {}
};

}  // namespace tandem::distributed
