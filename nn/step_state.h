// Host-side state that a step changes: saved before a recording or a replay, restored on failure.
#pragma once
#include <string>
#include <vector>

#include "tandem/nn/optim/optimizer.h"

namespace tandem::detail {

/// Step counts, state tensors and options of optimizers (not the tensors' values).
class OptimizerSnapshot {
 public:
  explicit OptimizerSnapshot(const std::vector<optim::Optimizer*>& optimizers);
  /// Restores the optimizers; state created since is removed.
  void restore() const;
  /// Why a recording that ran since cannot be used, such as "creates optimizer state" or "changes an
  /// optimizer's options"; "" if it can.
  std::string forbidden_change() const;

 private:
  struct Value {
    double number = 0;
    int64_t count = 0;
    bool flag = false;
    Tensor tensor;
  };
  struct Parameter {
    std::size_t optimizer;
    void* key;
    std::vector<Value> values;
  };
  static std::vector<Value> read(const std::vector<optim::Field>& fields);
  static void write(const std::vector<optim::Field>& fields, const std::vector<Value>& values);

  const std::vector<optim::Optimizer*>& optimizers_;
  std::vector<Parameter> parameters_;
  std::vector<std::vector<Value>> options_;  // per group of each optimizer
};

/// The gradients of `parameters`.
std::vector<Tensor> gradients_of(const std::vector<Tensor>& parameters);
/// Sets the gradients that differ.
void set_gradients(const std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients);

}  // namespace tandem::detail
