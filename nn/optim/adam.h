// Adam and AdamW, with amsgrad, equivalent to PyTorch's.
#pragma once
#include <tuple>

#include "tandem/nn/optim/optimizer.h"

namespace tandem::optim {

struct AdamOptions : public OptimizerCloneableOptions<AdamOptions> {
  AdamOptions(double lr = 1e-3) : lr_(lr) {}
  using Betas = std::tuple<double, double>;
  TANDEM_ARG(double, lr);
  TANDEM_ARG(Betas, betas) = std::make_tuple(0.9, 0.999);
  TANDEM_ARG(double, eps) = 1e-8;
  /// L2 penalty, added to the gradient.
  TANDEM_ARG(double, weight_decay) = 0;
  TANDEM_ARG(bool, amsgrad) = false;
  TANDEM_ARG(bool, maximize) = false;

 public:
  std::vector<Field> fields() override;
  void validate() const override;
};

struct AdamWOptions : public OptimizerCloneableOptions<AdamWOptions> {
  AdamWOptions(double lr = 1e-3) : lr_(lr) {}
  using Betas = std::tuple<double, double>;
  TANDEM_ARG(double, lr);
  TANDEM_ARG(Betas, betas) = std::make_tuple(0.9, 0.999);
  TANDEM_ARG(double, eps) = 1e-8;
  /// Decoupled: scales the parameter by 1 - lr weight_decay, independently of the gradient.
  TANDEM_ARG(double, weight_decay) = 1e-2;
  TANDEM_ARG(bool, amsgrad) = false;
  TANDEM_ARG(bool, maximize) = false;

 public:
  std::vector<Field> fields() override;
  void validate() const override;
};

struct AdamParamState : public OptimizerCloneableParamState<AdamParamState> {
  TANDEM_ARG(int64_t, step) = 0;
  TANDEM_ARG(Tensor, exp_avg);
  TANDEM_ARG(Tensor, exp_avg_sq);
  TANDEM_ARG(Tensor, max_exp_avg_sq) = {};

 public:
  std::vector<Field> fields() override;
};
using AdamWParamState = AdamParamState;

class Adam : public Optimizer {
 public:
  Adam(const std::vector<OptimizerParamGroup>& groups, AdamOptions defaults = {});
  Adam(std::vector<Tensor> params, AdamOptions defaults = {});
  Tensor step(LossClosure closure = nullptr) override;
  bool sums_gradients() const override;
  bool can_be_replayed() const override { return true; }

 protected:
  const char* name() const override { return "Adam"; }
  std::unique_ptr<OptimizerParamState> make_state() const override;
};

class AdamW : public Optimizer {
 public:
  AdamW(const std::vector<OptimizerParamGroup>& groups, AdamWOptions defaults = {});
  AdamW(std::vector<Tensor> params, AdamWOptions defaults = {});
  Tensor step(LossClosure closure = nullptr) override;
  bool sums_gradients() const override;
  bool can_be_replayed() const override { return true; }

 protected:
  const char* name() const override { return "AdamW"; }
  std::unique_ptr<OptimizerParamState> make_state() const override;
};

}  // namespace tandem::optim
