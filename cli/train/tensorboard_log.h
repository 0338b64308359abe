// tandem train --tensorboard: writes the figures of a training to event files.
//
//   by step, about 100 times in an epoch     train/loss, train/accuracy (means since the point before),
//                                            train/learning_rate, train/images_per_second
//   by epoch                                 every number of the line of metrics.jsonl, as epoch/NAME;
//                                            histograms of the parameters, and of the gradients of the
//                                            epoch's last step
//   once                                     the images of the first batch, and the configuration as a text
//
// All have the number of the training step on the x axis, counted from the beginning of the run.
#pragma once
#include "tandem/cli/train/run_folder.h"
#include "tandem/cli/train/stepper.h"
#include "tandem/nn/files/tensorboard/summary_writer.h"

namespace tandem::cli {

/// Follows a training step by step, on the first process, without changing its results.
class TensorboardLog {
 public:
  struct Options {
    std::string folder;
    int64_t steps_per_epoch;
    bool resumed = false;
    /// False if the gradients that a step leaves behind are not the whole batch's.
    bool gradients = true;
  };
  /// Creates a file. A resumed run continues after `progress`: its earlier events from there on are no longer shown.
  /// Throws Error.
  TensorboardLog(const Options& options, const RunConfig& config, const Progress& progress);

  void before_step(const Progress& progress, const std::vector<Tensor>& batch, const Stepper& stepper);
  /// The sums in `progress` may be older than the stepper's.
  void after_step(const Progress& progress, Stepper& stepper);
  /// The last line of progress.history belongs to this epoch, which progress.epoch does not yet count.
  void after_epoch(const Progress& progress, const nn::Sequential& model);

 private:
  int64_t step_of(const Progress& p) const { return p.epoch * options_.steps_per_epoch + p.batch; }

  Options options_;
  tensorboard::SummaryWriter writer_;
  bool has_images_ = false;
  int64_t epoch_ = -1;  // the one that the following figures, of the point before, belong to
  int64_t images_ = 0, correct_ = 0;
  double loss_sum_ = 0, time_ = 0, labels_per_example_ = 1;
};

}  // namespace tandem::cli
