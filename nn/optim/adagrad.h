// Adagrad, equivalent to PyTorch's.
#pragma once
#include "tandem/nn/optim/optimizer.h"

namespace tandem::optim {

struct AdagradOptions : public OptimizerCloneableOptions<AdagradOptions> {
  AdagradOptions(double lr = 1e-2) : lr_(lr) {}
  TANDEM_ARG(double, lr);
  TANDEM_ARG(double, lr_decay) = 0;
  TANDEM_ARG(double, weight_decay) = 0;
  TANDEM_ARG(double, initial_accumulator_value) = 0;
  TANDEM_ARG(double, eps) = 1e-10;

 public:
  std::vector<Field> fields() override;
  void validate() const override;
};

struct AdagradParamState : public OptimizerCloneableParamState<AdagradParamState> {
  TANDEM_ARG(int64_t, step) = 0;
  TANDEM_ARG(Tensor, sum);

 public:
  std::vector<Field> fields() override;
};

class Adagrad : public Optimizer {
 public:
  Adagrad(const std::vector<OptimizerParamGroup>& groups, AdagradOptions defaults = {});
  Adagrad(std::vector<Tensor> params, AdagradOptions defaults = {});
  Tensor step(LossClosure closure = nullptr) override;
  bool sums_gradients() const override;
  bool can_be_replayed() const override { return true; }

 protected:
  const char* name() const override { return "Adagrad"; }
  std::unique_ptr<OptimizerParamState> make_state() const override;
};

}  // namespace tandem::optim
