// The batches of an epoch on the device that trains, wherever the data set lies.
#pragma once
#include <optional>
#include <vector>

#include "tandem/core/stream.h"
#include "tandem/datasets/device_feeder.h"
#include "tandem/datasets/image_loader.h"

namespace tandem::cli {

/// On the device, where it takes up no more than a quarter of what is free there.
data::ImageData placed(const data::ImageData& data, Device device);

class Batches {
 public:
  /// `side`: a stream that copies batches to a device on which the data set does not lie.
  Batches(const data::ImageData& data, const data::BatchLoaderOptions& options,
          const std::optional<Stream>& side);
  /// Images and labels; empty at the end.
  std::vector<Tensor> next();
  int64_t count() const { return count_; }

 private:
  std::optional<data::ImageLoader> images_;
  std::optional<data::BatchLoader> loader_;
  std::optional<data::DeviceFeeder> feeder_;
  int64_t count_ = 0;
};

}  // namespace tandem::cli
