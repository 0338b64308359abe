// Schedulers of PyTorch beyond those of schedulers.h: ramps, cycles and sequences. Each sets the rates of step 0 when
// it is constructed. Cycles and restarts compute the rates from the initial ones, and undo what another scheduler of
// the same optimizer did to them.
#pragma once
#include <functional>

#include "tandem/nn/optim/schedulers.h"

namespace tandem::optim {

/// Multiplies the rate by a factor that depends on the step. Several such schedulers of one optimizer multiply their
/// factors, as the schedulers of schedulers.h do.
class FactorLR : public LRScheduler {
 protected:
  using LRScheduler::LRScheduler;
  /// Of a step from 0 on.
  virtual double factor(int64_t step) const = 0;
  std::vector<double> get_lrs() override;
  std::vector<double> first_lrs() override;
};

/// Multiplies the rate by `factor` during the first total_iters steps.
class ConstantLR : public FactorLR {
 public:
  explicit ConstantLR(Optimizer& optimizer, double factor = 1.0 / 3, int64_t total_iters = 5);

 private:
  double factor(int64_t step) const override;
  double factor_;
  int64_t total_iters_;
};

/// Multiplies the rate by a factor that goes linearly from start_factor to end_factor in total_iters steps.
class LinearLR : public FactorLR {
 public:
  explicit LinearLR(Optimizer& optimizer, double start_factor = 1.0 / 3, double end_factor = 1,
                    int64_t total_iters = 5);

 private:
  double factor(int64_t step) const override;
  double start_, end_;
  int64_t total_iters_;
};

/// Multiplies the rate by (1 - step / total_iters)^power, until it is 0.
class PolynomialLR : public FactorLR {
 public:
  explicit PolynomialLR(Optimizer& optimizer, int64_t total_iters = 5, double power = 1);

 private:
  double factor(int64_t step) const override;
  int64_t total_iters_;
  double power_;
};

/// Half a cosine from the initial rate to eta_min, again and again: T_0 steps long, then T_mult times longer each
/// (I. Loshchilov, F. Hutter: SGDR. 2017).
class CosineAnnealingWarmRestarts : public LRScheduler {
 public:
  CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t T_0, int64_t T_mult = 1, double eta_min = 0);

 private:
  std::vector<double> get_lrs() override;
  int64_t T_0_, T_mult_;
  double eta_min_;
};

struct OneCycleLROptions {
  double max_lr = 0;        ///< must be given
  int64_t total_steps = 0;  ///< must be given
  /// Part of the steps in which the rate rises.
  double pct_start = 0.3;
  /// "cos" or "linear".
  std::string anneal_strategy = "cos";
  /// Moves the momentum or the first beta against the rate.
  bool cycle_momentum = true;
  double base_momentum = 0.85;
  double max_momentum = 0.95;
  /// The first rate is max_lr / div_factor, the last one the first / final_div_factor.
  double div_factor = 25;
  double final_div_factor = 1e4;
  /// Falls to the first rate as fast as it rose, and only then to the last one.
  bool three_phase = false;
};
/// Rises to max_lr and falls to almost 0 in total_steps steps (L. Smith, N. Topin: Super-convergence. 2019). A step
/// beyond them throws Error.
class OneCycleLR : public LRScheduler {
 public:
  OneCycleLR(Optimizer& optimizer, OneCycleLROptions options);
  OneCycleLR(Optimizer& optimizer, double max_lr, int64_t total_steps)
      : OneCycleLR(optimizer, OneCycleLROptions{.max_lr = max_lr, .total_steps = total_steps}) {}

 private:
  std::vector<double> get_lrs() override;
  std::vector<double> first_lrs() override { return get_lrs(); }
  OneCycleLROptions options_;
};

struct CyclicLROptions {
  double base_lr = 0, max_lr = 0;  ///< must be given
  int64_t step_size_up = 2000;
  /// Default: step_size_up.
  optional<int64_t> step_size_down = nullopt;
  /// "triangular", "triangular2" (half the height in each cycle) or "exp_range" (height gamma^step).
  std::string mode = "triangular";
  double gamma = 1;
  bool cycle_momentum = true;
  double base_momentum = 0.8;
  double max_momentum = 0.9;
};
/// Moves between base_lr and max_lr in triangles (L. Smith: Cyclical learning rates. 2017).
class CyclicLR : public LRScheduler {
 public:
  CyclicLR(Optimizer& optimizer, CyclicLROptions options);
  CyclicLR(Optimizer& optimizer, double base_lr, double max_lr)
      : CyclicLR(optimizer, CyclicLROptions{.base_lr = base_lr, .max_lr = max_lr}) {}

 private:
  std::vector<double> get_lrs() override;
  std::vector<double> first_lrs() override { return get_lrs(); }
  CyclicLROptions options_;
};

/// Each scheduler until its milestone; the next one then starts at its step 0.
class SequentialLR : public LRScheduler {
 public:
  /// Throws Error unless there is one milestone less than schedulers, in ascending order.
  SequentialLR(Optimizer& optimizer, std::vector<std::shared_ptr<LRScheduler>> schedulers,
               std::vector<int64_t> milestones);
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 private:
  std::vector<double> get_lrs() override;
  std::vector<std::shared_ptr<LRScheduler>> schedulers_;
  std::vector<int64_t> milestones_;
};

}  // namespace tandem::optim
