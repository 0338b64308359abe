// A training step of the tool, on one device or by a server on several, and what it counts meanwhile.
#pragma once
#include <memory>
#include <vector>

#include "tandem/cli/device_list.h"
#include "tandem/cli/evaluate.h"
#include "tandem/cli/recipe.h"
#include "tandem/parallel/server_core.h"

namespace tandem::cli {

class Stepper {
 public:
  virtual ~Stepper() = default;

  /// On {images, labels}, which lie on the root.
  virtual void step(const std::vector<Tensor>& batch) = 0;
  /// In evaluation mode, on all devices.
  virtual Score evaluate(const data::ImageData& data) = 0;
  /// How many steps there were before: random numbers of pieces depend on it.
  virtual void set_steps(int64_t) {}
  /// Where a step's time goes; null where nobody looks.
  virtual const parallel::ServerTimings* timings() const { return nullptr; }
  virtual void reset_timings() {}

  void set_lr(double lr);
  optim::Optimizer& optimizer() { return *optimizer_; }
  /// Sums since the last start. They wait for the devices.
  virtual double loss_sum() const { return loss_sum_.item<double>(); }
  virtual int64_t correct() const { return correct_.item<int64_t>(); }
  virtual void start(double loss_sum, int64_t correct);

 protected:
  Stepper(nn::Sequential model, const Recipe& recipe, Device root);
  nn::Sequential model_;
  Recipe recipe_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  Tensor loss_sum_, correct_;  // on the root, never made anew: sums keep their bits
};

enum class Timed { kNo, kHost, kDevices };  ///< kDevices waits for them after each phase

/// Of a model with its parameters, which it brings to the root. Timed: by a server even on one device.
std::unique_ptr<Stepper> make_stepper(const nn::Sequential& model, const Recipe& recipe,
                                      const Placement& placement, Timed timed = Timed::kNo);

}  // namespace tandem::cli
