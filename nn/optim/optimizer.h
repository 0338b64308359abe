// Optimizer: parameter groups, the options of each group and the state of each parameter (LibTorch's
// torch::optim::Optimizer).
//
//   optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.1).momentum(0.9));
//   loss.backward(); optimizer.step(); optimizer.zero_grad();
//
// step() is one fused pass over each parameter that has a gradient. Only the first step allocates memory.
#pragma once
#include <functional>
#include <unordered_map>

#include "tandem/nn/optim/param_group.h"

namespace tandem::optim {

/// Recomputes the loss; may be empty.
using LossClosure = std::function<Tensor()>;

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
  Optimizer(Optimizer&&) = default;
  Optimizer& operator=(Optimizer&&) = default;

  /// Updates each parameter that has a gradient. If `closure` is given, first runs it with gradient recording
  /// enabled and returns its loss.
  virtual Tensor step(LossClosure closure = nullptr) = 0;
  /// Whether step() itself sums `call().flat`. The built-in optimizers do. A class derived from one must
  /// override this to opt in, since its step() may inspect gradients.
  virtual bool sums_gradients() const { return false; }
  /// Whether CapturedStep may replay step(): its kernels read what changes from step to step, such as the rate and the
  /// count, when they run. One that computes factors on the host would repeat those of the recorded step. A
  /// class derived from a built-in optimizer inherits its answer, and overrides it if step() computes such factors itself.
  virtual bool can_be_replayed() const { return false; }
  /// Runs step() with the gradient own + others[0] + others[1] + …, added in this order and stored in `own`.
  /// The sum is part of the same pass over memory when sums_gradients(). Throws Error when a gradient is not
  /// a view of `own`, or when `others` differ from it in size, dtype or device.
  void step_with(const FlatGradients& gradients);
  void zero_grad(bool set_to_none = true);
  /// A group's options that equal those of a default constructor are taken from the defaults, as in LibTorch.
  void add_param_group(const OptimizerParamGroup& group);
  void add_parameters(const std::vector<Tensor>& parameters) { add_param_group(parameters); }

  std::vector<OptimizerParamGroup>& param_groups() noexcept { return param_groups_; }
  const std::vector<OptimizerParamGroup>& param_groups() const noexcept { return param_groups_; }
  /// State by parameter; the key is Tensor::unsafeGetTensorImpl().
  std::unordered_map<void*, std::unique_ptr<OptimizerParamState>>& state() noexcept { return state_; }
  const std::unordered_map<void*, std::unique_ptr<OptimizerParamState>>& state() const noexcept { return state_; }
  OptimizerOptions& defaults() noexcept { return *defaults_; }
  const OptimizerOptions& defaults() const noexcept { return *defaults_; }
  std::vector<Tensor> parameters() const;
  std::size_t size() const;

  /// Saves the options of all groups and the state of each parameter, identified by its position.
  virtual void save(serialize::OutputArchive& archive) const;
  /// Reads what save or LibTorch has written. LibTorch's archives do not name the class; an option that this one lacks
  /// is an error. Throws Error when groups, parameters or shapes differ; nothing is changed then.
  virtual void load(serialize::InputArchive& archive);

 protected:
  virtual const char* name() const { return "Optimizer"; }
  StepCall call() const { return {name(), flat_}; }
  /// Creates the state of a parameter. load() needs it to restore states.
  virtual std::unique_ptr<OptimizerParamState> make_state() const { return nullptr; }
  template <class State>
  State& state_of(const Tensor& parameter) {
    auto& slot = state_[parameter.impl()];
    if (!slot) slot = make_state();
    return static_cast<State&>(*slot);
  }

  std::vector<OptimizerParamGroup> param_groups_;
  std::unordered_map<void*, std::unique_ptr<OptimizerParamState>> state_;
  std::unique_ptr<OptimizerOptions> defaults_;

 private:
  const FlatGradients* flat_ = nullptr;  // set within step_with
};

}  // namespace tandem::optim

/// The optimizer Name of NameOptions and NameParamState, composed of operations.
#define TANDEM_COMPOSED_OPTIMIZER(Name)                                                         \
  class Name : public Optimizer {                                                               \
   public:                                                                                      \
    explicit Name(const std::vector<OptimizerParamGroup>& groups, Name##Options defaults = {}); \
    explicit Name(std::vector<Tensor> params, Name##Options defaults = {});                     \
    Tensor step(LossClosure closure = nullptr) override;                                        \
                                                                                                \
   protected:                                                                                   \
    const char* name() const override { return #Name; }                                         \
    std::unique_ptr<OptimizerParamState> make_state() const override;                           \
  }
/// The same with a kernel of its own; Default is `= {}` or missing.
#define TANDEM_FUSED_OPTIMIZER(Name, Default)                                             \
  class Name : public Optimizer {                                                         \
   public:                                                                                \
    Name(const std::vector<OptimizerParamGroup>& groups, Name##Options defaults Default); \
    Name(std::vector<Tensor> params, Name##Options defaults Default);                     \
    Tensor step(LossClosure closure = nullptr) override;                                  \
    bool sums_gradients() const override;                                                 \
    bool can_be_replayed() const override { return true; }                                \
                                                                                          \
   protected:                                                                             \
    const char* name() const override { return #Name; }                                   \
    std::unique_ptr<OptimizerParamState> make_state() const override;                     \
  }
/// The first options of Adam and its relatives, and their constructor.
#define TANDEM_ADAM_ARGS(Name, default_lr)                \
  Name(double lr = default_lr) : lr_(lr) {}               \
  using Betas = std::tuple<double, double>;               \
  TANDEM_ARG(double, lr);                                 \
  TANDEM_ARG(Betas, betas) = std::make_tuple(0.9, 0.999); \
  TANDEM_ARG(double, eps) = 1e-8
