// A layer whose weight can be integers of one byte, with a scale per group: see nn/quantize.h.
#pragma once
#include <string>

#include "tandem/nn/module.h"

namespace tandem::nn {

/// Base of the layers that nn::quantize_weights changes. They have a parameter `weight`, or in its place the buffers
/// weight_int8 and weight_scale.
class Quantizable {
 public:
  /// int8 [N, K] and floating point [N, G] (autograd/ops/linalg/quantized_linear.h); undefined with a float weight.
  Tensor weight_int8, weight_scale;

  bool is_quantized() const { return weight_int8.defined(); }
  /// The parameter as a matrix [N, K], a view of it. Row n gives output n, or is entry n of a table.
  virtual Tensor weight_rows() const = 0;
  /// Takes the values and scales, which may be those of other layers, too, in place of `weight`.
  virtual void quantize(const Tensor& values, const Tensor& scales) = 0;

 protected:
  using Tensors = OrderedDict<std::string, Tensor>;

  ~Quantizable() = default;
  /// What quantize() does; all are the layer's own.
  void hold_int8(Tensors& parameters, Tensors& buffers, Tensor& weight, const Tensor& values, const Tensor& scales);
  /// What reset() does for the weight of a quantised layer: new values and scales, all 0.
  void reset_int8(Tensors& parameters, Tensors& buffers, Tensor& weight);
  /// The forward of a linear layer and of a table. `layer` is this object. Throws Error in training mode.
  Tensor int8_product(const Module& layer, const Tensor& input, const Tensor& bias) const;
  Tensor int8_rows(const Module& layer, const Tensor& indices) const;
  /// "int8 in groups of 64".
  std::string int8_text() const;
};

}  // namespace tandem::nn
