// Transforms of images [C, H, W] for training and evaluation, with the names and defaults of torchvision.transforms.
//
//   auto train = vision::datasets::ImageFolder("train").map(transforms::Compose({
//       transforms::RandomResizedCrop(224), transforms::RandomHorizontalFlip(), transforms::ConvertImageDtype(),
//       transforms::Normalize({0.485, 0.456, 0.406}, {0.229, 0.224, 0.225})})).map(data::transforms::Stack<>());
//
// They work on the data of an example and run in the loader's workers. Transforms are constant and can be shared by
// threads; their random numbers come from the sample's RandomStream. The constructors throw Error on sizes below 1 or
// above 65535 and on other parameters that make no sense.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "tandem/datasets/loader.h"
#include "tandem/datasets/transforms.h"
#include "tandem/datasets/vision/functional.h"
#include "tandem/datasets/vision/random_stream.h"

namespace tandem::vision::transforms {

class ImageTransform : public data::transforms::TensorTransform<> {
 public:
  virtual Tensor transformed(const Tensor& image, RandomStream& random) const = 0;
  /// With random numbers from the default generator.
  Tensor operator()(Tensor image) final {
    RandomStream random = RandomStream::of_next_sample();
    return transformed(image, random);
  }
};

/// One after the other.
class Compose : public ImageTransform {
 public:
  /// Any image transform.
  struct Step {
    template <class T>
    requires(std::is_base_of_v<ImageTransform, T>) Step(T step)
        : transform(std::make_shared<const T>(std::move(step))) {}
    std::shared_ptr<const ImageTransform> transform;
  };
  Compose(std::vector<Step> steps) : steps_(std::move(steps)) {}
  Tensor transformed(const Tensor& image, RandomStream& random) const override;

 private:
  std::vector<Step> steps_;
};

/// A transform for BatchLoader: changes the first tensor of a batch, images [N, C, H, W], image by image.
data::BatchTransform for_batches(Compose::Step step);

/// Any function of an image; it must be thread-safe.
class Lambda : public ImageTransform {
 public:
  explicit Lambda(std::function<Tensor(const Tensor&)> function) : function_(std::move(function)) {}
  Tensor transformed(const Tensor& image, RandomStream&) const override { return function_(image); }

 private:
  std::function<Tensor(const Tensor&)> function_;
};

/// To a height and width, or so that the shorter side gets a length.
class Resize : public ImageTransform {
 public:
  explicit Resize(int64_t shorter_side, InterpolationMode mode = InterpolationMode::kBilinear);
  explicit Resize(ImageSize size, InterpolationMode mode = InterpolationMode::kBilinear);
  Tensor transformed(const Tensor& image, RandomStream&) const override;

 private:
  ImageSize size_;  // height 0: width is the length of the shorter side
  InterpolationMode mode_;
};

class CenterCrop : public ImageTransform {
 public:
  explicit CenterCrop(int64_t side) : CenterCrop(ImageSize{side, side}) {}
  explicit CenterCrop(ImageSize size);
  Tensor transformed(const Tensor& image, RandomStream&) const override;

 private:
  ImageSize size_;
};

/// A rectangle anywhere in the image, after `padding` black pixels have been added on each side. Throws Error on an
/// image that is still smaller.
class RandomCrop : public ImageTransform {
 public:
  explicit RandomCrop(int64_t side, int64_t padding = 0) : RandomCrop(ImageSize{side, side}, padding) {}
  explicit RandomCrop(ImageSize size, int64_t padding = 0);
  Tensor transformed(const Tensor& image, RandomStream& random) const override;

 private:
  ImageSize size_;
  int64_t padding_;
};

/// From low to high.
struct Interval {
  double low, high;
};

/// A rectangle with a share `scale` of the image's area and an aspect ratio (width to height) of `ratio`, resized.
class RandomResizedCrop : public ImageTransform {
 public:
  explicit RandomResizedCrop(int64_t side, Interval scale = {0.08, 1}, Interval ratio = {3.0 / 4, 4.0 / 3},
                             InterpolationMode mode = InterpolationMode::kBilinear)
      : RandomResizedCrop(ImageSize{side, side}, scale, ratio, mode) {}
  explicit RandomResizedCrop(ImageSize size, Interval scale = {0.08, 1}, Interval ratio = {3.0 / 4, 4.0 / 3},
                             InterpolationMode mode = InterpolationMode::kBilinear);
  Tensor transformed(const Tensor& image, RandomStream& random) const override;

 private:
  ImageSize size_;
  Interval scale_, ratio_;
  InterpolationMode mode_;
};

class RandomHorizontalFlip : public ImageTransform {
 public:
  explicit RandomHorizontalFlip(double p = 0.5);
  Tensor transformed(const Tensor& image, RandomStream& random) const override;

 private:
  double p_;
};

class RandomVerticalFlip : public ImageTransform {
 public:
  explicit RandomVerticalFlip(double p = 0.5);
  Tensor transformed(const Tensor& image, RandomStream& random) const override;

 private:
  double p_;
};

/// For uint8 images: changes brightness, contrast, saturation and hue, in random order. A factor is drawn from
/// [max(0, 1 - x), 1 + x], the hue's turns from [-hue, hue] with hue at most 0.5.
class ColorJitter : public ImageTransform {
 public:
  explicit ColorJitter(double brightness = 0, double contrast = 0, double saturation = 0, double hue = 0);
  Tensor transformed(const Tensor& image, RandomStream& random) const override;

 private:
  double amounts_[4];
};

/// uint8 images to float32 from 0 to 1 (torchvision's ToTensor, too).
class ConvertImageDtype : public ImageTransform {
 public:
  explicit ConvertImageDtype(ScalarType dtype = kFloat) : dtype_(dtype) {}
  Tensor transformed(const Tensor& image, RandomStream&) const override {
    return functional::convert_image_dtype(image, dtype_);
  }

 private:
  ScalarType dtype_;
};

/// (image - mean) / stddev for float32 images, with one value per channel or one for all.
class Normalize : public ImageTransform {
 public:
  Normalize(std::vector<double> mean, std::vector<double> stddev)
      : mean_(std::move(mean)), stddev_(std::move(stddev)) {}
  Tensor transformed(const Tensor& image, RandomStream&) const override {
    return functional::normalize(image, mean_, stddev_);
  }

 private:
  std::vector<double> mean_, stddev_;
};

}  // namespace tandem::vision::transforms
