// Members that the normalisation layers register in common. Internal to their sources.
#pragma once
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/nn/init.h"
#include "tandem/nn/module.h"

namespace tandem::nn::detail {

/// Registers `weight` and `bias` of shape `shape`, uninitialised; undefined unless `affine`.
inline void register_affine(Module& layer, Tensor& weight, Tensor& bias, IntArrayRef shape, bool affine) {
  weight = layer.register_parameter("weight", affine ? tandem::empty(shape) : Tensor(), affine);
  bias = layer.register_parameter("bias", affine ? tandem::empty(shape) : Tensor(), affine);
}

/// Sets weight to 1 and bias to 0 if they are defined.
inline void reset_affine(Tensor& weight, Tensor& bias) {
  if (!weight.defined()) return;
  init::ones_(weight);
  init::zeros_(bias);
}

/// For a layer with num_features() and track_running_stats(): registers running_mean = 0 and running_var = 1,
/// both [features], and num_batches_tracked; all undefined if nothing is tracked.
template <class Layer>
void register_running_stats(Layer& layer) {
  const int64_t n = layer.options.num_features();
  const bool track = layer.options.track_running_stats();
  layer.running_mean = layer.register_buffer("running_mean", track ? zeros({n}) : Tensor());
  layer.running_var = layer.register_buffer("running_var", track ? ones({n}) : Tensor());
  layer.num_batches_tracked =
      layer.register_buffer("num_batches_tracked", track ? zeros({}, TensorOptions(kLong)) : Tensor());
}

}  // namespace tandem::nn::detail
