// RAdam, equivalent to PyTorch's (L. Liu et al.: On the variance of the adaptive learning rate and beyond. 2020).
#pragma once
#include <tuple>

#include "tandem/nn/optim/optimizer.h"

namespace tandem::optim {

struct RAdamOptions : public OptimizerCloneableOptions<RAdamOptions> {
  RAdamOptions(double lr = 1e-3) : lr_(lr) {}
  using Betas = std::tuple<double, double>;
  TANDEM_ARG(double, lr);
  TANDEM_ARG(Betas, betas) = std::make_tuple(0.9, 0.999);
  TANDEM_ARG(double, eps) = 1e-8;
  /// L2 penalty, added to the gradient, or decoupled.
  TANDEM_ARG(double, weight_decay) = 0;
  TANDEM_ARG(bool, decoupled_weight_decay) = false;
  TANDEM_ARG(bool, maximize) = false;

 public:
  std::vector<Field> fields() override;
  void validate() const override;
};

struct RAdamParamState : public OptimizerCloneableParamState<RAdamParamState> {
  TANDEM_ARG(int64_t, step) = 0;
  TANDEM_ARG(Tensor, exp_avg);
  TANDEM_ARG(Tensor, exp_avg_sq);

 public:
  std::vector<Field> fields() override;
};

class RAdam : public Optimizer {
 public:
  explicit RAdam(const std::vector<OptimizerParamGroup>& groups, RAdamOptions defaults = {});
  explicit RAdam(std::vector<Tensor> params, RAdamOptions defaults = {});
  Tensor step(LossClosure closure = nullptr) override;

 protected:
  const char* name() const override { return "RAdam"; }
  std::unique_ptr<OptimizerParamState> make_state() const override;
};

}  // namespace tandem::optim
