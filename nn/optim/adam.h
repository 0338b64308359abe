// Adam and AdamW, with amsgrad, equivalent to PyTorch's.
#pragma once
#include <tuple>

#include "tandem/nn/optim/optimizer.h"

namespace tandem::optim {

struct AdamOptions : public OptimizerCloneableOptions<AdamOptions> {
  std::vector<Field> fields() override;
  void validate() const override;
  TANDEM_ADAM_ARGS(AdamOptions, 1e-3);
  /// L2 penalty, added to the gradient.
  TANDEM_ARG(double, weight_decay) = 0;
  TANDEM_ARG(bool, amsgrad) = false;
  TANDEM_ARG(bool, maximize) = false;
};

struct AdamWOptions : public OptimizerCloneableOptions<AdamWOptions> {
  std::vector<Field> fields() override;
  void validate() const override;
  TANDEM_ADAM_ARGS(AdamWOptions, 1e-3);
  /// Decoupled: scales the parameter by 1 - lr weight_decay, independently of the gradient.
  TANDEM_ARG(double, weight_decay) = 1e-2;
  TANDEM_ARG(bool, amsgrad) = false;
  TANDEM_ARG(bool, maximize) = false;
};

struct AdamParamState : public OptimizerCloneableParamState<AdamParamState> {
  std::vector<Field> fields() override;
  TANDEM_ARG(int64_t, step) = 0;
  TANDEM_ARG(Tensor, exp_avg);
  TANDEM_ARG(Tensor, exp_avg_sq);
  TANDEM_ARG(Tensor, max_exp_avg_sq) = {};
};
using AdamWParamState = AdamParamState;

TANDEM_FUSED_OPTIMIZER(Adam, = {});
TANDEM_FUSED_OPTIMIZER(AdamW, = {});

}  // namespace tandem::optim
