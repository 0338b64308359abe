// NAdam, equivalent to PyTorch's (T. Dozat: Incorporating Nesterov momentum into Adam. 2016).
#pragma once
#include <tuple>

#include "tandem/nn/optim/optimizer.h"

namespace tandem::optim {

struct NAdamOptions : public OptimizerCloneableOptions<NAdamOptions> {
  NAdamOptions(double lr = 2e-3) : lr_(lr) {}
  using Betas = std::tuple<double, double>;
  TANDEM_ARG(double, lr);
  TANDEM_ARG(Betas, betas) = std::make_tuple(0.9, 0.999);
  TANDEM_ARG(double, eps) = 1e-8;
  /// L2 penalty, added to the gradient, or decoupled.
  TANDEM_ARG(double, weight_decay) = 0;
  TANDEM_ARG(double, momentum_decay) = 4e-3;
  TANDEM_ARG(bool, decoupled_weight_decay) = false;
  TANDEM_ARG(bool, maximize) = false;

 public:
  std::vector<Field> fields() override;
  void validate() const override;
};

struct NAdamParamState : public OptimizerCloneableParamState<NAdamParamState> {
  TANDEM_ARG(int64_t, step) = 0;
  TANDEM_ARG(Tensor, exp_avg);
  TANDEM_ARG(Tensor, exp_avg_sq);
  TANDEM_ARG(double, mu_product) = 1;

 public:
  std::vector<Field> fields() override;
};

class NAdam : public Optimizer {
 public:
  explicit NAdam(const std::vector<OptimizerParamGroup>& groups, NAdamOptions defaults = {});
  explicit NAdam(std::vector<Tensor> params, NAdamOptions defaults = {});
  Tensor step(LossClosure closure = nullptr) override;

 protected:
  const char* name() const override { return "NAdam"; }
  std::unique_ptr<OptimizerParamState> make_state() const override;
};

}  // namespace tandem::optim
