// Linear, Bilinear, Identity, Flatten, Unflatten.
#pragma once
#include "tandem/nn/layers/fused_activation.h"
#include "tandem/nn/layers/layer.h"
#include "tandem/nn/options/linear.h"
#include "tandem/nn/quantizable.h"

namespace tandem::nn {

/// y = x weightᵀ + bias: x [..., in], weight [out, in], bias [out]. Weight and bias are initialised uniformly
/// in ±1/√in.
class LinearImpl : public Cloneable<LinearImpl>, public Quantizable {
 public:
  LinearImpl(int64_t in_features, int64_t out_features) : LinearImpl(LinearOptions(in_features, out_features)) {}
  explicit LinearImpl(const LinearOptions& options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  /// Gives the layer other values, of the same shapes, in new tensors; it has a bias from then on.
  void replace(const Tensor& new_weight, const Tensor& new_bias);
  Tensor weight_rows() const override { return weight; }
  void quantize(const Tensor& values, const Tensor& scales) override;

  LinearOptions options;
  Tensor weight, bias;
  /// Applied to the output; set by fuse().
  FusedActivation fused = FusedActivation::kIdentity;
};
TANDEM_MODULE(Linear);

/// y = x1 weight x2 + bias for each output: weight [out, in1, in2]. Both start uniform in ±1/√in1.
class BilinearImpl : public Cloneable<BilinearImpl> {
 public:
  BilinearImpl(int64_t in1_features, int64_t in2_features, int64_t out_features)
      : BilinearImpl(BilinearOptions(in1_features, in2_features, out_features)) {}
  explicit BilinearImpl(const BilinearOptions& options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input1, const Tensor& input2);

  BilinearOptions options;
  Tensor weight, bias;
};
TANDEM_MODULE(Bilinear);
TANDEM_PLAIN_LAYER(Identity);
TANDEM_MODULE(Identity);

/// Merges dimensions start_dim to end_dim into one; by default all but the batch dimension.
TANDEM_LAYER(Flatten, Optioned, = {}, const Tensor& input);
TANDEM_MODULE(Flatten);

class UnflattenImpl : public Cloneable<UnflattenImpl> {
 public:
  UnflattenImpl(int64_t dim, std::vector<int64_t> sizes) : UnflattenImpl(UnflattenOptions(dim, std::move(sizes))) {}
  explicit UnflattenImpl(UnflattenOptions options_) : options(std::move(options_)) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  UnflattenOptions options;
};
TANDEM_MODULE(Unflatten);

}  // namespace tandem::nn
