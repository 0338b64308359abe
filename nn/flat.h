// Flat parameters: all parameters of a module as views of one buffer and all gradients as views of another,
// so an optimizer step, a reduction or a broadcast is a single pass over one array.
#pragma once
#include <string>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::nn {

class Module;

class FlatParameters {
 public:
  /// Moves the values of `parameters` into one buffer; each parameter keeps its identity, shape and
  /// requires_grad. Each one starts at a multiple of `alignment` elements. Throws Error unless there is at
  /// least one parameter and all share one dtype and one device.
  explicit FlatParameters(std::vector<Tensor> parameters, int64_t alignment = 16);
  explicit FlatParameters(const Module& module, int64_t alignment = 16);

  /// [size]: all values, including the alignment gaps (always zero).
  const Tensor& data() const { return data_; }
  /// [size]: all gradients; call collect() after backward.
  const Tensor& grad() const { return grad_; }
  int64_t size() const { return data_.numel(); }
  const std::vector<Tensor>& parameters() const { return parameters_; }
  /// Offset of parameter i in data() and grad().
  int64_t offset(std::size_t i) const { return offsets_[i]; }

  /// Fills grad() with every parameter's gradient (zeros where it has none) and makes each .grad() a view of
  /// it. Gradients that backward accumulated in place are not copied.
  void collect();
  /// Fills grad() with zeros and makes each .grad() a view of it, so backward accumulates into grad().
  void zero_grad();
  /// Whether all parameters are still views of data(). Module.to and set_data end that.
  bool is_flat() const;
  /// A leaf [size] that shares data() and has grad() as its .grad(): for an optimizer that treats all
  /// parameters alike.
  Tensor as_parameter() const;

 private:
  Tensor view(const Tensor& buffer, std::size_t i) const;
  std::vector<Tensor> parameters_;
  std::vector<int64_t> offsets_;
  Tensor data_, grad_;
};

}  // namespace tandem::nn
