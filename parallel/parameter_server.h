// ParameterServer: one model trained on several devices by one optimizer.
//
//   ParameterServer server(net, {"cpu:0", "cpu:1"});
//   optim::SGD optimizer(server.parameters(), optim::SGDOptions(0.1).momentum(0.9));
//   for (auto& batch : loader)
//     server.step(optimizer, batch.data, batch.target,
//                 [](Net& net, const Tensor& x, const Tensor& y) { return nll_loss(net.forward(x), y); });
//
// Each device has a replica, which computes its piece of the batch and the loss; the server device (`root`,
// whose replica is the module given) sums the gradients, one flat buffer a device, in a fixed order, takes
// the optimizer's step, and hands the parameters out by one copy a device.
//
// Buffers. With `shards` they have the same bits after a step on any number of devices and threads. Each
// shard begins with the buffers of before the step. What modules change by nn::update_buffers (as BatchNorm
// and InstanceNorm do their running statistics) is done on the root's buffers shard by shard in their order,
// as if they had run one after the other: num_batches_tracked grows by the number of shards. A buffer that
// forward writes by itself gets the value that the last shard to write it left. Writes through data() are not
// seen. Without shards the root's own piece alone decides, whatever the others wrote; evaluate() uses these
// buffers. A step that fails or is skipped leaves buffers as they were where there are shards.
//
// A server is for one thread at a time: a call that meets another one's throws Error. Several servers, on
// modules of their own, may work at once.
#pragma once
#include <memory>
#include <vector>

#include "tandem/core/parallel_for.h"
#include "tandem/core/reduction.h"
#include "tandem/nn/module_holder.h"
#include "tandem/nn/optim/optimizer.h"
#include "tandem/parallel/comm.h"
#include "tandem/parallel/replicas.h"
#include "tandem/parallel/server_core.h"

namespace tandem::parallel {

template <class Net>
class ParameterServer : public ServerCore {
 public:
  /// Replicas are clones where `Net` derives from nn::Cloneable<Net>, else made by its default constructor.
  /// Moves `net` to the root. Throws Error on a net that can be copied in neither way, on devices that do not
  /// exist or come twice, a root that is not among them, a model without parameters that need gradients or
  /// with such of several dtypes.
  ParameterServer(std::shared_ptr<Net> net, ArrayRef<Device> devices, const ServerOptions& options = {})
      : ParameterServer(net, devices, options, [&] { return detail::make_replica<Net>(*net); }) {}
  /// Replicas are what make(device) or make() gives: modules with the parameters and buffers of `net`; their
  /// values and devices do not matter.
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
  ParameterServer(const nn::ModuleHolder<Net>& net, ArrayRef<Device> devices,
                  const ServerOptions& options = {})
      : ParameterServer(net.ptr(), devices, options) {}

  /// One step: backward, then update. `loss(net, inputs, targets)` gives the loss of its piece, a number, on
  /// the net's device; it is called on several threads at once. Throws what a replica does, with its device
  /// before the text, and Error on a batch without samples and a loss that is not finite: parameters are then
  /// as before.
  template <class Loss>
  StepResult step(optim::Optimizer& optimizer, const Tensor& inputs, const Tensor& targets,
                  const Loss& loss) {
    return step(optimizer, {inputs, targets}, loss);
  }
  /// The same with any tensors, all cut along dimension 0: `loss(net, tensors)`.
  template <class Loss>
  StepResult step(optim::Optimizer& optimizer, const Tensors& batch, const Loss& loss) {
    const Exclusive::Use use(exclusive_, "ParameterServer.step");
    StepResult result = run(batch, loss, &optimizer);
    if (!result.skipped) update(optimizer);
    return result;
  }
  /// Without the update: then parameters() have their gradients, to be clipped for instance.
  template <class Loss>
  StepResult backward(const Tensors& batch, const Loss& loss) {
    return run(batch, loss, nullptr);
  }

  /// f(net, tensors) for pieces of the batch on all devices, in evaluation mode, unrecorded, with the root's
  /// buffers; what it gives, side by side along dimension 0, on the root.
  template <class F>
  Tensor evaluate(const Tensors& batch, const F& f) {
    return run_evaluate(batch, [&](nn::Module& module, const Tensors& piece) -> Tensor {
      return f(static_cast<Net&>(module), piece);
    });
  }
  /// net.forward(inputs) likewise.
  Tensor evaluate(const Tensor& inputs) {
    return evaluate(Tensors{inputs}, [](Net& net, const Tensors& piece) { return net.forward(piece[0]); });
  }

  /// The replica on devices()[i], with the parameters of now.
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
