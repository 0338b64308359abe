// Colours of uint8 images. Levels are computed in float32 and cut off, not rounded, as torchvision does for tensors.
#include <algorithm>
#include <cmath>
#include <vector>

#include "tandem/core/error.h"
#include "tandem/datasets/vision/check_image.h"
#include "tandem/datasets/vision/functional.h"

namespace tandem::vision::functional {
namespace {

Tensor pixels_of(const Tensor& image, const char* function) {
  detail::check_image(image, function);
  check(image.dtype() == kByte && (image.size(0) == 1 || image.size(0) == 3), function,
        ": expected a uint8 image [1, H, W] or [3, H, W], got ", image);
  return image.contiguous();
}

uint8_t level(float value) { return static_cast<uint8_t>(std::clamp(value, 0.0f, 255.0f)); }

uint8_t luma(uint8_t r, uint8_t g, uint8_t b) {
  return static_cast<uint8_t>(0.2989f * static_cast<float>(r) + 0.587f * static_cast<float>(g) +
                              0.114f * static_cast<float>(b));
}

float checked_factor(double factor, const char* function) {
  check(std::isfinite(factor) && factor >= 0, function, ": factor ", factor, "; expected a number from 0 on");
  return static_cast<float>(factor);
}

// factor * image + (1 - factor) * other(i), where i counts the pixels of a channel.
template <class Other>
Tensor blended(const Tensor& image, float factor, const Other& other) {
  Tensor out = empty_raw(image.sizes(), kByte, image.device());
  const int64_t area = image.size(1) * image.size(2);
  std::vector<float> rest(static_cast<std::size_t>(area));
  for (int64_t i = 0; i < area; ++i) rest[static_cast<std::size_t>(i)] = (1 - factor) * other(i);
  for (int64_t c = 0; c < image.size(0); ++c) {
    const uint8_t* from = image.data_ptr<uint8_t>() + c * area;
    uint8_t* to = out.data_ptr<uint8_t>() + c * area;
    for (int64_t i = 0; i < area; ++i)
      to[i] = level(factor * static_cast<float>(from[i]) + rest[static_cast<std::size_t>(i)]);
  }
  return out;
}

// The luma of pixel i.
auto lumas(const Tensor& image) {
  const int64_t area = image.size(1) * image.size(2), step = image.size(0) == 3 ? area : 0;
  const uint8_t* r = image.data_ptr<uint8_t>();
  return
      [r, step](int64_t i) { return static_cast<float>(step == 0 ? r[i] : luma(r[i], r[i + step], r[i + 2 * step])); };
}

struct Color {
  float a, b, c;
};

// Hue from 0 to 1, saturation and value of a colour with parts from 0 to 1.
Color to_hsv(float r, float g, float b) {
  const float most = std::max({r, g, b}), range = most - std::min({r, g, b});
  if (range == 0) return {0, 0, most};
  float sixth = most == r ? (g - b) / range : most == g ? 2 + (b - r) / range : 4 + (r - g) / range;
  if (sixth < 0) sixth += 6;
  return {sixth / 6, range / most, most};
}

Color to_rgb(float hue, float saturation, float value) {
  const float sixth = hue * 6, floor = std::floor(sixth), part = sixth - floor;
  const float p = value * (1 - saturation), q = value * (1 - saturation * part),
              t = value * (1 - saturation * (1 - part));
  switch (static_cast<int>(floor) % 6) {
    case 0:
      return {value, t, p};
    case 1:
      return {q, value, p};
    case 2:
      return {p, value, t};
    case 3:
      return {p, q, value};
    case 4:
      return {t, p, value};
    default:
      return {value, p, q};
  }
}

}  // namespace

Tensor adjust_brightness(const Tensor& image, double factor) {
  const Tensor from = pixels_of(image, "adjust_brightness");
  return blended(from, checked_factor(factor, "adjust_brightness"), [](int64_t) { return 0.0f; });
}

Tensor adjust_contrast(const Tensor& image, double factor) {
  const Tensor from = pixels_of(image, "adjust_contrast");
  const auto gray = lumas(from);
  const int64_t area = from.size(1) * from.size(2);
  double sum = 0;
  for (int64_t i = 0; i < area; ++i) sum += gray(i);
  const auto mean = static_cast<float>(sum / static_cast<double>(area));
  return blended(from, checked_factor(factor, "adjust_contrast"), [mean](int64_t) { return mean; });
}

Tensor adjust_saturation(const Tensor& image, double factor) {
  const Tensor from = pixels_of(image, "adjust_saturation");
  return blended(from, checked_factor(factor, "adjust_saturation"), lumas(from));
}

Tensor adjust_hue(const Tensor& image, double turns) {
  const Tensor from = pixels_of(image, "adjust_hue");
  check(turns >= -0.5 && turns <= 0.5, "adjust_hue: ", turns, " turns; expected -0.5 to 0.5");
  if (from.size(0) == 1) return from.clone();
  Tensor out = empty_raw(from.sizes(), kByte, from.device());
  const int64_t area = from.size(1) * from.size(2);
  const uint8_t* in = from.data_ptr<uint8_t>();
  uint8_t* to = out.data_ptr<uint8_t>();
  const auto part = [](uint8_t v) { return static_cast<float>(v) / 255.0f; };
  for (int64_t i = 0; i < area; ++i) {
    const Color hsv = to_hsv(part(in[i]), part(in[i + area]), part(in[i + 2 * area]));
    float hue = hsv.a + static_cast<float>(turns);
    hue -= std::floor(hue);
    const Color rgb = to_rgb(hue, hsv.b, hsv.c);
    to[i] = level(rgb.a * 255.999f);
    to[i + area] = level(rgb.b * 255.999f);
    to[i + 2 * area] = level(rgb.c * 255.999f);
  }
  return out;
}

}  // namespace tandem::vision::functional
