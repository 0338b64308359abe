#include "tandem/nn/quantizable.h"

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/linalg/quantized_linear.h"
#include "tandem/autograd/ops/nn/embedding.h"

namespace tandem::nn {
namespace {

void check_evaluates(const Module& layer) {
  check(!layer.is_training(), layer.name(),
        ": nn::quantize_weights has made its weight int8, so it cannot train; call eval(), or train the model "
        "before it is quantised");
}

}  // namespace

void Quantizable::hold_int8(Tensors& parameters, Tensors& buffers, Tensor& weight, const Tensor& values,
                            const Tensor& scales) {
  if (parameters.contains("weight")) parameters.erase("weight");
  weight = Tensor();
  weight_int8 = values;
  weight_scale = scales;
  for (const auto& [name, tensor] : {std::pair("weight_int8", values), std::pair("weight_scale", scales)}) {
    if (buffers.contains(name)) buffers.erase(name);
    buffers.insert(name, tensor);
  }
}

void Quantizable::reset_int8(Tensors& parameters, Tensors& buffers, Tensor& weight) {
  hold_int8(parameters, buffers, weight, zeros_like(weight_int8), zeros_like(weight_scale));
}

Tensor Quantizable::int8_product(const Module& layer, const Tensor& input, const Tensor& bias) const {
  check_evaluates(layer);
  return autograd::quantized_linear(input, weight_int8, weight_scale, bias);
}

Tensor Quantizable::int8_rows(const Module& layer, const Tensor& indices) const {
  check_evaluates(layer);
  return autograd::dequantize({embedding(weight_int8, indices), embedding(weight_scale, indices)});
}

std::string Quantizable::int8_text() const {
  return concat("int8 in groups of ", autograd::group_size(weight_int8.size(1), weight_scale.size(1)));
}

}  // namespace tandem::nn
