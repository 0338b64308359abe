// The batches of an epoch on the training device, wherever the data set is stored.
#pragma once
#include <optional>
#include <vector>

#include "tandem/cli/data/image_set.h"
#include "tandem/cli/train/recipe.h"
#include "tandem/core/stream.h"
#include "tandem/datasets/device_feeder.h"
#include "tandem/datasets/loader.h"

namespace tandem::cli {

/// Copies the data to the device, unless that is a GPU and would take more than a quarter of its free memory, or they
/// are in files, or tokens.
ImageSet placed(const ImageSet& data, Device device);
/// The same for training images, which stay on the host if the recipe changes them one by one.
ImageSet placed_for(const Recipe& recipe, const ImageSet& data, Device device);

class Batches {
 public:
  /// Changes images one by one as the recipe says. `side`: a stream that copies batches to a device that does not hold
  /// the data set.
  Batches(const ImageSet& data, const Recipe& recipe, const data::BatchLoaderOptions& options,
          const std::optional<Stream>& side);
  /// Images and labels; empty at the end of the epoch.
  std::vector<Tensor> next();
  int64_t count() const { return loader_->batches(); }

 private:
  std::optional<data::BatchLoader> loader_;
  std::optional<data::DeviceFeeder> feeder_;
};

}  // namespace tandem::cli
