// Loss and accuracy of a model on labelled images, or on windows of tokens [N, T] with the tokens that follow.
#pragma once
#include <memory>

#include "tandem/autograd/autocast.h"
#include "tandem/cli/data/image_set.h"
#include "tandem/cli/train/recipe.h"
#include "tandem/nn/sequential.h"

namespace tandem::cli {

struct Score {
  double loss = 0;      ///< mean cross entropy, nats per image or token
  double accuracy = 0;  ///< 0 to 1
};

/// Converts images to model input: uint8 [N, H, W] or [N, C, H, W] → float32 [N, 1 or C, H, W] in 0 to 1;
/// tokens [N, T] → int64.
Tensor to_input(const Tensor& images);

/// The cross entropy of scores [N, classes] for labels [N], or of [N, T, tokens] for [N, T], which may be of any
/// integer type. Reduction::None: one value for each row, the mean of its tokens.
Tensor cross_entropy_of(const Tensor& output, const Tensor& labels, Reduction reduction, double label_smoothing = 0);
/// Which labels have the largest score: bool, as many as labels.
Tensor correct_in(const Tensor& output, const Tensor& labels);

/// While the result is alive, this thread's forward passes on the device compute in the recipe's precision. Null for
/// fp32 and tf32, which are this process's setting from here on.
[[nodiscard]] std::unique_ptr<autocast::AutocastGuard> in_precision(const Recipe& recipe, Device device);

/// Whether a GPU computes the model faster channels-last: in a half type, if most convolutions have channels in eights,
/// as tensor cores take them.
bool is_faster_channels_last(const nn::Module& model, const Recipe& recipe);
/// Lays out such a model on a GPU so. Then all images between the layers are channels-last, too.
void choose_layout(nn::Module& model, const Recipe& recipe, Device device);

/// The model's output for images or tokens on its device, in evaluation mode. On a CPU, images go through it in pieces
/// whose values stay in the caches: the bits of an image's output do not depend on the others (core/formulas/sum_order.h).
Tensor output_of(nn::SequentialImpl& model, const Tensor& images);

/// Examples to evaluate at a time: 1000 images of up to 32 x 32 pixels, fewer of larger ones, or about 2048 tokens.
int64_t evaluation_batch(const ImageSet& data);

/// Evaluates on the model's device, in evaluation mode, in batches of `batch_size`, without recording
/// gradients. Leaves the model in training mode.
Score evaluate(nn::Sequential& model, const ImageSet& data, int64_t batch_size);

}  // namespace tandem::cli
