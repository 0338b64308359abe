// Functions on one image, [C, H, W] on the CPU: the deterministic parts of the transforms. Names and results as in
// torchvision.transforms.functional on Pillow's images (resize, affine, rotate and levels: exactly Pillow's pixels) or
// on tensors (colours: within one level). The results are new tensors, except that crop may return a view.
//
// All throw Error unless the image has three dimensions, none of them 0.
#pragma once
#include <cstdint>
#include <utility>

#include "tandem/core/tensor.h"

namespace tandem::vision {

/// How resize computes pixels; all but nearest smooth an image before they shrink it.
enum class InterpolationMode : uint8_t { kNearest, kBilinear, kBicubic };

/// Height and width in pixels.
struct ImageSize {
  int64_t height = 0, width = 0;
};

namespace functional {

/// uint8 or float32. Throws Error on a side below 1 or above 2^24 pixels, and on more than 2^28 pixels in all.
Tensor resize(const Tensor& image, ImageSize size, InterpolationMode mode = InterpolationMode::kBilinear);
/// center_crop(resize(image, size, mode), part), without the time and the memory for what is cut off. Throws Error as
/// both, but `size` may have more pixels if it contains the part.
Tensor resize_and_center_crop(const Tensor& image, ImageSize size, ImageSize part,
                              InterpolationMode mode = InterpolationMode::kBilinear);
/// The size of an image after its shorter side has been scaled to `side`, with the same aspect ratio.
ImageSize size_with_shorter_side(ImageSize size, int64_t side);

/// The rectangle from row `top` and column `left`, which may extend beyond the image; there it is 0.
Tensor crop(const Tensor& image, int64_t top, int64_t left, ImageSize size);
/// The middle; the image is padded with 0 where it is smaller.
Tensor center_crop(const Tensor& image, ImageSize size);
/// `margin` more pixels of value `fill` on each side.
Tensor pad(const Tensor& image, int64_t margin, double fill = 0);
Tensor hflip(const Tensor& image);
Tensor vflip(const Tensor& image);

struct Affine {
  double angle = 0;                         ///< degrees, clockwise
  double translate_x = 0, translate_y = 0;  ///< pixels, to the right and down
  double scale = 1;
  double shear_x = 0, shear_y = 0;                       ///< degrees
  optional<std::pair<double, double>> center = nullopt;  ///< x, y; default: the middle of the image
};
/// Moves the pixels of a uint8 image; pixels from outside are 0. Takes the nearest pixel. Throws Error on sides above
/// 32767, a scale that is not positive, and numbers that are not finite.
Tensor affine(const Tensor& image, const Affine& map);
/// Rotates a uint8 image counter-clockwise around its middle; the size stays the same.
Tensor rotate(const Tensor& image, double degrees);

/// Levels of uint8 images. Keeps the upper `bits` of each level, 0 to 8.
Tensor posterize(const Tensor& image, int64_t bits);
/// Inverts the levels from `threshold` on.
Tensor solarize(const Tensor& image, double threshold);
/// Stretches the levels of each channel to 0 to 255.
Tensor autocontrast(const Tensor& image);
/// Spreads the levels of each channel so that all are about equally frequent.
Tensor equalize(const Tensor& image);
/// Factor 0 gives a smoothed image, 1 changes nothing. Throws Error on a negative factor.
Tensor adjust_sharpness(const Tensor& image, double factor);

/// Colours of uint8 images with 1 or 3 channels. Factor 1 changes nothing, 0 gives a black image, a grey one, or one
/// without colours. Throws Error on other images and on a negative factor.
Tensor adjust_brightness(const Tensor& image, double factor);
Tensor adjust_contrast(const Tensor& image, double factor);
Tensor adjust_saturation(const Tensor& image, double factor);
/// Rotates the hue by `turns`, from -0.5 to 0.5 of the colour circle; grey images stay the same.
Tensor adjust_hue(const Tensor& image, double turns);

/// uint8 to float32 from 0 to 1, and float32 back to uint8; other pairs of dtypes are converted without scaling.
Tensor convert_image_dtype(const Tensor& image, ScalarType dtype = kFloat);
/// (image - mean) / stddev for float32 images, with one value per channel or one for all. Throws Error on other numbers
/// of values, and on a stddev of 0.
Tensor normalize(const Tensor& image, ArrayRef<double> mean, ArrayRef<double> stddev);

}  // namespace functional
}  // namespace tandem::vision
