// A data set of labelled images as read from its files: bytes, not yet scaled.
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

/// Reads two IDX files and checks that they match. Throws Error that names the file if images are not uint8
/// of rank 3, labels are not uint8 of rank 1, the counts differ, or there are no images.
ImageData read_image_data(const std::string& images_path, const std::string& labels_path);

/// Reads both parts of a data set. Also throws Error if their images differ in size, a test label is above
/// every training label, or there are more labels than class names in files.classes; without names, if a label between
/// others does not occur in the training data.
ImageDataPair read_image_data(const DatasetFiles& files);

}  // namespace tandem::data
