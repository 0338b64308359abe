// Loss and accuracy of a model on labelled pictures.
#pragma once
#include "tandem/datasets/image_data.h"
#include "tandem/tandem.h"

namespace tandem::cli {

struct Score {
  double loss = 0;      ///< mean cross entropy, nats an image
  double accuracy = 0;  ///< 0 to 1
};

/// Pictures as a model takes them: uint8 [N, H, W] → floating point [N, 1, H, W] in 0 to 1.
Tensor to_input(const Tensor& images);

/// On the model's device, in evaluation mode, in steps of `batch_size`, without a tape.
Score evaluate(nn::Sequential& model, const data::ImageData& data, int64_t batch_size);

}  // namespace tandem::cli
