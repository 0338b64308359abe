// L-BFGS with a fixed step or a line search that satisfies the strong Wolfe conditions, equivalent to PyTorch's
// (J. Nocedal, S. Wright: Numerical Optimization, 2nd edition, algorithms 7.4, 7.5, 3.5 and 3.6).
#pragma once
#include <deque>

#include "tandem/nn/optim/optimizer.h"

namespace tandem::optim {

struct LBFGSOptions : public OptimizerCloneableOptions<LBFGSOptions> {
  LBFGSOptions(double lr = 1) : lr_(lr) {}
  TANDEM_ARG(double, lr);
  /// Iterations per step().
  TANDEM_ARG(int64_t, max_iter) = 20;
  /// Evaluations of the closure per step(); default: 5/4 of max_iter.
  TANDEM_ARG(optional<int64_t>, max_eval) = nullopt;
  /// step() ends when no gradient is larger than this.
  TANDEM_ARG(double, tolerance_grad) = 1e-7;
  /// step() ends when neither the loss nor a parameter changes by more than this.
  TANDEM_ARG(double, tolerance_change) = 1e-9;
  TANDEM_ARG(int64_t, history_size) = 100;
  /// "strong_wolfe", or none for steps of length lr.
  TANDEM_ARG(optional<std::string>, line_search_fn) = nullopt;

 public:
  void serialize(serialize::OutputArchive& archive) const override;
  void serialize(serialize::InputArchive& archive) override;
  void validate() const override;
};

/// The state of the whole optimization, kept under the first parameter.
struct LBFGSParamState : public OptimizerCloneableParamState<LBFGSParamState> {
  TANDEM_ARG(int64_t, func_evals) = 0;
  TANDEM_ARG(int64_t, n_iter) = 0;
  /// Length of the last step.
  TANDEM_ARG(double, t) = 0;
  TANDEM_ARG(double, prev_loss) = 0;
  /// The last direction.
  TANDEM_ARG(Tensor, d) = {};
  /// Scale of the initial inverse Hessian.
  TANDEM_ARG(Tensor, H_diag) = {};
  TANDEM_ARG(Tensor, prev_flat_grad) = {};
  /// Changes of the gradient and of the parameters, and the reciprocals of their products, oldest first.
  TANDEM_ARG(std::deque<Tensor>, old_dirs);
  TANDEM_ARG(std::deque<Tensor>, old_stps);
  TANDEM_ARG(std::deque<Tensor>, ro);
  TANDEM_ARG(optional<std::vector<Tensor>>, al) = nullopt;

 public:
  void serialize(serialize::OutputArchive& archive) const override;
  void serialize(serialize::InputArchive& archive) override;
};

class LBFGS : public Optimizer {
 public:
  /// Throws Error unless there is exactly one group.
  explicit LBFGS(const std::vector<OptimizerParamGroup>& groups, LBFGSOptions defaults = {});
  explicit LBFGS(std::vector<Tensor> params, LBFGSOptions defaults = {});

  /// Iterates on the loss of `closure`, which clears the gradients, computes the loss and calls backward().
  /// Returns the loss before the step. Throws Error without a closure.
  Tensor step(LossClosure closure) override;

 protected:
  const char* name() const override { return "LBFGS"; }
  std::unique_ptr<OptimizerParamState> make_state() const override;

 private:
  struct Run;
  const std::vector<Tensor>& own() const { return param_groups_[0].params(); }
  Tensor flat_gradient() const;
  void move(double length, const Tensor& direction) const;
};

}  // namespace tandem::optim
