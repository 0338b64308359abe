// SGD with momentum, dampening, Nesterov momentum and weight decay, equivalent to PyTorch's.
#pragma once
#include "tandem/nn/optim/optimizer.h"

namespace tandem::optim {

struct SGDOptions : public OptimizerCloneableOptions<SGDOptions> {
  SGDOptions(double lr) : lr_(lr) {}
  std::vector<Field> fields() override;
  void validate() const override;
  TANDEM_ARG(double, lr);
  TANDEM_ARG(double, momentum) = 0;
  TANDEM_ARG(double, dampening) = 0;
  TANDEM_ARG(double, weight_decay) = 0;
  /// Requires momentum and zero dampening.
  TANDEM_ARG(bool, nesterov) = false;
  TANDEM_ARG(bool, maximize) = false;
};

struct SGDParamState : public OptimizerCloneableParamState<SGDParamState> {
  std::vector<Field> fields() override { return {{.name = "momentum_buffer", .tensor = &momentum_buffer_}}; }
  TANDEM_ARG(Tensor, momentum_buffer);
};

TANDEM_FUSED_OPTIMIZER(SGD, );

}  // namespace tandem::optim
