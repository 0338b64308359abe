// A data set of pictures with labels as it comes from its files: bytes, not yet scaled.
#pragma once
#include <string>

#include "tandem/core/tensor.h"
#include "tandem/datasets/sources.h"

namespace tandem::data {

struct ImageData {
  Tensor images;        ///< uint8 [N, height, width] on the CPU
  Tensor labels;        ///< int64 [N], 0 to classes - 1
  int64_t classes = 0;  ///< one more than the largest label
};

struct ImageDataPair {
  ImageData train, test;
};

/// Reads two IDX files and checks them against each other. Throws Error naming the file: images that are not
/// uint8 of rank 3, labels that are not uint8 of rank 1, unequal counts, no image at all.
ImageData read_image_data(const std::string& images_path, const std::string& labels_path);

/// Both parts of a data set. Throws Error also when their pictures differ in size, a test label is above
/// every training label, or there are more labels than files.classes names (where it names any).
ImageDataPair read_image_data(const DatasetFiles& files);

}  // namespace tandem::data
