// RMSprop, optionally centered and with momentum, equivalent to PyTorch's.
#pragma once
#include "tandem/nn/optim/optimizer.h"

namespace tandem::optim {

struct RMSpropOptions : public OptimizerCloneableOptions<RMSpropOptions> {
  RMSpropOptions(double lr = 1e-2) : lr_(lr) {}
  std::vector<Field> fields() override;
  void validate() const override;
  TANDEM_ARG(double, lr);
  TANDEM_ARG(double, alpha) = 0.99;
  TANDEM_ARG(double, eps) = 1e-8;
  TANDEM_ARG(double, weight_decay) = 0;
  TANDEM_ARG(double, momentum) = 0;
  TANDEM_ARG(bool, centered) = false;
};

struct RMSpropParamState : public OptimizerCloneableParamState<RMSpropParamState> {
  std::vector<Field> fields() override;
  TANDEM_ARG(int64_t, step) = 0;
  TANDEM_ARG(Tensor, square_avg);
  TANDEM_ARG(Tensor, grad_avg) = {};
  TANDEM_ARG(Tensor, momentum_buffer) = {};
};

TANDEM_FUSED_OPTIMIZER(RMSprop, = {});

}  // namespace tandem::optim
