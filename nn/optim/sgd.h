// SGD with momentum, dampening, Nesterov momentum and weight decay, equivalent to PyTorch's.
#pragma once
#include "tandem/nn/optim/optimizer.h"

namespace tandem::optim {

struct SGDOptions : public OptimizerCloneableOptions<SGDOptions> {
  SGDOptions(double lr) : lr_(lr) {}
  TANDEM_ARG(double, lr);
  TANDEM_ARG(double, momentum) = 0;
  TANDEM_ARG(double, dampening) = 0;
  TANDEM_ARG(double, weight_decay) = 0;
  /// Requires momentum and zero dampening.
  TANDEM_ARG(bool, nesterov) = false;
  TANDEM_ARG(bool, maximize) = false;

 public:
  std::vector<Field> fields() override;
  void validate() const override;
};

struct SGDParamState : public OptimizerCloneableParamState<SGDParamState> {
  TANDEM_ARG(Tensor, momentum_buffer);

 public:
  std::vector<Field> fields() override { return {{.name = "momentum_buffer", .tensor = &momentum_buffer_}}; }
};

class SGD : public Optimizer {
 public:
  SGD(const std::vector<OptimizerParamGroup>& groups, SGDOptions defaults);
  SGD(std::vector<Tensor> params, SGDOptions defaults);

  Tensor step(LossClosure closure = nullptr) override;
  bool sums_gradients() const override;
  bool can_be_replayed() const override { return true; }

 protected:
  const char* name() const override { return "SGD"; }
  std::unique_ptr<OptimizerParamState> make_state() const override;
};

}  // namespace tandem::optim
