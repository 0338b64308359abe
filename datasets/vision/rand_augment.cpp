#include "tandem/datasets/vision/rand_augment.h"

#include <cmath>

#include "tandem/core/error.h"

namespace tandem::vision::transforms {
namespace {

namespace F = functional;

// `part`: the strength, 0 to 1. `sign`: 1 or -1.
using Change = Tensor (*)(const Tensor& image, double part, double sign);

double turn_of(double shear) { return std::atan(shear) * (180 / M_PI); }

// A shift of at most 150 pixels of an image of 331, in whole pixels.
double shift(double part, double sign, int64_t length) {
  return std::trunc(sign * part * 150.0 / 331.0 * static_cast<double>(length));
}

constexpr Change kChanges[] = {
    [](const Tensor& image, double, double) { return image; },
    [](const Tensor& image, double part, double sign) {
      return F::affine(image, {.shear_x = turn_of(sign * 0.3 * part), .center = std::pair(0.0, 0.0)});
    },
    [](const Tensor& image, double part, double sign) {
      return F::affine(image, {.shear_y = turn_of(sign * 0.3 * part), .center = std::pair(0.0, 0.0)});
    },
    [](const Tensor& image, double part, double sign) {
      return F::affine(image, {.translate_x = shift(part, sign, image.size(2))});
    },
    [](const Tensor& image, double part, double sign) {
      return F::affine(image, {.translate_y = shift(part, sign, image.size(1))});
    },
    [](const Tensor& image, double part, double sign) { return F::rotate(image, sign * 30 * part); },
    [](const Tensor& image, double part, double sign) { return F::adjust_brightness(image, 1 + sign * 0.9 * part); },
    [](const Tensor& image, double part, double sign) { return F::adjust_saturation(image, 1 + sign * 0.9 * part); },
    [](const Tensor& image, double part, double sign) { return F::adjust_contrast(image, 1 + sign * 0.9 * part); },
    [](const Tensor& image, double part, double sign) { return F::adjust_sharpness(image, 1 + sign * 0.9 * part); },
    [](const Tensor& image, double part, double) { return F::posterize(image, 8 - std::lrint(4 * part)); },
    [](const Tensor& image, double part, double) { return F::solarize(image, 255 * (1 - part)); },
    [](const Tensor& image, double, double) { return F::autocontrast(image); },
    [](const Tensor& image, double, double) { return F::equalize(image); },
};
constexpr int64_t kCount = sizeof(kChanges) / sizeof(kChanges[0]);

}  // namespace

RandAugment::RandAugment(int64_t operations, int64_t magnitude, int64_t bins)
    : operations_(operations), magnitude_(magnitude), bins_(bins) {
  check(operations >= 0 && operations <= 1000, "RandAugment: ", operations, " operations; expected 0 to 1000");
  check(magnitude >= 0 && magnitude < bins, "RandAugment: magnitude ", magnitude, " of ", bins,
        " bins; expected 0 or more, and less than the number of bins");
}

Tensor RandAugment::transformed(const Tensor& image, RandomStream& random) const {
  const double part = bins_ == 1 ? 0 : static_cast<double>(magnitude_) / static_cast<double>(bins_ - 1);
  Tensor out = image;
  for (int64_t i = 0; i < operations_; ++i) {
    const Change change = kChanges[random.below(kCount)];
    out = change(out, part, random.chance(0.5) ? -1 : 1);
  }
  return out;
}

}  // namespace tandem::vision::transforms
