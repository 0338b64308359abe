#include "tandem/cli/train/augmentation.h"

#include <algorithm>

#include "tandem/autograd/ops.h"
#include "tandem/datasets/vision/rand_augment.h"

namespace tandem::cli {
namespace {

// Pads with zeros and cuts out a rectangle of the same size, per image.
Tensor shifted(const Tensor& images) {
  const int64_t n = images.size(0), c = images.size(1), h = images.size(2), w = images.size(3);
  const int64_t y = std::max<int64_t>(1, h / 8), x = std::max<int64_t>(1, w / 8);
  const TensorOptions index = TensorOptions(images.device()).dtype(kLong);
  const Tensor rows = randint(0, 2 * y + 1, {n, 1}, index) + arange(h, index);
  const Tensor columns = randint(0, 2 * x + 1, {n, 1}, index) + arange(w, index);
  return constant_pad_nd(images, {x, x, y, y})
      .gather(2, rows.view({n, 1, h, 1}).expand({n, c, h, w + 2 * x}))
      .gather(3, columns.view({n, 1, 1, w}).expand({n, c, h, w}));
}

}  // namespace

Tensor augmented(const Recipe& r, const Tensor& images) {
  if (r.augment == "none" || changes_each_image(r)) return images;
  const Tensor mirrored = rand({images.size(0), 1, 1, 1}, TensorOptions(images.device())) < 0.5;
  const Tensor flipped = where(mirrored, images.flip({3}), images);
  return r.augment == "crop" ? shifted(flipped) : flipped;
}

bool changes_each_image(const Recipe& r) { return r.augment == "resized-crop" || r.augment == "randaugment"; }

std::optional<vision::transforms::Compose> image_transform(const Recipe& r, vision::ImageSize size, bool from_files) {
  using namespace vision::transforms;
  if (!changes_each_image(r)) return std::nullopt;
  std::vector<Compose::Step> steps;
  if (from_files || r.augment == "resized-crop")
    steps.emplace_back(RandomResizedCrop(size));
  else
    steps.emplace_back(RandomCrop(size, std::max<int64_t>(1, std::min(size.height, size.width) / 8)));
  steps.emplace_back(RandomHorizontalFlip());
  if (r.augment == "randaugment") steps.emplace_back(RandAugment());
  return Compose(std::move(steps));
}

}  // namespace tandem::cli
