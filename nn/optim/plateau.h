// ReduceLROnPlateauScheduler, with LibTorch's names and arguments.
#pragma once
#include "tandem/nn/optim/optimizer.h"

namespace tandem::optim {

/// Multiplies the rates by `factor` when step(metric) has seen no improvement for more than `patience` steps.
class ReduceLROnPlateauScheduler {
 public:
  enum SchedulerMode { min, max };
  /// An improvement exceeds the best metric by a fraction of it (rel) or by an amount (abs).
  enum ThresholdMode { rel, abs };

  /// `min_lr`: none, one rate, or one per group. A rate changes only by more than `eps`. Throws Error on a factor
  /// of 1 or more, or on another number of rates.
  ReduceLROnPlateauScheduler(Optimizer& optimizer, SchedulerMode mode = min, float factor = 0.1F, int patience = 10,
                             double threshold = 1e-4, ThresholdMode threshold_mode = rel, int cooldown = 0,
                             const std::vector<float>& min_lr = std::vector<float>(), double eps = 1e-8,
                             bool verbose = false);
  virtual ~ReduceLROnPlateauScheduler() = default;
  void step(float metric);
  void save(serialize::OutputArchive& archive) const;
  void load(serialize::InputArchive& archive);

 private:
  bool improves(float metric) const;
  void reduce();

  Optimizer& optimizer_;
  SchedulerMode mode_;
  float factor_;
  int patience_;
  double threshold_;
  ThresholdMode threshold_mode_;
  int cooldown_;
  std::vector<float> min_lrs_;
  double eps_;
  bool verbose_;
  float best_;
  int64_t epoch_ = 0, bad_ = 0, wait_ = 0;
};

}  // namespace tandem::optim
