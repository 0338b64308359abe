#include "tandem/cli/data/image_set.h"

#include <algorithm>

#include "tandem/autograd/ops.h"
#include "tandem/core/threads/parallel_for.h"
#include "tandem/datasets/vision/check_image.h"
#include "tandem/datasets/vision/functional.h"
#include "tandem/datasets/vision/image_file.h"

namespace tandem::cli {
namespace {

// Calls f(i) for 0 to count - 1, in parallel. Throws BrokenImages of the first error, with the number of the others.
template <class F>
void for_each_file(int64_t count, const F& f) {
  std::vector<std::string> errors(static_cast<std::size_t>(count));
  parallel_for(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) try {
        f(i);
      } catch (const Error& error) {
        if (vision::detail::is_out_of_memory(error)) throw;
        errors[static_cast<std::size_t>(i)] = error.what();
      }
  });
  errors.erase(std::remove(errors.begin(), errors.end(), ""), errors.end());
  if (errors.size() == 1) throw BrokenImages(errors[0]);
  if (!errors.empty()) throw BrokenImages(concat(errors[0], " (and ", errors.size() - 1, " other broken images)"));
}

}  // namespace

Tensor read_picture(const std::string& path, int64_t shorter_side, int64_t height, int64_t width) {
  const Tensor image = vision::read_image(path);
  const vision::ImageSize scaled =
      vision::functional::size_with_shorter_side({image.size(1), image.size(2)}, shorter_side);
  return vision::detail::naming(path, [&] {
    return vision::functional::resize_and_center_crop(image, scaled, {height, width});
  });
}

Tensor ImageFiles::read(const Tensor& positions, const vision::transforms::Compose* transform) const {
  const int64_t count = positions.size(0), *first = positions.data_ptr<int64_t>();
  Tensor out = empty({count, 3, size_.height, size_.width}, TensorOptions(Device(kCPU, 0)).dtype(kByte));
  std::vector<vision::RandomStream> random;
  for (int64_t i = 0; transform != nullptr && i < count; ++i) random.push_back(vision::RandomStream::of_next_sample());
  for_each_file(count, [&](int64_t i) {
    const std::string& path = paths_.at(static_cast<std::size_t>(first[i]));
    out[i].copy_(transform == nullptr
                     ? read_picture(path, std::max(size_.height, size_.width), size_.height, size_.width)
                     : vision::detail::naming(path, [&, image = vision::read_image(path)] {
                         return transform->transformed(image, random[static_cast<std::size_t>(i)]);
                       }));
  });
  return out;
}

void ImageFiles::check_all() const {
  for_each_file(count(), [&](int64_t i) { vision::read_image(paths_[static_cast<std::size_t>(i)]); });
}

std::vector<int64_t> ImageSet::shape() const {
  if (files != nullptr) return {3, files->size().height, files->size().width};
  if (images.dim() == 3) return {1, images.size(1), images.size(2)};
  return {images.size(1), images.size(2), images.size(3)};
}

Tensor ImageSet::rows(int64_t first, int64_t size) const {
  const Tensor part = images.narrow(0, first, size);
  return files == nullptr ? part : files->read(part);
}

ImageSet ImageSet::head(int64_t count) const {
  return {{images.narrow(0, 0, count), labels.narrow(0, 0, count), classes}, files};
}

ImageSet ImageSet::at(const Tensor& positions) const {
  return {{images.index_select(0, positions), labels.index_select(0, positions), classes}, files};
}

}  // namespace tandem::cli
