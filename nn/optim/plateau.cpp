// ReduceLROnPlateauScheduler.
#include "tandem/nn/optim/plateau.h"

#include <algorithm>
#include <iostream>
#include <limits>

#include "tandem/nn/files/archive.h"

namespace tandem::optim {

ReduceLROnPlateauScheduler::ReduceLROnPlateauScheduler(Optimizer& optimizer, SchedulerMode mode, float factor,
                                                       int patience, double threshold, ThresholdMode threshold_mode,
                                                       int cooldown, const std::vector<float>& min_lr, double eps,
                                                       bool verbose)
    : optimizer_(optimizer),
      mode_(mode),
      factor_(factor),
      patience_(patience),
      threshold_(threshold),
      threshold_mode_(threshold_mode),
      cooldown_(cooldown),
      min_lrs_(min_lr),
      eps_(eps),
      verbose_(verbose),
      best_(mode == min ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity()) {
  check(factor < 1, "ReduceLROnPlateauScheduler: factor should be < 1.0, got ", factor);
  const std::size_t groups = optimizer.param_groups().size();
  if (min_lrs_.empty()) min_lrs_.assign(groups, 0.0F);
  if (min_lrs_.size() == 1) min_lrs_.assign(groups, min_lrs_[0]);
  check(min_lrs_.size() == groups, "ReduceLROnPlateauScheduler: number of learning rates not equal to the ",
        "number of param groups\nnumber of learning rates given: ", min_lrs_.size(),
        "\nnumber of param groups: ", groups);
}

bool ReduceLROnPlateauScheduler::improves(float metric) const {
  const double sign = mode_ == min ? -1 : 1, best = best_;
  const double target = threshold_mode_ == rel ? best * (1 + sign * threshold_) : best + sign * threshold_;
  return mode_ == min ? metric < target : metric > target;
}

void ReduceLROnPlateauScheduler::reduce() {
  auto& groups = optimizer_.param_groups();
  check(groups.size() == min_lrs_.size(), "ReduceLROnPlateauScheduler: the optimizer has ", groups.size(),
        " parameter groups, but had ", min_lrs_.size(), " when the scheduler was created");
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const double old = groups[i].options().get_lr();
    const double lr = std::max(old * static_cast<double>(factor_), static_cast<double>(min_lrs_[i]));
    if (old - lr <= eps_) continue;
    groups[i].options().set_lr(lr);
    if (verbose_)
      std::cout << "Epoch " << epoch_ << ": reducing learning rate of group " << i << " to " << lr << std::endl;
  }
}

void ReduceLROnPlateauScheduler::step(float metric) {
  ++epoch_;
  const bool better = improves(metric);
  if (better) best_ = metric;
  bad_ = better ? 0 : bad_ + 1;
  if (wait_ > 0) {
    --wait_;
    bad_ = 0;
  }
  if (bad_ <= patience_) return;
  reduce();
  wait_ = cooldown_;
  bad_ = 0;
}

void ReduceLROnPlateauScheduler::save(serialize::OutputArchive& archive) const {
  archive.write("best", static_cast<double>(best_));
  archive.write("epoch", epoch_);
  archive.write("bad_steps", bad_);
  archive.write("wait", wait_);
}
void ReduceLROnPlateauScheduler::load(serialize::InputArchive& archive) {
  double best = 0;
  archive.read("best", best);
  best_ = static_cast<float>(best);
  archive.read("epoch", epoch_);
  archive.read("bad_steps", bad_);
  archive.read("wait", wait_);
}

}  // namespace tandem::optim
