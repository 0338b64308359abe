// ParameterServer: trains one model on several devices with one optimizer.
//
//   ParameterServer server(net, {"cpu:0", "cpu:1"});
//   optim::SGD optimizer(server.parameters(), optim::SGDOptions(0.1).momentum(0.9));
//   for (auto& batch : loader)
//     server.step(optimizer, batch.data, batch.target,
//                 [](Net& net, const Tensor& x, const Tensor& y) { return nll_loss(net.forward(x), y); });
//
// Each device has a replica, which computes its pieces of the batch and their losses. The server device
// (`root`, which uses the given module as its replica) sums the gradients in a fixed order, one flat buffer
// per device, performs the optimizer step and distributes the parameters with one copy per device.
//
// Buffers. With `shards`, buffers after a step have the same bits on any number of devices and threads. Each
// shard starts with the buffers from before the step. Changes made with nn::update_buffers (which BatchNorm
// and InstanceNorm use for their running statistics) are applied to the root's buffers shard by shard, in
// order, as if the shards had run sequentially: num_batches_tracked grows by the number of shards. A buffer
// that forward writes directly takes the value from the last shard that wrote it. Writes through data() are
// not detected. Without shards, only the root's own piece updates its buffers; what other devices write is
// discarded. evaluate() uses the root's buffers. With shards, a step that fails or is skipped leaves the
// buffers unchanged.
//
// A server serves one thread at a time: a call during another thread's call throws Error. Several servers
// with separate modules may run concurrently.
#pragma once
#include <memory>
#include <vector>

#include "tandem/core/reduction.h"
#include "tandem/core/threads/parallel_for.h"
#include "tandem/nn/module_holder.h"
#include "tandem/nn/optim/optimizer.h"
#include "tandem/parallel/parameter_server/server_core.h"
#include "tandem/parallel/shared/device_copies.h"
#include "tandem/parallel/shared/replica_set.h"

namespace tandem::parallel {

template <class Net>
class ParameterServer : public ServerCore {
 public:
  /// Replicas are clones if `Net` derives from nn::Cloneable<Net>, otherwise default-constructed. Moves `net`
  /// to the root. Throws Error if the net can be copied in neither way, if a device does not exist or appears
  /// twice, if the root is not among the devices, or if the model has no trainable parameters or has
  /// trainable parameters of several dtypes.
  ParameterServer(std::shared_ptr<Net> net, ArrayRef<Device> devices, const ServerOptions& options = {})
      : ParameterServer(net, devices, options, [&] { return detail::make_replica<Net>(*net); }) {}
  /// Replicas are created by make(device) or make(), which return modules with the same parameters and
  /// buffers as `net`; their values and devices do not matter.
  template <class Make>
  requires(std::is_invocable_v<const Make&, Device> || std::is_invocable_v<const Make&>)
      ParameterServer(std::shared_ptr<Net> net, ArrayRef<Device> devices, const ServerOptions& options,
                      const Make& make)
      : ServerCore(net, devices, options, [&](Device device) -> std::shared_ptr<nn::Module> {
          if constexpr (std::is_invocable_v<const Make&, Device>)
            return make(device);
          else
            return make();
        }) {}
  ParameterServer(const nn::ModuleHolder<Net>& net, ArrayRef<Device> devices, const ServerOptions& options = {})
      : ParameterServer(net.ptr(), devices, options) {}

  /// One training step: backward, then update. `loss(net, inputs, targets)` returns the loss of its piece, a
  /// scalar on the net's device; several threads call it concurrently. Rethrows a replica's exception with
  /// its device prepended, and throws Error on an empty batch or a non-finite loss. Either way the parameters
  /// are unchanged. With shards in several processes, it must not communicate itself, because it is called again for
  /// its pieces in a step before which rank 0, but not this process, has seeded its default generator.
  template <class Loss>
  StepResult step(optim::Optimizer& optimizer, const Tensor& inputs, const Tensor& targets, const Loss& loss) {
    return step(optimizer, {inputs, targets}, loss);
  }
  /// The same for any number of tensors, all split along dimension 0: `loss(net, tensors)`.
  template <class Loss>
  StepResult step(optim::Optimizer& optimizer, const Tensors& batch, const Loss& loss) {
    const Exclusive::Use use(exclusive_, "ParameterServer.step");
    StepResult result = run(batch, loss, &optimizer);
    if (!result.skipped) update(optimizer);
    return result;
  }
  /// The same without the update: leaves the gradients in parameters(), for instance to clip them.
  template <class Loss>
  StepResult backward(const Tensors& batch, const Loss& loss) {
    return run(batch, loss, nullptr);
  }

  /// Runs f(net, tensors) on pieces of the batch on all devices, in evaluation mode, without recording, with
  /// the root's buffers. Returns the results concatenated along dimension 0 on the root.
  template <class F>
  Tensor evaluate(const Tensors& batch, const F& f) {
    return run_evaluate(
        batch, [&](nn::Module& module, const Tensors& piece) -> Tensor { return f(static_cast<Net&>(module), piece); });
  }
  /// The same for net.forward(inputs).
  Tensor evaluate(const Tensor& inputs) {
    return evaluate(Tensors{inputs}, [](Net& net, const Tensors& piece) { return net.forward(piece[0]); });
  }

  /// The replica on devices()[i], with up-to-date parameters and buffers.
  Net& replica(std::size_t i) { return static_cast<Net&>(refreshed(i)); }

 private:
  template <class Loss>
  StepResult run(const Tensors& batch, const Loss& loss, const optim::Optimizer* next) {
    const auto of_piece = [&](nn::Module& module, const Tensors& piece) -> Tensor {
      Net& net = static_cast<Net&>(module);
      if constexpr (std::is_invocable_v<const Loss&, Net&, const Tensors&>)
        return loss(net, piece);
      else
        return loss(net, piece.at(0), piece.at(1));
    };
    return run_backward(batch, of_piece, next);
  }
};

}  // namespace tandem::parallel
