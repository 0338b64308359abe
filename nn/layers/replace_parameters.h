// Replaces the weight and bias of a layer. Internal to the sources of the layers.
#pragma once
#include <string>

#include "tandem/core/base/ordered_dict.h"
#include "tandem/core/tensor.h"

namespace tandem::nn::detail {

/// Not in place: the old tensors may be those of other layers, too.
inline void replace_parameters(OrderedDict<std::string, Tensor>& parameters, Tensor& weight, const Tensor& new_weight,
                               Tensor& bias, const Tensor& new_bias) {
  const bool trained = weight.requires_grad();
  weight = parameters["weight"] = new_weight.detach().requires_grad_(trained);
  bias = parameters["bias"] = new_bias.detach().requires_grad_(trained);
}

}  // namespace tandem::nn::detail
