// Activation checkpointing: the second run of a function, and which of its tensors backward has taken.
#include "tandem/autograd/checkpoint.h"

#include <mutex>

#include "tandem/autograd/buffer_updates.h"
#include "tandem/autograd/inherited_autocast.h"
#include "tandem/core/random/generator.h"

namespace tandem::utils::detail {
namespace {

using autograd::SavedTensorHooks;
using autograd::SavedTensorHooksGuard;

/// Collects the saved tensors of the second run.
class Collector : public SavedTensorHooks {
 public:
  std::shared_ptr<void> pack(const Tensor& tensor) override {
    tensors.push_back(tensor);
    versions.push_back(tensor._version());
    return nullptr;
  }
  Tensor unpack(const std::shared_ptr<void>&) override { fail("checkpoint: the function must not run backward"); }
  std::vector<Tensor> tensors;
  std::vector<int64_t> versions;
};

class Call final : public CheckpointedCall {
 public:
  // Keeps the inputs without their history, which would form a cycle if one were written in place later.
  Call(const std::vector<Tensor>& inputs, std::function<void(const std::vector<Tensor>&)> run)
      : run_(std::move(run)), generator_(default_generator().clone()), autocast_(autocast::detail::state) {
    for (const Tensor& x : inputs)
      inputs_.push_back(x.defined() ? Input{x.detach(), x._version(), x.requires_grad(), x.is_leaf()} : Input{});
  }

  std::shared_ptr<void> pack(const Tensor&) override { return std::make_shared<std::size_t>(count_++); }

  Tensor unpack(const std::shared_ptr<void>& packed) override {
    const std::lock_guard lock(mutex_);
    const std::size_t i = *static_cast<const std::size_t*>(packed.get());
    // A tensor that was taken before is needed for another pass, and so are the others.
    if (tensors_.empty() || !tensors_[i].defined()) run_again();
    return std::exchange(tensors_[i], Tensor());
  }

  void finish() override { finished_ = true; }

 private:
  void run_again() {
    check(finished_, "checkpoint: the function must not run backward");
    const AutoGradMode record(true);
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Input& x = inputs_[i];
      inputs.push_back(x.tensor.defined() ? x.tensor.detach() : Tensor());
      if (!x.tensor.defined()) continue;
      check(x.tensor._version() == x.version, "checkpoint: input ", i,
            " was written in place after the forward pass\n  input ", x.tensor);
      if (!x.requires_grad) continue;
      inputs.back().requires_grad_();
      if (!x.is_leaf) inputs.back() = inputs.back().view(x.tensor.sizes());  // the hooks do not see leaves
    }
    const auto collector = std::make_shared<Collector>();
    {
      const SavedTensorHooksGuard hooks(collector);
      const GeneratorGuard same_numbers(generator_.clone());
      const autocast::detail::InheritedAutocast same_precision(autocast_);
      autograd::BufferLog log;
      log.discard();
      const autograd::BufferLogGuard no_updates(&log);
      run_(inputs);
    }
    check(collector->tensors.size() == count_, "checkpoint: the function saved ", count_, " tensors at first, and ",
          collector->tensors.size(), " when it ran again; it must compute the same each time");
    for (std::size_t i = 0; i < count_; ++i)
      check(collector->tensors[i]._version() == collector->versions[i],
            "checkpoint: the function writes a tensor in place that backward needs\n  tensor ", collector->tensors[i]);
    tensors_ = std::move(collector->tensors);
  }

  struct Input {
    Tensor tensor;
    int64_t version = 0;
    bool requires_grad = false, is_leaf = true;
  };
  std::vector<Input> inputs_;
  std::function<void(const std::vector<Tensor>&)> run_;
  Generator generator_;
  autocast::detail::State autocast_;
  std::size_t count_ = 0;  // saved in the forward pass
  bool finished_ = false;
  std::mutex mutex_;
  std::vector<Tensor> tensors_;  // of the last run, without those that were taken
};

}  // namespace

std::shared_ptr<CheckpointedCall> checkpointed_call(std::vector<Tensor> inputs,
                                                    std::function<void(const std::vector<Tensor>&)> run) {
  return std::make_shared<Call>(inputs, std::move(run));
}

}  // namespace tandem::utils::detail
