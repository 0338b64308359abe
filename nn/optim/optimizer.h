// Optimizer: parameters in groups, the options of each group, the state of each parameter (LibTorch's
// torch::optim::Optimizer).
//
//   optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.1).momentum(0.9));
//   loss.backward(); optimizer.step(); optimizer.zero_grad();
//
// step() is one fused pass over each parameter that has a gradient; after the first step it allocates
// nothing.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tandem/core/parallel_for.h"
#include "tandem/core/tensor.h"
#include "tandem/nn/arg.h"

namespace tandem {
namespace serialize {
class InputArchive;
class OutputArchive;
}  // namespace serialize

namespace optim {

/// An option or a part of a state under its name, for saving: one of the pointers is set.
struct Field {
  const char* name;
  double* number = nullptr;
  bool* flag = nullptr;
  int64_t* count = nullptr;
  Tensor* tensor = nullptr;
};

class OptimizerOptions {
 public:
  virtual ~OptimizerOptions() = default;
  virtual std::unique_ptr<OptimizerOptions> clone() const = 0;
  virtual double get_lr() const = 0;
  virtual void set_lr(double lr) = 0;
  virtual std::vector<Field> fields() = 0;
  /// Throws Error on an impossible value.
  virtual void validate() const {}
};
template <class Derived>
class OptimizerCloneableOptions : public OptimizerOptions {
 public:
  std::unique_ptr<OptimizerOptions> clone() const override {
    return std::make_unique<Derived>(static_cast<const Derived&>(*this));
  }
  double get_lr() const override { return static_cast<const Derived&>(*this).lr(); }
  void set_lr(double lr) override { static_cast<Derived&>(*this).lr(lr); }
};

/// What an optimizer keeps for one parameter.
class OptimizerParamState {
 public:
  virtual ~OptimizerParamState() = default;
  virtual std::vector<Field> fields() = 0;
};

class OptimizerParamGroup {
 public:
  OptimizerParamGroup(std::vector<Tensor> params) : params_(std::move(params)) {}
  OptimizerParamGroup(std::vector<Tensor> params, std::unique_ptr<OptimizerOptions> options)
      : params_(std::move(params)), options_(std::move(options)) {}
  OptimizerParamGroup(const OptimizerParamGroup& other)
      : params_(other.params_), options_(other.options_ ? other.options_->clone() : nullptr) {}
  OptimizerParamGroup(OptimizerParamGroup&&) = default;
  OptimizerParamGroup& operator=(OptimizerParamGroup&&) = default;

  bool has_options() const { return options_ != nullptr; }
  /// Throws Error when there are none.
  OptimizerOptions& options() const {
    check(has_options(), "the parameter group has no options");
    return *options_;
  }
  void set_options(std::unique_ptr<OptimizerOptions> options) { options_ = std::move(options); }
  std::vector<Tensor>& params() { return params_; }
  const std::vector<Tensor>& params() const { return params_; }

 private:
  std::vector<Tensor> params_;
  std::unique_ptr<OptimizerOptions> options_;
};

/// A borrowed function that computes the loss anew, or none.
class LossClosure {
 public:
  LossClosure(std::nullptr_t) {}
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, LossClosure> && std::is_invocable_r_v<Tensor, F&>)
      LossClosure(F&& f)
      : function_(FunctionRef<Tensor()>(f)) {
    if constexpr (std::is_same_v<std::remove_cvref_t<F>, std::function<Tensor()>>)
      if (!f) function_.reset();
  }
  explicit operator bool() const { return function_.has_value(); }
  Tensor operator()() const { return (*function_)(); }

 private:
  optional<FunctionRef<Tensor()>> function_;
};

/// Gradients of all parameters in one flat tensor, `own`, and the same of other devices, all on its device.
struct FlatGradients {
  Tensor own;
  std::vector<Tensor> others;
};
/// What the parts of a step are to know of it.
struct StepCall {
  const char* optimizer;
  const FlatGradients* flat;  ///< of step_with, else null
};

class Optimizer {
 public:
  using LossClosure = optim::LossClosure;

  /// Groups without options get the defaults. Throws Error on a parameter that is no leaf or comes twice, and
  /// on impossible options.
  Optimizer(const std::vector<OptimizerParamGroup>& groups, std::unique_ptr<OptimizerOptions> defaults);
  Optimizer(std::vector<Tensor> parameters, std::unique_ptr<OptimizerOptions> defaults);
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Changes each parameter that has a gradient. Runs `closure`, where given, first, with recording on, and
  /// gives its loss.
  virtual Tensor step(LossClosure closure = nullptr) = 0;
  /// Whether step() itself sums `call().flat`: the ones here do, those derived from them say it anew, since
  /// they may look at gradients.
  virtual bool sums_gradients() const { return false; }
  /// step() for own + others[0] + others[1] + …, added in this order, which `own` then holds; in the same
  /// pass over memory where sums_gradients(). Throws Error where a gradient is no view of `own`, and on
  /// others of another size, dtype or device.
  void step_with(const FlatGradients& gradients);
  void zero_grad(bool set_to_none = true);
  void add_param_group(const OptimizerParamGroup& group);
  void add_parameters(const std::vector<Tensor>& parameters) { add_param_group(parameters); }

  std::vector<OptimizerParamGroup>& param_groups() noexcept { return groups_; }
  const std::vector<OptimizerParamGroup>& param_groups() const noexcept { return groups_; }
  /// By Tensor::unsafeGetTensorImpl() of the parameter.
  std::unordered_map<void*, std::unique_ptr<OptimizerParamState>>& state() noexcept { return state_; }
  OptimizerOptions& defaults() noexcept { return *defaults_; }
  std::vector<Tensor> parameters() const;
  std::size_t size() const;

  /// Options of all groups and the state of each parameter, by its position.
  virtual void save(serialize::OutputArchive& archive) const;
  /// Throws Error, before anything is changed, when groups, parameters or shapes are others.
  virtual void load(serialize::InputArchive& archive);

 protected:
  virtual const char* name() const { return "Optimizer"; }
  StepCall call() const { return {name(), flat_}; }
  /// A fresh state for a parameter.
  virtual std::unique_ptr<OptimizerParamState> make_state() const { return nullptr; }
  template <class State>
  State& state_of(const Tensor& parameter) {
    auto& slot = state_[parameter.impl()];
    if (!slot) slot = make_state();
    return static_cast<State&>(*slot);
  }

 private:
  std::vector<OptimizerParamGroup> groups_;
  std::unordered_map<void*, std::unique_ptr<OptimizerParamState>> state_;
  std::unique_ptr<OptimizerOptions> defaults_;
  const FlatGradients* flat_ = nullptr;  // within step_with
};

}  // namespace optim
}  // namespace tandem
