// Adamax, equivalent to PyTorch's (D. Kingma, J. Ba: Adam, a method for stochastic optimization, section 7.1. 2015).
#pragma once
#include <tuple>

#include "tandem/nn/optim/optimizer.h"

namespace tandem::optim {

struct AdamaxOptions : public OptimizerCloneableOptions<AdamaxOptions> {
  AdamaxOptions(double lr = 2e-3) : lr_(lr) {}
  using Betas = std::tuple<double, double>;
  TANDEM_ARG(double, lr);
  TANDEM_ARG(Betas, betas) = std::make_tuple(0.9, 0.999);
  TANDEM_ARG(double, eps) = 1e-8;
  /// L2 penalty, added to the gradient.
  TANDEM_ARG(double, weight_decay) = 0;
  TANDEM_ARG(bool, maximize) = false;

 public:
  std::vector<Field> fields() override;
  void validate() const override;
};

struct AdamaxParamState : public OptimizerCloneableParamState<AdamaxParamState> {
  TANDEM_ARG(int64_t, step) = 0;
  TANDEM_ARG(Tensor, exp_avg);
  TANDEM_ARG(Tensor, exp_inf);

 public:
  std::vector<Field> fields() override;
};

class Adamax : public Optimizer {
 public:
  explicit Adamax(const std::vector<OptimizerParamGroup>& groups, AdamaxOptions defaults = {});
  explicit Adamax(std::vector<Tensor> params, AdamaxOptions defaults = {});
  Tensor step(LossClosure closure = nullptr) override;

 protected:
  const char* name() const override { return "Adamax"; }
  std::unique_ptr<OptimizerParamState> make_state() const override;
};

}  // namespace tandem::optim
