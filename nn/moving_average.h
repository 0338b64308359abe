// ExponentialMovingAverage: the average of a model's values over the steps of its training (EMA), which often predicts
// better than the values of the last step. As PyTorch's torch.optim.swa_utils.AveragedModel with
// get_ema_multi_avg_fn(decay) and use_buffers=True.
//
//   nn::ExponentialMovingAverage average(net, 0.999);
//   for (…) { …; optimizer.step(); average.update(); }
//   {
//     const auto averaged = average.use();  // the net has the averages until the end of this block
//     evaluate(net);
//   }
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tandem/core/base/ordered_dict.h"
#include "tandem/nn/module_holder.h"

namespace tandem::serialize {
class InputArchive;
class OutputArchive;
}  // namespace tandem::serialize

namespace tandem::nn {

/// Whether the decay rises with the updates n so far, as min(decay, (1 + n) / (10 + n)) (TensorFlow's
/// tf.train.ExponentialMovingAverage with num_updates): else the first of 1 / (1 - decay) steps weigh too much.
enum class EmaWarmup : bool { kNo, kYes };

class ExponentialMovingAverage {
 public:
  /// Averages everything in the module's state dict: parameters, trained or not, and buffers. Only floating-point
  /// tensors are averaged; of others, such as the number of batches of a BatchNorm, the average has the last value. It
  /// starts with a copy of the present values. Throws Error unless decay is from 0 to below 1.
  ExponentialMovingAverage(std::shared_ptr<Module> module, double decay, EmaWarmup warmup = EmaWarmup::kNo);
  template <class M>
  ExponentialMovingAverage(const ModuleHolder<M>& module, double decay, EmaWarmup warmup = EmaWarmup::kNo)
      : ExponentialMovingAverage(module.ptr(), decay, warmup) {}

  /// Call it after each step of the optimizer: average = decay * average + (1 - decay) * value. The first call copies
  /// the values instead. Averages follow the module to another device. Throws Error while use() is in effect.
  void update();
  /// Number of updates so far.
  int64_t updates() const { return updates_; }
  /// Of the next update.
  double decay() const;
  /// The averages, under the names of the module's state dict; they share memory with this object.
  OrderedDict<std::string, Tensor> state_dict() const { return averages_; }

  /// While alive, the module has the averages; then it has its own values again, bit for bit.
  class Use {
   public:
    explicit Use(ExponentialMovingAverage& average);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    ExponentialMovingAverage& average_;
    std::vector<Tensor> values_, own_;  // the module's tensors, and copies of them
  };
  /// Throws Error if another Use is alive.
  [[nodiscard]] Use use() { return Use(*this); }

  /// Saves the averages under their names, and the number of updates.
  void save(serialize::OutputArchive& archive) const;
  /// Throws Error if names, shapes or dtypes differ; nothing is changed then.
  void load(serialize::InputArchive& archive);

 private:
  std::shared_ptr<Module> module_;
  double decay_;
  EmaWarmup warmup_;
  int64_t updates_ = 0;
  bool in_use_ = false;
  OrderedDict<std::string, Tensor> averages_{"Tensor"};
};

}  // namespace tandem::nn
