// BatchNorm1d, BatchNorm2d and BatchNorm3d.
#pragma once
#include <functional>

#include "tandem/nn/layers/layer.h"
#include "tandem/nn/options/norm.h"

namespace tandem::nn {

/// One forward of a BatchNorm layer.
struct BatchNormCall {
  const Tensor &input, &weight, &bias, &running_mean, &running_var, &num_batches_tracked;
  bool training;  ///< uses, and tracks, the statistics of the batch
  optional<double> momentum;
  double eps;
};

/// Base of the three: y = (x - mean) / √(var + eps) · weight + bias per channel (dimension 1). Training uses
/// the mean and variance of the batch, evaluation the running ones if tracked (S. Ioffe, C. Szegedy: Batch
/// normalization. 2015).
template <class Derived>
class BatchNormImplBase : public Cloneable<Derived> {
 public:
  explicit BatchNormImplBase(const BatchNormOptions& options);
  void reset() override;
  void reset_running_stats();
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  /// Throws Error on an input with the wrong rank or number of channels.
  Tensor forward(const Tensor& input);
  /// For fuse(), which has folded this layer into the one before it, whose outputs have `rank` dimensions: drops
  /// parameters and buffers; forward now returns its input, and throws Error in training mode.
  void fold(int rank);

  BatchNormOptions options;
  /// [num_features] each; undefined without affine.
  Tensor weight, bias;
  /// [num_features], [num_features] and an int64 scalar; undefined without track_running_stats.
  Tensor running_mean, running_var, num_batches_tracked;
  /// Normalises checked input instead of the layer, if set: see distributed::convert_sync_batchnorm.
  std::function<Tensor(const BatchNormCall& call)> normalize;
  /// The rank given to fold(); 0: not folded.
  int folded_rank = 0;
};

/// [N, C] or [N, C, L].
TANDEM_DERIVED_LAYER(BatchNorm1d, BatchNormImplBase);
TANDEM_MODULE(BatchNorm1d);
/// [N, C, H, W].
TANDEM_DERIVED_LAYER(BatchNorm2d, BatchNormImplBase);
TANDEM_MODULE(BatchNorm2d);
/// [N, C, D, H, W].
TANDEM_DERIVED_LAYER(BatchNorm3d, BatchNormImplBase);
TANDEM_MODULE(BatchNorm3d);

}  // namespace tandem::nn
