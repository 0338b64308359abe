// Loss scaling for training in float16, equivalent to PyTorch's torch.amp.GradScaler: the loss is multiplied by a
// scale, so that small gradients do not become 0 in float16; gradients are divided by it before the optimizer's step. A
// step whose gradients are not finite is skipped and the scale reduced; after many good steps it grows.
//
//   scaler.scale(loss).backward();
//   scaler.unscale_(optimizer);   // only to look at the gradients, such as to clip them
//   scaler.step(optimizer);
//   scaler.update();
//
// A captured step (nn/captured_step.h) cannot decide on the host whether to step the optimizer:
//
//   scaler.keep_on(device);  // before the first step
//   step = [&] { …; scaler.scale(loss).backward(); return scaler.divide_gradients(optimizer); };  // captured
//   scaler.step(optimizer, step()[0]);
//   scaler.update();
#pragma once
#include <functional>
#include <unordered_map>

#include "tandem/core/options.h"
#include "tandem/nn/optim/optimizer.h"

namespace tandem::amp {

struct GradScalerOptions {
  double init_scale = 65536.0;
  double growth_factor = 2.0;      ///< more than 1
  double backoff_factor = 0.5;     ///< less than 1
  int64_t growth_interval = 2000;  ///< steps without an overflow before the scale grows
  bool enabled = true;             ///< false: scale() returns its argument, and step() is the optimizer's
};

/// The state that a checkpoint needs to continue with the same steps.
struct GradScalerState {
  double scale = 65536.0, growth_factor = 2.0, backoff_factor = 0.5;
  int64_t growth_interval = 2000;
  int64_t growth_tracker = 0;  ///< steps since the last change of the scale
};

class GradScaler {
 public:
  /// Throws Error for factors out of their ranges.
  explicit GradScaler(const GradScalerOptions& options = {});

  /// output times the scale, recorded.
  Tensor scale(const Tensor& output) const;
  std::vector<Tensor> scale(TensorList outputs) const;
  /// Divides the gradients of the optimizer's parameters by the scale, and notes whether they are finite, which waits
  /// for their devices. Throws Error if a gradient is float16, or if it is called twice between two updates.
  void unscale_(optim::Optimizer& optimizer);
  /// unscale_, unless it has been called; then the optimizer's step if all gradients are finite. Returns whether the
  /// step was taken.
  bool step(optim::Optimizer& optimizer);
  /// The same with another call in place of the optimizer's step().
  bool step(optim::Optimizer& optimizer, const std::function<void()>& take);
  /// The part of unscale_ that a captured step can contain: without waiting, divides the gradients and returns a number
  /// that is 0 if they are finite.
  Tensor divide_gradients(const optim::Optimizer& optimizer) const;
  /// step() after divide_gradients(), which has returned `found`.
  bool step(optim::Optimizer& optimizer, const Tensor& found);
  /// From now on scale() and unscale_ read the scale from this device's memory, as float32. update() changes it there, so
  /// that the replays of a captured step have the present one.
  void keep_on(Device device);
  /// Adapts the scale after the steps of all optimizers, or sets it. Throws Error if no gradients were checked.
  void update(optional<double> new_scale = nullopt);

  double get_scale() const { return options_.enabled ? state_.scale : 1; }
  double get_growth_factor() const { return state_.growth_factor; }
  void set_growth_factor(double factor);
  double get_backoff_factor() const { return state_.backoff_factor; }
  void set_backoff_factor(double factor);
  int64_t get_growth_interval() const { return state_.growth_interval; }
  void set_growth_interval(int64_t interval);
  bool is_enabled() const { return options_.enabled; }
  GradScalerState state_dict() const { return state_; }
  void load_state_dict(const GradScalerState& state);

 private:
  struct Seen {
    bool finite = true, stepped = false;
  };
  void note(optim::Optimizer& optimizer, const Tensor& found);
  void refresh();
  GradScalerOptions options_;
  GradScalerState state_;
  Tensor kept_, kept_inverse_;                              // after keep_on()
  std::unordered_map<const optim::Optimizer*, Seen> seen_;  // since the last update
};

}  // namespace tandem::amp
