// Loss and accuracy of a model on labelled images.
#pragma once
#include "tandem/cli/image_set.h"
#include "tandem/nn/sequential.h"

namespace tandem::cli {

struct Score {
  double loss = 0;      ///< mean cross entropy, nats per image
  double accuracy = 0;  ///< 0 to 1
};

/// Converts images to model input: uint8 [N, H, W] or [N, C, H, W] → float32 [N, 1 or C, H, W] in 0 to 1.
Tensor to_input(const Tensor& images);

/// Images of this shape (channels, height, width) to evaluate at a time: 1000 of up to 32 x 32 pixels, fewer of larger ones.
int64_t evaluation_batch(const std::vector<int64_t>& shape);

/// Evaluates on the model's device, in evaluation mode, in batches of `batch_size`, without recording
/// gradients. Leaves the model in training mode.
Score evaluate(nn::Sequential& model, const ImageSet& data, int64_t batch_size);

}  // namespace tandem::cli
