// ImageLoader: one epoch of batches of pictures that lie on the device which trains: gathered, converted and
// scaled by one kernel, nothing copied from the host but the epoch's order.
//
// Batch k holds the examples that BatchLoader gives for the same options: a pure function of (seed, epoch,
// batch_size, number of examples).
#pragma once
#include <optional>

#include "tandem/core/exclusive.h"
#include "tandem/core/pixel_scale.h"
#include "tandem/datasets/image_data.h"
#include "tandem/datasets/loader.h"

namespace tandem::data {

class ImageLoader {
 public:
  struct Batch {
    Tensor images;  ///< float32 [n, 1, height, width], or [n, C, height, width] of pictures [N, C, …]
    Tensor labels;  ///< int64 [n]
  };

  /// `data`: uint8 images [N, height, width] or [N, C, height, width] and int64 labels [N] on one device, not
  /// copied: leave them unchanged. Of the options batch_size, shuffle, drop_last, seed, epoch and first_batch
  /// count. Throws Error on other dtypes or lengths and on options that BatchLoader refuses.
  ImageLoader(const ImageData& data, const BatchLoaderOptions& options, const PixelScale& pixels = {});

  /// For one thread at a time, as BatchLoader's.
  std::optional<Batch> next();
  /// Of the whole epoch.
  int64_t batches() const { return batches_; }
  /// The number of the batch that next() gives.
  int64_t position() const { return position_; }

 private:
  Tensor images_, labels_, order_;
  Dims sizes_;  // of a batch; the first is set for each
  int64_t batch_size_, batches_, position_;
  PixelScale pixels_;
  Exclusive exclusive_;
};

}  // namespace tandem::data
