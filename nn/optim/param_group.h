// What an optimizer keeps per parameter group (its options) and per parameter (its state).
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tandem/core/arg.h"
#include "tandem/core/tensor.h"

namespace tandem::serialize {
class InputArchive;
class OutputArchive;
}  // namespace tandem::serialize

namespace tandem::optim {

/// A named option or state entry, for saving. Exactly one of the pointers is set.
struct Field {
  const char* name;
  double* number = nullptr;
  bool* flag = nullptr;
  int64_t* count = nullptr;
  Tensor* tensor = nullptr;
};

/// Options of a parameter group. A program's own options derive from OptimizerCloneableOptions; to be saved, they
/// override fields() or both serialize().
class OptimizerOptions {
 public:
  OptimizerOptions() = default;
  OptimizerOptions(const OptimizerOptions&) = default;
  OptimizerOptions(OptimizerOptions&&) = default;
  OptimizerOptions& operator=(const OptimizerOptions&) = default;
  OptimizerOptions& operator=(OptimizerOptions&&) = default;
  virtual ~OptimizerOptions() = default;
  /// These three throw Error unless overridden.
  virtual std::unique_ptr<OptimizerOptions> clone() const;
  virtual double get_lr() const;
  virtual void set_lr(const double lr);
  virtual std::vector<Field> fields() { return {}; }
  /// Writes or reads the fields.
  virtual void serialize(serialize::OutputArchive& archive) const;
  virtual void serialize(serialize::InputArchive& archive);
  /// Throws Error on an invalid value.
  virtual void validate() const {}
  /// Options as a default constructor leaves them; null without one.
  virtual std::unique_ptr<OptimizerOptions> fresh() const { return nullptr; }
};
/// Whether two options have the same type and save the same values. Throws Error for options that save none.
bool operator==(const OptimizerOptions& a, const OptimizerOptions& b);
// clone() and fresh() do not call make_unique<Derived>: it costs every program 14 ms of compile time per class,
// used or not.
template <class Derived>
class OptimizerCloneableOptions : public OptimizerOptions {
 public:
  std::unique_ptr<OptimizerOptions> clone() const override {
    return std::unique_ptr<OptimizerOptions>(new Derived(static_cast<const Derived&>(*this)));
  }
  double get_lr() const override {
    if constexpr (requires(const Derived& options) { static_cast<double>(options.lr()); })
      return static_cast<const Derived&>(*this).lr();
    else
      return OptimizerOptions::get_lr();
  }
  void set_lr(const double lr) override {
    if constexpr (requires(Derived & options) { options.lr(lr); })
      static_cast<Derived&>(*this).lr(lr);
    else
      OptimizerOptions::set_lr(lr);
  }
  std::unique_ptr<OptimizerOptions> fresh() const override {
    if constexpr (std::is_default_constructible_v<Derived>)
      return std::unique_ptr<OptimizerOptions>(new Derived());
    else
      return nullptr;
  }
};

/// The state an optimizer keeps for one parameter. To be saved, it overrides fields() or both serialize().
class OptimizerParamState {
 public:
  OptimizerParamState() = default;
  OptimizerParamState(const OptimizerParamState&) = default;
  OptimizerParamState(OptimizerParamState&&) = default;
  OptimizerParamState& operator=(const OptimizerParamState&) = default;
  OptimizerParamState& operator=(OptimizerParamState&&) = default;
  virtual ~OptimizerParamState() = default;
  /// Throws Error unless overridden.
  virtual std::unique_ptr<OptimizerParamState> clone() const;
  virtual std::vector<Field> fields() { return {}; }
  /// Writes or reads the fields; undefined tensors are left out.
  virtual void serialize(serialize::OutputArchive& archive) const;
  virtual void serialize(serialize::InputArchive& archive);
};
/// The same for states.
bool operator==(const OptimizerParamState& a, const OptimizerParamState& b);
template <class Derived>
class OptimizerCloneableParamState : public OptimizerParamState {
 public:
  std::unique_ptr<OptimizerParamState> clone() const override {
    return std::unique_ptr<OptimizerParamState>(new Derived(static_cast<const Derived&>(*this)));
  }
};

class OptimizerParamGroup {
 public:
  OptimizerParamGroup(std::vector<Tensor> params) : params_(std::move(params)) {}
  OptimizerParamGroup(std::vector<Tensor> params, std::unique_ptr<OptimizerOptions> options)
      : params_(std::move(params)), options_(std::move(options)) {}
  OptimizerParamGroup(const OptimizerParamGroup& other)
      : params_(other.params_),
        options_(other.options_ ? other.options_->clone() : nullptr),
        initial_lr_(other.initial_lr_) {}
  OptimizerParamGroup(OptimizerParamGroup&&) = default;
  OptimizerParamGroup& operator=(OptimizerParamGroup&&) = default;

  bool has_options() const { return options_ != nullptr; }
  /// Throws Error when the group has no options.
  OptimizerOptions& options() const {
    check(has_options(), "the parameter group has no options");
    return *options_;
  }
  void set_options(std::unique_ptr<OptimizerOptions> options) { options_ = std::move(options); }
  /// The rate from which schedulers compute theirs: that at the construction of the first one.
  optional<double>& initial_lr() noexcept { return initial_lr_; }
  std::vector<Tensor>& params() { return params_; }
  const std::vector<Tensor>& params() const { return params_; }

 private:
  std::vector<Tensor> params_;
  std::unique_ptr<OptimizerOptions> options_;
  optional<double> initial_lr_;
};

}  // namespace tandem::optim
