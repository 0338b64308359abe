// RAdam, equivalent to PyTorch's (L. Liu et al.: On the variance of the adaptive learning rate and beyond. 2020).
#pragma once
#include <tuple>

#include "tandem/nn/optim/optimizer.h"

namespace tandem::optim {

struct RAdamOptions : public OptimizerCloneableOptions<RAdamOptions> {
  std::vector<Field> fields() override;
  void validate() const override;
  TANDEM_ADAM_ARGS(RAdamOptions, 1e-3);
  /// L2 penalty, added to the gradient, or decoupled.
  TANDEM_ARG(double, weight_decay) = 0;
  TANDEM_ARG(bool, decoupled_weight_decay) = false;
  TANDEM_ARG(bool, maximize) = false;
};

struct RAdamParamState : public OptimizerCloneableParamState<RAdamParamState> {
  std::vector<Field> fields() override;
  TANDEM_ARG(int64_t, step) = 0;
  TANDEM_ARG(Tensor, exp_avg);
  TANDEM_ARG(Tensor, exp_avg_sq);
};

TANDEM_COMPOSED_OPTIMIZER(RAdam);

}  // namespace tandem::optim
