// Flat parameters: all parameters of a module as views of one buffer, and all gradients of another, so that a
// step, a reduction or a broadcast is one pass over one array.
#pragma once
#include <string>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::nn {

class Module;

class FlatParameters {
 public:
  /// Moves the values of `parameters` to one buffer; each keeps its identity, shape and requires_grad.
  /// `alignment`: elements to which each begins. Throws Error unless there are parameters and all have one
  /// dtype and one device.
  explicit FlatParameters(std::vector<Tensor> parameters, int64_t alignment = 16);
  explicit FlatParameters(const Module& module, int64_t alignment = 16);

  /// [size]: all values, gaps of the alignment (always zero) included.
  const Tensor& data() const { return data_; }
  /// [size]: all gradients; call collect() after backward.
  const Tensor& grad() const { return grad_; }
  int64_t size() const { return data_.numel(); }
  const std::vector<Tensor>& parameters() const { return parameters_; }
  /// Where parameter i begins in data() and grad().
  int64_t offset(std::size_t i) const { return offsets_[i]; }

  /// Makes grad() hold every parameter's gradient, zeros where it has none, and each .grad() a view of it.
  /// What backward already added up in place costs nothing.
  void collect();
  /// Fills grad() with zeros and makes each .grad() a view of it, so that backward adds up there.
  void zero_grad();
  /// Whether all parameters still look at data(): Module.to and set_data end that.
  bool is_flat() const;
  /// One leaf [size] on data() whose .grad() is grad(): for an optimizer that treats all parameters alike.
  Tensor as_parameter() const;

 private:
  Tensor view(const Tensor& buffer, std::size_t i) const;
  std::vector<Tensor> parameters_;
  std::vector<int64_t> offsets_;
  Tensor data_, grad_;
};

}  // namespace tandem::nn
