// Resampling, patch extraction and distance layers.
#include "tandem/nn/layers/image.h"

#include <ostream>

#include "tandem/nn/functional/image.h"

namespace tandem::nn {

Tensor UpsampleImpl::forward(const Tensor& input) {
  return functional::interpolate(input, functional::InterpolateFuncOptions()
                                            .size(options.size())
                                            .scale_factor(options.scale_factor())
                                            .mode(options.mode())
                                            .align_corners(options.align_corners()));
}
void UpsampleImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::Upsample()"; }
Tensor PixelShuffleImpl::forward(const Tensor& input) { return functional::pixel_shuffle(input, options); }
void PixelShuffleImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::PixelShuffle(upscale_factor=" << options.upscale_factor() << ")";
}
Tensor PixelUnshuffleImpl::forward(const Tensor& input) {
  return functional::pixel_unshuffle(input, options);
}
void PixelUnshuffleImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::PixelUnshuffle(downscale_factor=" << options.downscale_factor() << ")";
}
Tensor UnfoldImpl::forward(const Tensor& input) { return functional::unfold(input, options); }
void UnfoldImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::Unfold(kernel_size=" << concat(options.kernel_size()) << ")";
}
Tensor FoldImpl::forward(const Tensor& input) { return functional::fold(input, options); }
void FoldImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::Fold(output_size=" << concat(options.output_size())
         << ", kernel_size=" << concat(options.kernel_size()) << ")";
}
Tensor CosineSimilarityImpl::forward(const Tensor& x1, const Tensor& x2) {
  return functional::cosine_similarity(x1, x2, options);
}
void CosineSimilarityImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::CosineSimilarity()";
}
Tensor PairwiseDistanceImpl::forward(const Tensor& x1, const Tensor& x2) {
  return functional::pairwise_distance(x1, x2, options);
}
void PairwiseDistanceImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::PairwiseDistance()";
}

}  // namespace tandem::nn
