// The random draws of the transforms; functional.cpp does the rest.
#include "tandem/datasets/vision/transforms.h"

#include <algorithm>
#include <cmath>

#include "tandem/autograd/ops/view/cat.h"
#include "tandem/core/error.h"

namespace tandem::vision::transforms {
namespace {

ImageSize checked(ImageSize size, const char* name) {
  check(size.height >= 1 && size.width >= 1 && size.height <= 65535 && size.width <= 65535, name, ": size ",
        size.height, " x ", size.width, "; expected 1 to 65535 per side");
  return size;
}

double checked_probability(double p, const char* name) {
  check(p >= 0 && p <= 1, name, ": probability ", p, "; expected 0 to 1");
  return p;
}

Interval checked(Interval interval, const char* name, const char* what) {
  check(interval.low > 0 && interval.high >= interval.low && std::isfinite(interval.high), name, ": ", what, " ",
        interval.low, " to ", interval.high, "; expected positive numbers in order");
  return interval;
}

struct Box {
  int64_t top, left;
  ImageSize size;
};

// The largest box in the middle with an allowed aspect ratio.
Box middle(int64_t height, int64_t width, Interval ratio) {
  const double own = static_cast<double>(width) / static_cast<double>(height);
  ImageSize size{height, width};
  if (own < ratio.low) size.height = std::lrint(static_cast<double>(width) / ratio.low);
  if (own > ratio.high) size.width = std::lrint(static_cast<double>(height) * ratio.high);
  size = {std::clamp<int64_t>(size.height, 1, height), std::clamp<int64_t>(size.width, 1, width)};
  return {(height - size.height) / 2, (width - size.width) / 2, size};
}

Box draw_box(int64_t height, int64_t width, Interval scale, Interval ratio, RandomStream& random) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = static_cast<double>(height * width) * random.uniform(scale.low, scale.high);
    const double aspect = std::exp(random.uniform(std::log(ratio.low), std::log(ratio.high)));
    const double w = std::nearbyint(std::sqrt(area * aspect)), h = std::nearbyint(std::sqrt(area / aspect));
    if (w < 1 || h < 1 || w > static_cast<double>(width) || h > static_cast<double>(height)) continue;
    const ImageSize size{static_cast<int64_t>(h), static_cast<int64_t>(w)};
    const int64_t top = random.below(height - size.height + 1);
    return {top, random.below(width - size.width + 1), size};
  }
  return middle(height, width, ratio);
}

}  // namespace

Tensor Compose::transformed(const Tensor& image, RandomStream& random) const {
  Tensor out = image;
  for (const Step& step : steps_) out = step.transform->transformed(out, random);
  return out;
}

data::BatchTransform for_batches(Compose::Step step) {
  return [step = std::move(step)](std::vector<Tensor>& batch) {
    check(!batch.empty() && batch[0].dim() == 4, "for_batches: expected images [N, C, H, W] first");
    std::vector<Tensor> images;
    for (int64_t i = 0; i < batch[0].size(0); ++i) {
      RandomStream random = RandomStream::of_next_sample();
      images.push_back(step.transform->transformed(batch[0].select(0, i), random));
    }
    batch[0] = stack(images);
  };
}

Resize::Resize(int64_t shorter_side, InterpolationMode mode)
    : size_{0, checked({shorter_side, shorter_side}, "Resize").width}, mode_(mode) {}
Resize::Resize(ImageSize size, InterpolationMode mode) : size_(checked(size, "Resize")), mode_(mode) {}

Tensor Resize::transformed(const Tensor& image, RandomStream&) const {
  if (size_.height != 0) return functional::resize(image, size_, mode_);
  check(image.dim() == 3 && image.numel() > 0, "Resize: expected an image [C, H, W], got ", image);
  return functional::resize(image, functional::size_with_shorter_side({image.size(1), image.size(2)}, size_.width),
                            mode_);
}

CenterCrop::CenterCrop(ImageSize size) : size_(checked(size, "CenterCrop")) {}
Tensor CenterCrop::transformed(const Tensor& image, RandomStream&) const {
  return functional::center_crop(image, size_);
}

RandomCrop::RandomCrop(ImageSize size, int64_t padding) : size_(checked(size, "RandomCrop")), padding_(padding) {
  check(padding >= 0 && padding <= 65535, "RandomCrop: padding ", padding, "; expected 0 to 65535");
}

Tensor RandomCrop::transformed(const Tensor& image, RandomStream& random) const {
  check(image.dim() == 3, "RandomCrop: expected an image [C, H, W], got ", image);
  const int64_t rows = image.size(1) + 2 * padding_ - size_.height + 1;
  const int64_t columns = image.size(2) + 2 * padding_ - size_.width + 1;
  check(rows >= 1 && columns >= 1, "RandomCrop: ", size_.height, " x ", size_.width, " pixels of an image of ",
        image.size(1), " x ", image.size(2), " with a padding of ", padding_);
  const int64_t top = random.below(rows) - padding_;
  return functional::crop(image, top, random.below(columns) - padding_, size_);
}

RandomResizedCrop::RandomResizedCrop(ImageSize size, Interval scale, Interval ratio, InterpolationMode mode)
    : size_(checked(size, "RandomResizedCrop")),
      scale_(checked(scale, "RandomResizedCrop", "scale")),
      ratio_(checked(ratio, "RandomResizedCrop", "ratio")),
      mode_(mode) {}

Tensor RandomResizedCrop::transformed(const Tensor& image, RandomStream& random) const {
  check(image.dim() == 3 && image.numel() > 0, "RandomResizedCrop: expected an image [C, H, W], got ", image);
  const Box box = draw_box(image.size(1), image.size(2), scale_, ratio_, random);
  return functional::resize(functional::crop(image, box.top, box.left, box.size), size_, mode_);
}

RandomHorizontalFlip::RandomHorizontalFlip(double p) : p_(checked_probability(p, "RandomHorizontalFlip")) {}
Tensor RandomHorizontalFlip::transformed(const Tensor& image, RandomStream& random) const {
  return random.chance(p_) ? functional::hflip(image) : image;
}

RandomVerticalFlip::RandomVerticalFlip(double p) : p_(checked_probability(p, "RandomVerticalFlip")) {}
Tensor RandomVerticalFlip::transformed(const Tensor& image, RandomStream& random) const {
  return random.chance(p_) ? functional::vflip(image) : image;
}

ColorJitter::ColorJitter(double brightness, double contrast, double saturation, double hue)
    : amounts_{brightness, contrast, saturation, hue} {
  for (const double amount : amounts_)
    check(std::isfinite(amount) && amount >= 0, "ColorJitter: an amount of ", amount, "; expected a number from 0 on");
  check(hue <= 0.5, "ColorJitter: hue ", hue, "; expected at most 0.5");
}

Tensor ColorJitter::transformed(const Tensor& image, RandomStream& random) const {
  constexpr Tensor (*kAdjust[])(const Tensor&, double) = {functional::adjust_brightness, functional::adjust_contrast,
                                                          functional::adjust_saturation, functional::adjust_hue};
  std::size_t order[] = {0, 1, 2, 3};
  for (std::size_t i = 3; i > 0; --i)
    std::swap(order[i], order[static_cast<std::size_t>(random.below(static_cast<int64_t>(i) + 1))]);
  Tensor out = image;
  for (const std::size_t k : order) {
    if (amounts_[k] == 0) continue;
    const double amount = k == 3 ? random.uniform(-amounts_[k], amounts_[k])
                                 : random.uniform(std::max(0.0, 1 - amounts_[k]), 1 + amounts_[k]);
    out = kAdjust[k](out, amount);
  }
  return out;
}

}  // namespace tandem::vision::transforms
