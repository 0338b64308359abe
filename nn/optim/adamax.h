// Adamax, equivalent to PyTorch's (D. Kingma, J. Ba: Adam, a method for stochastic optimization, section 7.1. 2015).
#pragma once
#include <tuple>

#include "tandem/nn/optim/optimizer.h"

namespace tandem::optim {

struct AdamaxOptions : public OptimizerCloneableOptions<AdamaxOptions> {
  std::vector<Field> fields() override;
  void validate() const override;
  TANDEM_ADAM_ARGS(AdamaxOptions, 2e-3);
  /// L2 penalty, added to the gradient.
  TANDEM_ARG(double, weight_decay) = 0;
  TANDEM_ARG(bool, maximize) = false;
};

struct AdamaxParamState : public OptimizerCloneableParamState<AdamaxParamState> {
  std::vector<Field> fields() override;
  TANDEM_ARG(int64_t, step) = 0;
  TANDEM_ARG(Tensor, exp_avg);
  TANDEM_ARG(Tensor, exp_inf);
};

TANDEM_COMPOSED_OPTIMIZER(Adamax);

}  // namespace tandem::optim
