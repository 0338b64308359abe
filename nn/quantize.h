// quantize_weights: replaces the weights of a model in evaluation mode by integers of one byte. The model then needs a
// quarter of the memory. Products limited by reading the weights (one row: the next token of a text) take a third of
// the time, with four rows about half of it, and with many rows as long as before.
//
//   auto net = models::gpt2();
//   serialize::load_safetensors(*net, "gpt2");
//   net->eval();
//   nn::quantize_weights(net);
//
// A weight [N, K] becomes int8 values [N, K] and, per group of at most `group` neighbours in a row, a scale:
//
//   scale = max |w| / 127,   value = w / scale, rounded to the nearest integer, ties to even.
//
// The inputs and sums stay float32 (or a half type, after to()): no calibration is needed. The changed layers are
// Linear, Embedding, and those of models/ that derive from Quantizable (Conv1D, GPT2Head); layers that share a weight
// also share its values and scales. Their `weight` is undefined from then on: code that reads it, instead of calling
// the layer, no longer works. All parameters of the model stop requiring gradients; in training mode its layers throw.
//
// A state dict of a quantised model has weight_int8 and weight_scale in place of weight. It loads into a model of the
// same kind that has been quantised with the same group; quantize_like prepares one for it.
#pragma once
#include <string>
#include <vector>

#include "tandem/nn/module_holder.h"

namespace tandem::nn {

struct QuantizeOptions {
  /// Bits of a value; only 8 is supported.
  int64_t bits = 8;
  /// Values that share a scale, at most: a row of K has ⌈K / group⌉ groups of equal size, but for the last.
  int64_t group = 64;
};

struct QuantizeResult {
  struct LeftAlone {
    std::string name;    ///< of a parameter with two or more dimensions
    std::string reason;  ///< such as "not the weight of a linear layer or an embedding"
  };
  std::vector<std::string> converted;  ///< full names of the layers
  std::vector<LeftAlone> left_alone;
};

/// Changes the model in place; clone() it first to keep the original. Throws Error, before any change, for options out
/// of range and if the model or a module in it is in training mode. A layer that is already quantised stays as it is.
QuantizeResult quantize_weights(Module& model, const QuantizeOptions& options = {});
template <class M>
QuantizeResult quantize_weights(const ModuleHolder<M>& model, const QuantizeOptions& options = {}) {
  return quantize_weights(static_cast<Module&>(*model.ptr()), options);
}

/// Gives the layers of `model` for which `state` has a NAME.weight_int8 and a NAME.weight_scale such weights, all 0, so
/// that load_state_dict(state) fits. Layers that share a weight share the new one. Throws Error if shapes differ, or if
/// the layer cannot have such a weight.
void quantize_like(Module& model, const OrderedDict<std::string, Tensor>& state);
template <class M>
void quantize_like(const ModuleHolder<M>& model, const OrderedDict<std::string, Tensor>& state) {
  quantize_like(static_cast<Module&>(*model.ptr()), state);
}

}  // namespace tandem::nn
