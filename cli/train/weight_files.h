// Weights in PyTorch's .pt files, safetensors and ONNX models. Without libzip not the first.
#pragma once
#include <string>

#include "tandem/autograd/ivalue.h"
#include "tandem/core/base/ordered_dict.h"

namespace tandem::cli {

/// What is in a .pt file. Throws Error if this program was built without libzip.
IValue read_pt(const std::string& path);
/// The tensors of a state dict of either kind, or of an ONNX model: see serialize::read_weights, read_onnx_state.
OrderedDict<std::string, Tensor> read_state(const std::string& path, const std::string& key);
void write_pt(const std::string& path, const OrderedDict<std::string, Tensor>& state);

/// The number of values in all tensors, a double because files may claim any sizes.
inline double value_count(const OrderedDict<std::string, Tensor>& state) {
  double count = 0;
  for (const auto& item : state) count += static_cast<double>(item.value().numel());
  return count;
}

}  // namespace tandem::cli
