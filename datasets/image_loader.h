// ImageLoader: one epoch of batches from images on the training device. One kernel gathers, converts and
// scales a batch; only the epoch's order is copied from the host, so there is nothing for BatchLoader's
// workers, pinned memory and transforms to do.
//
// Batch k has the same examples as with BatchLoader and the same options: they are a pure function of (seed,
// epoch, batch_size, number of examples).
#pragma once
#include <optional>

#include "tandem/core/base/exclusive.h"
#include "tandem/core/pixel_scale.h"
#include "tandem/datasets/image_data.h"
#include "tandem/datasets/loader.h"

namespace tandem::data {

class ImageLoader {
 public:
  struct Batch {
    Tensor images;  ///< float32 [n, 1, height, width], or [n, C, height, width] for images [N, C, …]
    Tensor labels;  ///< int64 [n]
  };

  /// `data`: uint8 images [N, height, width] or [N, C, height, width] and int64 labels [N] on one device.
  /// They are not copied, so do not modify them. Only the options batch_size, shuffle, drop_last, seed, epoch,
  /// first_batch and part are used. Throws Error on other dtypes or lengths and on options that BatchLoader
  /// refuses.
  ImageLoader(const ImageData& data, const BatchLoaderOptions& options, const PixelScale& pixels = {});

  /// The next batch; nullopt after the last. Only for one thread at a time, as in BatchLoader.
  std::optional<Batch> next();
  /// Number of batches in the epoch.
  int64_t batches() const { return batches_; }
  /// Index of the batch that next() will return.
  int64_t position() const { return position_; }

 private:
  Tensor images_, labels_, order_;
  Dims sizes_;  // of a batch; the first one is set per batch
  int64_t batch_size_, batches_, position_;
  BatchPart part_;
  PixelScale pixels_;
  Exclusive exclusive_;
};

}  // namespace tandem::data
