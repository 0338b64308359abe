// What a step changes on the host's side: kept before a recording or a replay, put back where it fails.
#pragma once
#include <string>
#include <vector>

#include "tandem/nn/optim/optimizer.h"

namespace tandem::cuda::detail {

/// Step counts, state tensors and options of optimizers (not the tensors' values).
class OptimizerSnapshot {
 public:
  explicit OptimizerSnapshot(const std::vector<optim::Optimizer*>& optimizers);
  /// The optimizers are again what they were; states made since are gone.
  void restore() const;
  /// What forbids a recording that ran since: "makes the state of an optimizer", "changes an optimizer's
  /// options"; "" otherwise.
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
  std::vector<std::vector<Value>> options_;  // of each group of each optimizer
};

/// Gradients of parameters.
std::vector<Tensor> gradients_of(const std::vector<Tensor>& parameters);
/// Puts them in place where they are others.
void set_gradients(const std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients);

}  // namespace tandem::cuda::detail
