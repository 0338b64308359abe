// Levels of uint8 images, channel by channel, and sharpness. The pixels are Pillow's.
#include <algorithm>
#include <array>
#include <cmath>

#include "tandem/core/error.h"
#include "tandem/datasets/vision/check_image.h"
#include "tandem/datasets/vision/functional.h"

namespace tandem::vision::functional {
namespace {

using Levels = std::array<uint8_t, 256>;  // the new level of each
using Counts = std::array<int64_t, 256>;

Tensor bytes_of(const Tensor& image, const char* function) {
  detail::check_image(image, function);
  check(image.dtype() == kByte, function, ": expected a uint8 image, got ", image);
  return image.detach().contiguous();
}

// Calls levels(counts of a channel's levels) for each channel.
template <class F>
Tensor mapped(const Tensor& from, const F& levels) {
  Tensor out = empty_raw(from.sizes(), kByte, from.device());
  const int64_t area = from.size(1) * from.size(2);
  for (int64_t c = 0; c < from.size(0); ++c) {
    const uint8_t* in = from.data_ptr<uint8_t>() + c * area;
    Counts counts{};
    for (int64_t i = 0; i < area; ++i) ++counts[in[i]];
    const Levels to = levels(counts);
    std::transform(in, in + area, out.data_ptr<uint8_t>() + c * area, [&](uint8_t level) { return to[level]; });
  }
  return out;
}

template <class F>
Levels each_level(const F& f) {
  Levels out;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint8_t>(f(static_cast<int>(i)));
  return out;
}

// The mean of 3 x 3 pixels, the middle one with weight 5; those at the border stay.
uint8_t smooth(const uint8_t* at, int64_t width) {
  int sum = 4 * *at;
  for (int64_t y = -1; y <= 1; ++y)
    for (int64_t x = -1; x <= 1; ++x) sum += at[y * width + x];
  return static_cast<uint8_t>((2 * sum + 13) / 26);
}

}  // namespace

Tensor posterize(const Tensor& image, int64_t bits) {
  check(bits >= 0 && bits <= 8, "posterize: ", bits, " bits; expected 0 to 8");
  const int mask = ~((1 << (8 - bits)) - 1);
  return mapped(bytes_of(image, "posterize"),
                [&](const Counts&) { return each_level([&](int level) { return level & mask; }); });
}

Tensor solarize(const Tensor& image, double threshold) {
  return mapped(bytes_of(image, "solarize"), [&](const Counts&) {
    return each_level([&](int level) { return level < threshold ? level : 255 - level; });
  });
}

Tensor autocontrast(const Tensor& image) {
  return mapped(bytes_of(image, "autocontrast"), [](const Counts& counts) {
    int low = 0, high = 255;  // an image has pixels, so that both loops end
    while (counts[static_cast<std::size_t>(low)] == 0) ++low;
    while (counts[static_cast<std::size_t>(high)] == 0) --high;
    if (high <= low) return each_level([](int level) { return level; });
    const double scale = 255.0 / (high - low), offset = -low * scale;
    return each_level([&](int level) { return std::clamp(static_cast<int>(level * scale + offset), 0, 255); });
  });
}

Tensor equalize(const Tensor& image) {
  return mapped(bytes_of(image, "equalize"), [](const Counts& counts) {
    int64_t pixels = 0, of_last = 0;
    for (const int64_t count : counts) {
      pixels += count;
      if (count > 0) of_last = count;
    }
    const int64_t step = (pixels - of_last) / 255;
    if (step == 0) return each_level([](int level) { return level; });
    int64_t below = step / 2;
    return each_level([&](int level) {
      const int64_t to = below / step;
      below += counts[static_cast<std::size_t>(level)];
      return std::min<int64_t>(to, 255);
    });
  });
}

Tensor adjust_sharpness(const Tensor& image, double factor) {
  const Tensor from = bytes_of(image, "adjust_sharpness");
  check(std::isfinite(factor) && factor >= 0, "adjust_sharpness: factor ", factor, "; expected a number from 0 on");
  Tensor out = empty_raw(from.sizes(), kByte, from.device());
  const int64_t height = from.size(1), width = from.size(2);
  const auto share = static_cast<float>(factor);
  for (int64_t row = 0; row < from.size(0) * height; ++row) {
    const uint8_t* in = from.data_ptr<uint8_t>() + row * width;
    uint8_t* to = out.data_ptr<uint8_t>() + row * width;
    const bool edge = row % height == 0 || row % height == height - 1;
    for (int64_t x = 0; x < width; ++x) {
      const int blurred = edge || x == 0 || x == width - 1 ? in[x] : smooth(in + x, width);
      const float level = static_cast<float>(blurred) + share * static_cast<float>(in[x] - blurred);
      to[x] = static_cast<uint8_t>(std::clamp(level, 0.0f, 255.0f));
    }
  }
  return out;
}

}  // namespace tandem::vision::functional
