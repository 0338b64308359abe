// Optimizer: parameter groups, the options of each group and the state of each parameter (LibTorch's
// torch::optim::Optimizer).
//
//   optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.1).momentum(0.9));
//   loss.backward(); optimizer.step(); optimizer.zero_grad();
//
// step() is one fused pass over each parameter that has a gradient. Only the first step allocates memory.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tandem/core/arg.h"
#include "tandem/core/parallel_for.h"
#include "tandem/core/tensor.h"

namespace tandem {
namespace serialize {
class InputArchive;
class OutputArchive;
}  // namespace serialize

namespace optim {

/// A named option or state entry, for saving. Exactly one of the pointers is set.
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
  /// Throws Error on an invalid value.
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

/// The state an optimizer keeps for one parameter.
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
  /// Throws Error when the group has no options.
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

/// A borrowed function that recomputes the loss, or none.
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

/// Gradients of all parameters in one flat tensor, `own`, plus those of other devices; all on own's device.
struct FlatGradients {
  Tensor own;
  std::vector<Tensor> others;
};
/// Context that step() passes to its parts.
struct StepCall {
  const char* optimizer;
  const FlatGradients* flat;  ///< set within step_with, otherwise null
};

class Optimizer {
 public:
  using LossClosure = optim::LossClosure;

  /// Groups without options use the defaults. Throws Error on a parameter that is not a leaf or appears
  /// twice, and on invalid options.
  Optimizer(const std::vector<OptimizerParamGroup>& groups, std::unique_ptr<OptimizerOptions> defaults);
  Optimizer(std::vector<Tensor> parameters, std::unique_ptr<OptimizerOptions> defaults);
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Updates each parameter that has a gradient. If `closure` is given, first runs it with gradient recording
  /// enabled and returns its loss.
  virtual Tensor step(LossClosure closure = nullptr) = 0;
  /// Whether step() itself sums `call().flat`. The built-in optimizers do. A class derived from one must
  /// override this to opt in, since its step() may inspect gradients.
  virtual bool sums_gradients() const { return false; }
  /// Runs step() with the gradient own + others[0] + others[1] + …, added in this order and stored in `own`.
  /// The sum is part of the same pass over memory when sums_gradients(). Throws Error when a gradient is not
  /// a view of `own`, or when `others` differ from it in size, dtype or device.
  void step_with(const FlatGradients& gradients);
  void zero_grad(bool set_to_none = true);
  void add_param_group(const OptimizerParamGroup& group);
  void add_parameters(const std::vector<Tensor>& parameters) { add_param_group(parameters); }

  std::vector<OptimizerParamGroup>& param_groups() noexcept { return groups_; }
  const std::vector<OptimizerParamGroup>& param_groups() const noexcept { return groups_; }
  /// State by parameter; the key is Tensor::unsafeGetTensorImpl().
  std::unordered_map<void*, std::unique_ptr<OptimizerParamState>>& state() noexcept { return state_; }
  OptimizerOptions& defaults() noexcept { return *defaults_; }
  std::vector<Tensor> parameters() const;
  std::size_t size() const;

  /// Saves the options of all groups and the state of each parameter, identified by its position.
  virtual void save(serialize::OutputArchive& archive) const;
  /// Throws Error when groups, parameters or shapes differ; nothing is changed then.
  virtual void load(serialize::InputArchive& archive);

 protected:
  virtual const char* name() const { return "Optimizer"; }
  StepCall call() const { return {name(), flat_}; }
  /// Creates the state of a parameter.
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
  const FlatGradients* flat_ = nullptr;  // set within step_with
};

}  // namespace optim
}  // namespace tandem
