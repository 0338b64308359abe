// RMSprop, optionally centered and with momentum, equivalent to PyTorch's.
#pragma once
#include "tandem/nn/optim/optimizer.h"

namespace tandem::optim {

struct RMSpropOptions : public OptimizerCloneableOptions<RMSpropOptions> {
  RMSpropOptions(double lr = 1e-2) : lr_(lr) {}
  TANDEM_ARG(double, lr);
  TANDEM_ARG(double, alpha) = 0.99;
  TANDEM_ARG(double, eps) = 1e-8;
  TANDEM_ARG(double, weight_decay) = 0;
  TANDEM_ARG(double, momentum) = 0;
  TANDEM_ARG(bool, centered) = false;

 public:
  std::vector<Field> fields() override;
  void validate() const override;
};

struct RMSpropParamState : public OptimizerCloneableParamState<RMSpropParamState> {
  TANDEM_ARG(int64_t, step) = 0;
  TANDEM_ARG(Tensor, square_avg);
  TANDEM_ARG(Tensor, grad_avg) = {};
  TANDEM_ARG(Tensor, momentum_buffer) = {};

 public:
  std::vector<Field> fields() override;
};

class RMSprop : public Optimizer {
 public:
  RMSprop(const std::vector<OptimizerParamGroup>& groups, RMSpropOptions defaults = {});
  RMSprop(std::vector<Tensor> params, RMSpropOptions defaults = {});
  Tensor step(LossClosure closure = nullptr) override;
  bool sums_gradients() const override;
  bool can_be_replayed() const override { return true; }

 protected:
  const char* name() const override { return "RMSprop"; }
  std::unique_ptr<OptimizerParamState> make_state() const override;
};

}  // namespace tandem::optim
