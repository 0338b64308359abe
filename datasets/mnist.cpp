// Images are stored as bytes, which takes a quarter of the memory; batches are converted to float on request.
#include "tandem/datasets/mnist.h"

#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/datasets/image_data.h"
#include "tandem/datasets/tensor_dataset.h"

namespace tandem::data::datasets {
namespace {

// Bytes [N, H, W] to float [N, 1, H, W].
Tensor to_float(const Tensor& bytes) {
  return bytes.to(kFloat).div(255).view({bytes.size(0), 1, bytes.size(1), bytes.size(2)});
}

ImageData read(const std::string& root, bool train, const char* name) {
  if (root == name) {
    const DatasetFiles files = find_dataset(root);
    return train ? read_image_data(files.train_images, files.train_labels)
                 : read_image_data(files.test_images, files.test_labels);
  }
  const std::string part = train ? "train" : "t10k";
  std::string looked;
  for (const std::string& folder : {root, root + "/" + known_dataset(name)->torchvision_folder, root + "/raw"}) {
    const std::string images = find_idx_file(folder, part + "-images-idx3-ubyte");
    const std::string labels = find_idx_file(folder, part + "-labels-idx1-ubyte");
    if (!images.empty() && !labels.empty()) return read_image_data(images, labels);
    looked += "\n    " + folder;
  }
  fail("data set ", name, ": no ", part, "-images-idx3-ubyte[.gz] with ", part, "-labels-idx1-ubyte[.gz]\n  searched",
       looked);
}

}  // namespace

MNIST::MNIST(const std::string& root, Mode mode, const char* name) : train_(mode == Mode::kTrain) {
  ImageData data = read(root, train_, name);
  bytes_ = std::move(data.images);
  targets_ = std::move(data.labels);
}

Example<> MNIST::get(size_t index) {
  const Tensor image = detail::row(bytes_, index);
  return {to_float(image.unsqueeze(0)).squeeze(0), detail::row(targets_, index)};
}

Example<> MNIST::get_stacked(ArrayRef<size_t> indices) const {
  return {to_float(detail::gather_rows(bytes_, indices)), detail::gather_rows(targets_, indices)};
}

Tensor MNIST::images() const { return to_float(bytes_); }

FashionMNIST::FashionMNIST(const std::string& root, Mode mode) : base_(root, mode) {}

}  // namespace tandem::data::datasets
