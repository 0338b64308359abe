// The tool's training step, on one device, with a parameter server on several, or with a model that is cut into slices of
// several processes, and its running sums.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "tandem/cli/device_list.h"
#include "tandem/cli/train/evaluate.h"
#include "tandem/cli/train/recipe.h"
#include "tandem/cli/train/step_exchange.h"
#include "tandem/nn/captured_step.h"
#include "tandem/nn/moving_average.h"
#include "tandem/nn/optim/grad_scaler.h"
#include "tandem/nn/optim/optimizer.h"
#include "tandem/parallel/parameter_server/server_core.h"

namespace tandem::distributed {
class FullyShardedDataParallelBase;
}

namespace tandem::cli {

/// The place of a batch in its group: with --accumulate, the gradients of several batches are added before one step.
/// The sum is the gradient of the mean loss of all their images, so that a group of N batches has the effect of one
/// batch N times as large.
struct GroupPlace {
  double share = 1;  ///< of the group's images
  bool first = true, last = true;
  int64_t images = 0;  ///< of the batch, in all processes; 0: not known
  bool alone() const { return first && last; }
};
/// Of batch `batch` in an epoch of `images` images. The last group may have fewer batches, the last batch fewer images.
GroupPlace place_in_group(const Recipe& recipe, int64_t batch, int64_t images);
/// Steps of the optimizer in an epoch of `batches` batches.
int64_t steps_in(const Recipe& recipe, int64_t batches);

class Stepper {
 public:
  virtual ~Stepper() = default;

  /// Adds the gradients of {images, labels}: this process's part of the batch. After the last batch of a group, changes
  /// the parameters, and updates the average.
  void step(const std::vector<Tensor>& batch, const GroupPlace& place = {});
  /// Evaluates in evaluation mode, on all devices of all processes, which call this together.
  virtual Score evaluate(const ImageSet& data) = 0;
  /// The moving average of the model; null without --ema.
  nn::ExponentialMovingAverage* average() { return average_ ? &*average_ : nullptr; }
  /// While the result is alive, the model has the averages, if there are any.
  [[nodiscard]] std::unique_ptr<nn::ExponentialMovingAverage::Use> with_average();
  /// Sets the number of steps already taken, on which the pieces' random numbers depend.
  virtual void set_steps(int64_t) {}
  /// To be called after each step. Returns what some process has asked for, after the step before if there are several.
  virtual StepRequest agree(const StepRequest& own) { return own; }
  /// Completes the sums, on all processes.
  virtual void settle() {}
  /// Examples whose losses are not yet part of the sums.
  virtual int64_t examples_pending() const { return 0; }
  /// What fusion has done to the captured step, nothing on the CPU; nullopt if the last step was not one.
  virtual std::optional<FusionCounts> fused() const { return std::nullopt; }
  /// The model, if each process keeps a slice of it; else null.
  virtual distributed::FullyShardedDataParallelBase* sharded() { return nullptr; }
  /// Time per phase of a step; null if it is not measured.
  virtual const parallel::ServerTimings* timings() const { return nullptr; }
  virtual void reset_timings() {}

  /// Scales the losses of a run in fp16; disabled otherwise.
  amp::GradScaler& scaler() { return scaler_; }
  void set_lr(double lr);
  optim::Optimizer& optimizer() { return *optimizer_; }
  /// Sums since the last start(), of all processes. Reading them synchronises with the devices.
  virtual double loss_sum() const { return loss_sum_.item<double>(); }
  virtual int64_t correct() const { return correct_.item<int64_t>(); }
  virtual void start(double loss_sum, int64_t correct);
  /// Batches since the last start() before the first one from which on the sum of losses is not finite. In fp16, where a
  /// step with such a loss is not taken and the loss is left out of the sum: batches whose loss was finite.
  virtual int64_t finite_batches() const { return finite_.item<int64_t>(); }

 protected:
  Stepper(nn::Sequential model, const Recipe& recipe, Device root);
  /// Makes the optimizer and the average of the module, which is the model or what wraps it.
  void train(const std::shared_ptr<nn::Module>& module, const Recipe& recipe);
  virtual void add_batch(const std::vector<Tensor>& batch, const GroupPlace& place) = 0;
  /// The mean loss of some images.
  Tensor loss_of(const Tensor& output, const Tensor& labels) const;
  /// Scales the gradients until the norm of all of them together is at most recipe.clip,
  /// without waiting for the device.
  void clip_gradients();
  /// What gradients with these norms are multiplied by.
  Tensor clip_scale(const Tensor& norms) const;
  /// Clips the gradients of a group and calls `take`, the optimizer's step, unless a loss was scaled too far.
  void finish_step(const std::function<void()>& take);
  /// The part of a loss that counts.
  Tensor counted(const Tensor& loss) const;
  /// Called when the losses of a batch, whose sum this is, are part of the sum.
  void count_finite(const Tensor& batch_loss);
  nn::Sequential model_;
  Recipe recipe_;
  std::unique_ptr<optim::Optimizer> optimizer_;  // of the parameters that train
  amp::GradScaler scaler_;
  std::optional<nn::ExponentialMovingAverage> average_;
  Tensor loss_sum_, correct_, finite_;  // on the root, never reallocated, so sums stay bitwise reproducible
};

enum class Timed { kNo, kHost, kDevices };  ///< kDevices waits for the devices after each phase

/// A stepper for a model, in which some parameters may be frozen and which it moves to the root. With timing, it uses a
/// server even on one device. If placement.fully_sharded, the model's parameters are empty afterwards, outside of steps.
std::unique_ptr<Stepper> make_stepper(const nn::Sequential& model, const Recipe& recipe, const Placement& placement,
                                      Timed timed = Timed::kNo);

}  // namespace tandem::cli
