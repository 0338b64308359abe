// Rotation, shear and shift with the nearest pixel, in 16.16 fixed-point numbers, so that the pixels are Pillow's.
#include <cmath>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/core/error.h"
#include "tandem/datasets/vision/check_image.h"
#include "tandem/datasets/vision/functional.h"

namespace tandem::vision::functional {
namespace {

// Where a pixel comes from: column = a x + b y + c, row = d x + e y + f.
struct Source {
  double a, b, c, d, e, f;
};

double radians(double degrees) { return degrees * (M_PI / 180); }

Source source_of(const Affine& m, double center_x, double center_y) {
  const double turn = radians(m.angle), shear_x = std::tan(radians(m.shear_x)), shear_y = radians(m.shear_y);
  const double cosine = std::cos(turn - shear_y) / std::cos(shear_y);
  const double sine = std::sin(turn - shear_y) / std::cos(shear_y);
  // The forward map without scale is ((cosine, -cosine shear_x - sin), (sine, -sine shear_x + cos)), of determinant 1.
  Source s{(-sine * shear_x + std::cos(turn)) / m.scale,
           (cosine * shear_x + std::sin(turn)) / m.scale,
           0,
           -sine / m.scale,
           cosine / m.scale,
           0};
  const double x = -center_x - m.translate_x, y = -center_y - m.translate_y;
  s.c = s.a * x + s.b * y + center_x;
  s.f = s.d * x + s.e * y + center_y;
  return s;
}

int64_t fixed(double value) { return static_cast<int64_t>(std::floor(value * 65536 + 0.5)); }

}  // namespace

Tensor affine(const Tensor& image, const Affine& m) {
  detail::check_image(image, "affine");
  check(image.dtype() == kByte, "affine: expected a uint8 image, got ", image);
  const int64_t channels = image.size(0), height = image.size(1), width = image.size(2);
  check(height <= 32767 && width <= 32767, "affine: expected at most 32767 pixels per side, got ", image);
  const auto center = m.center.value_or(std::pair(static_cast<double>(width) / 2, static_cast<double>(height) / 2));
  check(m.scale > 0, "affine: scale ", m.scale, "; expected a positive number");
  const Source s = source_of(m, center.first, center.second);
  for (const double number : {s.a, s.b, s.c, s.d, s.e, s.f})
    check(std::abs(number) < 1e8, "affine: angle ", m.angle, ", scale ", m.scale, " and shear ", m.shear_x, ", ",
          m.shear_y, " move the pixels too far");
  const Tensor from = image.detach().contiguous();
  Tensor out = zeros(from.sizes(), TensorOptions(from.device()).dtype(kByte));
  const uint8_t* in = from.data_ptr<uint8_t>();
  uint8_t* to = out.data_ptr<uint8_t>();
  const int64_t area = height * width, per_x = fixed(s.a), per_y = fixed(s.d);
  for (int64_t y = 0; y < height; ++y) {
    int64_t column = fixed(s.c + s.a * 0.5 + s.b * 0.5) + fixed(s.b) * y;
    int64_t row = fixed(s.f + s.d * 0.5 + s.e * 0.5) + fixed(s.e) * y;
    for (int64_t x = 0; x < width; ++x, column += per_x, row += per_y) {
      const int64_t i = column >> 16, j = row >> 16;
      if (i < 0 || i >= width || j < 0 || j >= height) continue;
      for (int64_t c = 0; c < channels; ++c) to[c * area + y * width + x] = in[c * area + j * width + i];
    }
  }
  return out;
}

Tensor rotate(const Tensor& image, double degrees) {
  check(std::isfinite(degrees), "rotate: ", degrees, " degrees");
  return affine(image, {.angle = -std::fmod(degrees, 360)});
}

}  // namespace tandem::vision::functional
