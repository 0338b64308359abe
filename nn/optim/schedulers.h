// Learning rate schedulers: each step() (typically once per epoch) updates the rates of all parameter groups.
// save() stores what a checkpoint needs; the rates themselves are saved with the optimizer. As in PyTorch, several
// schedulers of one optimizer may be stepped together: all but LambdaLR start from the rates that the others left.
#pragma once
#include <memory>

#include "tandem/nn/optim/optimizer.h"

namespace tandem::optim {

class LRScheduler {
 public:
  /// The initial rates are those that the optimizer had when its first scheduler was constructed. `optimizer`
  /// must outlive the scheduler.
  explicit LRScheduler(Optimizer& optimizer);
  virtual ~LRScheduler() = default;
  LRScheduler(const LRScheduler&) = delete;
  LRScheduler& operator=(const LRScheduler&) = delete;

  void step();
  /// Goes back to step 0 and sets the rates of that step.
  void restart();
  /// The current rate of each group.
  std::vector<double> get_current_lrs() const;
  std::vector<double> get_last_lr() const { return get_current_lrs(); }
  int64_t step_count() const noexcept { return step_count_; }
  virtual void save(serialize::OutputArchive& archive) const;
  /// Throws Error when the saved number of groups differs.
  virtual void load(serialize::InputArchive& archive);

 protected:
  /// The rates at step_count_.
  virtual std::vector<double> get_lrs() = 0;
  /// The rates at step 0: the initial ones.
  virtual std::vector<double> first_lrs() { return initial_lrs_; }
  void set_optimizer_lrs(const std::vector<double>& lrs);
  const std::vector<double>& initial_lrs() const { return initial_lrs_; }
  static std::vector<double> scaled(std::vector<double> lrs, double factor);
  Optimizer& optimizer_;
  int64_t step_count_ = 0;

 private:
  std::vector<double> initial_lrs_;
};

/// Multiplies the rate by gamma every step_size steps.
class StepLR : public LRScheduler {
 public:
  StepLR(Optimizer& optimizer, unsigned step_size, double gamma = 0.1);

 private:
  std::vector<double> get_lrs() override;
  int64_t step_size_;
  double gamma_;
};

/// Multiplies the rate by gamma at each milestone.
class MultiStepLR : public LRScheduler {
 public:
  MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma = 0.1)
      : LRScheduler(optimizer), milestones_(std::move(milestones)), gamma_(gamma) {}

 private:
  std::vector<double> get_lrs() override;
  std::vector<int64_t> milestones_;
  double gamma_;
};

/// Multiplies the rate by gamma at every step.
class ExponentialLR : public LRScheduler {
 public:
  ExponentialLR(Optimizer& optimizer, double gamma) : LRScheduler(optimizer), gamma_(gamma) {}

 private:
  std::vector<double> get_lrs() override;
  double gamma_;
};

/// Anneals from the initial rate to eta_min along half a cosine of T_max steps
/// (I. Loshchilov, F. Hutter: SGDR. 2017).
class CosineAnnealingLR : public LRScheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min = 0);

 private:
  std::vector<double> get_lrs() override;
  int64_t T_max_;
  double eta_min_;
};

/// Sets the rate to the initial rate times f(step); f(0) applies immediately.
class LambdaLR : public LRScheduler {
 public:
  template <class F>
  LambdaLR(Optimizer& optimizer, F f) : LRScheduler(optimizer), factor_(std::make_shared<Factor<F>>(std::move(f))) {
    set_optimizer_lrs(LambdaLR::get_lrs());
  }

 private:
  struct FactorBase {
    virtual ~FactorBase() = default;
    virtual double at(int64_t step) = 0;
  };
  template <class F>
  struct Factor final : FactorBase {
    explicit Factor(F f) : function(std::move(f)) {}
    double at(int64_t step) override { return static_cast<double>(function(step)); }
    F function;
  };
  std::vector<double> get_lrs() override;
  std::vector<double> first_lrs() override { return get_lrs(); }
  std::shared_ptr<FactorBase> factor_;
};

/// Multiplies the rate by `factor` when step(metric) has seen no improvement for more than `patience` steps.
class ReduceLROnPlateau {
 public:
  enum class Mode { kMin, kMax };
  struct Settings {
    Mode mode = Mode::kMin;
    double factor = 0.1;
    int64_t patience = 10;
    /// Relative: an improvement must exceed this fraction of the best metric's magnitude. (PyTorch forgets the
    /// magnitude, and with negative metrics takes slightly worse ones for improvements; so does
    /// ReduceLROnPlateauScheduler.)
    double threshold = 1e-4;
    int64_t cooldown = 0;  ///< steps to wait after a reduction
    double min_lr = 0;
  };
  ReduceLROnPlateau(Optimizer& optimizer, Settings settings);
  explicit ReduceLROnPlateau(Optimizer& optimizer) : ReduceLROnPlateau(optimizer, Settings()) {}
  void step(double metric);
  void save(serialize::OutputArchive& archive) const;
  void load(serialize::InputArchive& archive);

 private:
  Optimizer& optimizer_;
  Settings settings_;
  double best_;
  int64_t bad_ = 0, wait_ = 0;
};

}  // namespace tandem::optim
