// Labels are converted to int64, which losses and one_hot require; images stay bytes until they are used.
#include "tandem/datasets/image_data.h"

#include <algorithm>
#include <vector>

#include "tandem/core/error.h"
#include "tandem/datasets/idx.h"

namespace tandem::data {
namespace {

// A wrong label makes a model of classes that nothing is ever in. Labels may begin at 1.
void check_each_class_occurs(const ImageData& data, const std::string& path) {
  std::vector<bool> occurs(static_cast<std::size_t>(data.classes));
  const int64_t* labels = data.labels.data_ptr<int64_t>();
  for (int64_t i = 0; i < data.labels.numel(); ++i) occurs[static_cast<std::size_t>(labels[i])] = true;
  const auto missing = std::find(std::find(occurs.begin(), occurs.end(), true), occurs.end(), false);
  if (missing == occurs.end()) return;
  fail(path, ": label ", data.classes - 1, " occurs, but label ", missing - occurs.begin(),
       " does not; if that is right, name the classes in classes.txt, one in each line");
}

}  // namespace

ImageData read_image_data(const std::string& images_path, const std::string& labels_path) {
  ImageData data;
  data.images = read_idx(images_path);
  check(data.images.dtype() == kUInt8 && data.images.dim() == 3, images_path,
        ": expected images, uint8 [count, height, width]; got ", data.images);
  const Tensor labels = read_idx(labels_path);
  check(labels.dtype() == kUInt8 && labels.dim() == 1, labels_path, ": expected labels, uint8 [count]; got ", labels);
  check(labels.numel() == data.images.size(0), labels_path, ": ", labels.numel(), " labels for the ",
        data.images.size(0), " images of ", images_path);
  check(data.images.numel() > 0, images_path, ": the file contains no images, sizes ", data.images.sizes());
  data.labels = labels.to(kInt64);
  const uint8_t* first = labels.data_ptr<uint8_t>();
  data.classes = 1 + int64_t{*std::max_element(first, first + labels.numel())};
  return data;
}

ImageDataPair read_image_data(const DatasetFiles& files) {
  ImageDataPair pair{read_image_data(files.train_images, files.train_labels),
                     read_image_data(files.test_images, files.test_labels)};
  const Tensor &train = pair.train.images, &test = pair.test.images;
  check(train.size(1) == test.size(1) && train.size(2) == test.size(2), files.folder, ": training images are ",
        train.size(1), " x ", train.size(2), ", test images ", test.size(1), " x ", test.size(2));
  check(pair.test.classes <= pair.train.classes, files.test_labels, ": label ", pair.test.classes - 1,
        " does not occur in the training data; the largest training label is ", pair.train.classes - 1);
  const auto names = static_cast<int64_t>(files.classes.size());
  check(names == 0 || pair.train.classes <= names, files.train_labels, ": label ", pair.train.classes - 1,
        " has no name: there are ", names, " class names");
  if (names == 0) check_each_class_occurs(pair.train, files.train_labels);
  return pair;
}

}  // namespace tandem::data
