// Adadelta, equivalent to PyTorch's (M. Zeiler: ADADELTA, an adaptive learning rate method. 2012).
#pragma once
#include "tandem/nn/optim/optimizer.h"

namespace tandem::optim {

struct AdadeltaOptions : public OptimizerCloneableOptions<AdadeltaOptions> {
  AdadeltaOptions(double lr = 1.0) : lr_(lr) {}
  std::vector<Field> fields() override;
  void validate() const override;
  TANDEM_ARG(double, lr);
  TANDEM_ARG(double, rho) = 0.9;
  TANDEM_ARG(double, eps) = 1e-6;
  /// L2 penalty, added to the gradient.
  TANDEM_ARG(double, weight_decay) = 0;
  TANDEM_ARG(bool, maximize) = false;
};

struct AdadeltaParamState : public OptimizerCloneableParamState<AdadeltaParamState> {
  std::vector<Field> fields() override;
  TANDEM_ARG(int64_t, step) = 0;
  TANDEM_ARG(Tensor, square_avg);
  TANDEM_ARG(Tensor, acc_delta);
};

TANDEM_COMPOSED_OPTIMIZER(Adadelta);

}  // namespace tandem::optim
