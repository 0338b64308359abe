// NAdam, equivalent to PyTorch's (T. Dozat: Incorporating Nesterov momentum into Adam. 2016).
#pragma once
#include <tuple>

#include "tandem/nn/optim/optimizer.h"

namespace tandem::optim {

struct NAdamOptions : public OptimizerCloneableOptions<NAdamOptions> {
  std::vector<Field> fields() override;
  void validate() const override;
  TANDEM_ADAM_ARGS(NAdamOptions, 2e-3);
  /// L2 penalty, added to the gradient, or decoupled.
  TANDEM_ARG(double, weight_decay) = 0;
  TANDEM_ARG(double, momentum_decay) = 4e-3;
  TANDEM_ARG(bool, decoupled_weight_decay) = false;
  TANDEM_ARG(bool, maximize) = false;
};

struct NAdamParamState : public OptimizerCloneableParamState<NAdamParamState> {
  std::vector<Field> fields() override;
  TANDEM_ARG(int64_t, step) = 0;
  TANDEM_ARG(Tensor, exp_avg);
  TANDEM_ARG(Tensor, exp_avg_sq);
  TANDEM_ARG(double, mu_product) = 1;
};

TANDEM_COMPOSED_OPTIMIZER(NAdam);

}  // namespace tandem::optim
