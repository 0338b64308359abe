// Random changes of training images, which --augment names:
//
//   none
//   flip           mirrors half of the images left to right
//   crop           also shifts each by up to an eighth of its size
//   resized-crop   a rectangle of any size and shape, resized; mirrors half of them
//   randaugment    also two of fourteen changes of shape and colour; images that are in memory are shifted, not resized
//
// The first three change a whole batch on its device, the others each image in the loader's workers.
#pragma once
#include <optional>

#include "tandem/cli/train/recipe.h"
#include "tandem/datasets/vision/transforms.h"

namespace tandem::cli {

/// Training images [N, C, H, W], changed as recipe.augment says, if it changes batches, with random numbers from the
/// default generator.
Tensor augmented(const Recipe& recipe, const Tensor& images);

/// Whether recipe.augment changes images one by one.
bool changes_each_image(const Recipe& recipe);
/// How it changes uint8 images, which become square if they come from files; nullopt if it does not.
std::optional<vision::transforms::Compose> image_transform(const Recipe& recipe, vision::ImageSize size,
                                                           bool from_files);

}  // namespace tandem::cli
