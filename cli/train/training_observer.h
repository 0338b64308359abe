// What follows a training step by step, on the first process, without changing its results.
#pragma once
#include <vector>

#include "tandem/cli/train/run_folder.h"
#include "tandem/cli/train/stepper.h"

namespace tandem::cli {

class TrainingObserver {
 public:
  virtual ~TrainingObserver() = default;
  /// `progress` is that before the step.
  virtual void before_step(const Progress& progress, const std::vector<Tensor>& batch, const Stepper& stepper) = 0;
  /// `progress` is that after the step; its sums are not up to date, those of the stepper are.
  virtual void after_step(const Progress& progress, Stepper& stepper) = 0;
  /// The last line of progress.history belongs to this epoch, which progress.epoch does not yet count.
  virtual void after_epoch(const Progress& progress, const nn::Sequential& model) = 0;
};

}  // namespace tandem::cli
