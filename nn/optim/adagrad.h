// Adagrad, equivalent to PyTorch's.
#pragma once
#include "tandem/nn/optim/optimizer.h"

namespace tandem::optim {

struct AdagradOptions : public OptimizerCloneableOptions<AdagradOptions> {
  AdagradOptions(double lr = 1e-2) : lr_(lr) {}
  std::vector<Field> fields() override;
  void validate() const override;
  TANDEM_ARG(double, lr);
  TANDEM_ARG(double, lr_decay) = 0;
  TANDEM_ARG(double, weight_decay) = 0;
  TANDEM_ARG(double, initial_accumulator_value) = 0;
  TANDEM_ARG(double, eps) = 1e-10;
};

struct AdagradParamState : public OptimizerCloneableParamState<AdagradParamState> {
  std::vector<Field> fields() override;
  TANDEM_ARG(int64_t, step) = 0;
  TANDEM_ARG(Tensor, sum);
};

TANDEM_FUSED_OPTIMIZER(Adagrad, = {});

}  // namespace tandem::optim
