// Upsample, PixelShuffle, PixelUnshuffle, Unfold, Fold; CosineSimilarity, PairwiseDistance.
#pragma once
#include "tandem/nn/layers/activation.h"
#include "tandem/nn/options/distance.h"
#include "tandem/nn/options/image.h"

namespace tandem::nn {

class UpsampleImpl : public detail::Optioned<UpsampleImpl, UpsampleOptions> {
 public:
  explicit UpsampleImpl(const UpsampleOptions& options_ = {}) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(Upsample);

class PixelShuffleImpl : public detail::Optioned<PixelShuffleImpl, PixelShuffleOptions> {
 public:
  explicit PixelShuffleImpl(const PixelShuffleOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(PixelShuffle);

class PixelUnshuffleImpl : public detail::Optioned<PixelUnshuffleImpl, PixelUnshuffleOptions> {
 public:
  explicit PixelUnshuffleImpl(const PixelUnshuffleOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(PixelUnshuffle);

/// Extracts patches: [N, C, H, W] → [N, C kernel, positions].
class UnfoldImpl : public detail::Optioned<UnfoldImpl, UnfoldOptions> {
 public:
  UnfoldImpl(ExpandingArray<2> kernel_size) : UnfoldImpl(UnfoldOptions(kernel_size)) {}
  explicit UnfoldImpl(const UnfoldOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(Unfold);

/// The reverse of Unfold; overlapping patches are summed.
class FoldImpl : public detail::Optioned<FoldImpl, FoldOptions> {
 public:
  FoldImpl(ExpandingArray<2> output_size, ExpandingArray<2> kernel_size)
      : FoldImpl(FoldOptions(output_size, kernel_size)) {}
  explicit FoldImpl(const FoldOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(Fold);

class CosineSimilarityImpl : public detail::Optioned<CosineSimilarityImpl, CosineSimilarityOptions> {
 public:
  explicit CosineSimilarityImpl(const CosineSimilarityOptions& options_ = {}) : Optioned(options_) {}
  Tensor forward(const Tensor& x1, const Tensor& x2);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(CosineSimilarity);

class PairwiseDistanceImpl : public detail::Optioned<PairwiseDistanceImpl, PairwiseDistanceOptions> {
 public:
  explicit PairwiseDistanceImpl(const PairwiseDistanceOptions& options_ = {}) : Optioned(options_) {}
  Tensor forward(const Tensor& x1, const Tensor& x2);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(PairwiseDistance);

}  // namespace tandem::nn
