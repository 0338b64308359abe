// Transforms of images: recorded results of Pillow and torchvision, shapes, and random transforms by seed.
#include "tandem/datasets/vision/transforms.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tandem/autograd/ops.h"
#include "tandem/datasets/data.h"
#include "tandem/datasets/vision/rand_augment.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::test;
using namespace tandem::vision;
using namespace tandem::vision::transforms;
using doctest::Contains;

namespace {

// Levels from 0 to 255 with steep edges.
Tensor uneven() {
  const Tensor y = arange(4, kLong).view({1, 4, 1}), x = arange(6, kLong).view({1, 1, 6});
  return ((x * 37 + y * 91 + x * y * 13) % 256).to(kByte);
}

Tensor image_of(std::vector<int64_t> levels, int64_t channels, int64_t height, int64_t width) {
  return tensor(levels, kLong).to(kByte).view({channels, height, width});
}

int64_t largest_difference(const Tensor& a, const Tensor& b) {
  return (a.to(kInt) - b.to(kInt)).abs().max().item<int64_t>();
}

Tensor noise(int64_t channels, int64_t height, int64_t width, uint64_t seed = 1) {
  return (rand({channels, height, width}, Generator(seed)) * 256).to(kByte);
}

Tensor applied(const ImageTransform& transform, const Tensor& image, uint64_t seed) {
  RandomStream random({seed, 0});
  return transform.transformed(image, random);
}

}  // namespace

TEST_CASE("resize gives Pillow's pixels") {
  using enum InterpolationMode;
  const Tensor image = uneven();
  struct Case {
    InterpolationMode mode;
    int64_t height, width;
    std::vector<int64_t> levels;
  };
  for (const Case& c : std::vector<Case>{
           {kBilinear, 2, 3, {93, 135, 133, 130, 151, 149}},
           {kBicubic, 2, 3, {86, 138, 131, 133, 153, 151}},
           {kNearest, 2, 3, {141, 241, 85, 93, 245, 141}},
           {kBilinear, 3, 9, {27,  48,  75,  102, 130, 144, 120, 135, 155, 137, 165, 181, 134, 150,
                              166, 119, 135, 163, 66,  103, 138, 135, 170, 188, 117, 135, 171}},
           {kBicubic, 3, 9, {14,  33,  65,  103, 136, 147, 115, 130, 154, 142, 177, 195, 129, 149,
                             172, 113, 132, 167, 58,  98,  140, 129, 175, 197, 110, 134, 180}},
           {kBilinear, 7, 4, {14,  66,  119, 171, 48,  107, 136, 133, 103, 172, 164, 73,  158, 152,
                              148, 142, 195, 125, 132, 210, 103, 142, 160, 150, 46,  152, 177, 113}},
           {kNearest, 7, 4, {0,   74, 111, 185, 0,   74,  111, 185, 91,  191, 241, 85,  91,  191,
                             241, 85, 182, 52,  115, 241, 17,  169, 245, 141, 17,  169, 245, 141}},
       }) {
    const Tensor expected = image_of(c.levels, 1, c.height, c.width);
    CHECK_MESSAGE(functional::resize(image, {c.height, c.width}, c.mode).equal(expected), c.height, " x ", c.width);
    const Tensor in_float = functional::resize(image.to(kFloat), {c.height, c.width}, c.mode);
    CHECK((in_float.clamp(0, 255) - expected.to(kFloat)).abs().max().item<float>() <
          (c.mode == kBicubic ? 2.0f : 1.01f));
  }
  CHECK(functional::resize(image, {4, 6}).equal(image));
  CHECK(functional::resize(image.expand({3, 4, 6}), {2, 3})
            .select(0, 2)
            .equal(functional::resize(image, {2, 3}).select(0, 0)));
  const Tensor flat = full({3, 37, 53}, 201, kByte);
  for (const auto mode : {kNearest, kBilinear, kBicubic})
    CHECK(functional::resize(flat, {19, 99}, mode).equal(full({3, 19, 99}, 201, kByte)));
}

TEST_CASE("resize of a view, and of what is no image") {
  const Tensor wide = noise(3, 40, 30);
  const Tensor view = wide.transpose(1, 2).slice(2, 3, 33);
  CHECK(functional::resize(view, {17, 11}).equal(functional::resize(view.contiguous(), {17, 11})));
  CHECK_THROWS_WITH_AS(functional::resize(wide, {0, 5}), Contains("resize: size 0 x 5"), Error);
  CHECK_THROWS_WITH_AS(functional::resize(wide, {5, (1 << 24) + 1}), Contains("expected 1 to 16777216 per side"),
                       Error);
  CHECK_THROWS_WITH_AS(functional::resize(wide, {1 << 17, 1 << 16}), Contains("at most 268435456 pixels"), Error);
  CHECK_THROWS_WITH_AS(functional::resize(wide.to(kLong), {5, 5}), Contains("expected a uint8 or float32 image"),
                       Error);
  CHECK_THROWS_WITH_AS(functional::resize(zeros({2, 2}), {5, 5}), Contains("expected an image [C, H, W]"), Error);
  CHECK_THROWS_WITH_AS(functional::resize(zeros({3, 0, 2}), {5, 5}), Contains("expected an image"), Error);
}

TEST_CASE("a part of a resized image has the pixels of the whole") {
  using enum InterpolationMode;
  for (const Tensor& image : {noise(3, 40, 30), noise(1, 30, 41).to(kFloat), noise(3, 4, 500), noise(3, 500, 1)})
    for (const ImageSize size : {ImageSize{20, 15}, ImageSize{31, 90}, ImageSize{30, 41}, ImageSize{9, 300}})
      for (const ImageSize part : {ImageSize{9, 9}, ImageSize{8, 15}, ImageSize{30, 41}, ImageSize{1, 1}})
        for (const auto mode : {kNearest, kBilinear, kBicubic})
          CHECK(functional::resize_and_center_crop(image, size, part, mode)
                    .equal(functional::center_crop(functional::resize(image, size, mode), part)));
  // The whole would take 13 GB.
  const Tensor thin = noise(3, 65535, 1);
  const ImageSize size = functional::size_with_shorter_side({65535, 1}, 256);
  CHECK(functional::resize_and_center_crop(thin, size, {224, 224}).sizes() == IntArrayRef({3, 224, 224}));
}

TEST_CASE("Resize scales the shorter side") {
  const auto sizes = [](const Tensor& t) { return t.sizes().vec(); };
  CHECK(sizes(applied(Resize(10), noise(3, 20, 35), 0)) == std::vector<int64_t>{3, 10, 17});
  CHECK(sizes(applied(Resize(10), noise(1, 35, 20), 0)) == std::vector<int64_t>{1, 17, 10});
  CHECK(sizes(applied(Resize(32), noise(1, 1, 5000), 0)) == std::vector<int64_t>{1, 32, 160000});
  CHECK(sizes(applied(Resize(ImageSize{5, 9}), noise(3, 20, 35), 0)) == std::vector<int64_t>{3, 5, 9});
  CHECK_THROWS_WITH_AS(Resize(0), Contains("Resize: size 0 x 0"), Error);
  CHECK_THROWS_WITH_AS(applied(Resize(5), zeros({4, 4}), 0), Contains("Resize: expected an image"), Error);
}

TEST_CASE("crops") {
  const Tensor image = noise(3, 7, 9);
  CHECK(functional::crop(image, 1, 2, {3, 4}).equal(image.slice(1, 1, 4).slice(2, 2, 6)));
  const Tensor beyond = functional::crop(image, -1, 7, {3, 4});
  CHECK(beyond.slice(1, 1, 3).slice(2, 0, 2).equal(image.slice(1, 0, 2).slice(2, 7, 9)));
  CHECK(beyond.to(kLong).sum().item<int64_t>() == image.slice(1, 0, 2).slice(2, 7, 9).to(kLong).sum().item<int64_t>());
  CHECK(functional::crop(image, 50, 0, {2, 2}).equal(zeros({3, 2, 2}, kByte)));
  // The margin of 5 rows is divided into 2 and 3, that of 7 columns into 4 and 3: halves are rounded to even.
  CHECK(functional::center_crop(image, {2, 2}).equal(image.slice(1, 2, 4).slice(2, 4, 6)));
  CHECK(functional::center_crop(image, {7, 9}).equal(image));
  CHECK(functional::center_crop(image, {10, 3}).slice(1, 1, 8).equal(image.slice(2, 3, 6)));
  CHECK(functional::pad(image, 2, 9).slice(1, 2, 9).slice(2, 2, 11).equal(image));
  CHECK(functional::pad(image, 2, 9)[1][0][0].item<int64_t>() == 9);
}

TEST_CASE("a part inside an image is a view, and one that touches it at a side or a corner is black") {
  const Tensor image = noise(1, 4, 5);
  for (const int64_t top : {0, 2})
    for (const int64_t left : {0, 3})
      CHECK(functional::crop(image, top, left, {2, 2}).data_ptr<uint8_t>() ==
            image.data_ptr<uint8_t>() + top * 5 + left);
  for (const auto& at : {std::pair{4, 0}, {-2, 0}, {0, 5}, {0, -2}, {4, 5}, {-2, -2}, {-2, 5}, {4, -2}})
    CHECK(functional::crop(image, at.first, at.second, {2, 2}).equal(zeros({1, 2, 2}, kByte)));
  const Tensor corner = functional::crop(image, -1, 4, {2, 2});
  CHECK(corner[0][1][0].equal(image[0][0][4]));
  CHECK(corner.to(kLong).sum().equal(image[0][0][4].to(kLong)));
}

// The mean of 3 x 3 pixels, in which the middle one counts five times.
TEST_CASE("sharpness of 0 smooths: flat images stay flat, and a point is spread") {
  for (const int64_t level : {0, 1, 128, 201, 255}) {
    const Tensor flat = full({3, 4, 5}, level, kByte);
    CHECK(functional::adjust_sharpness(flat, 0).equal(flat));
  }
  Tensor point = zeros({1, 5, 5}, kByte);
  point[0][2][2].fill_(130);
  Tensor spread = zeros({1, 5, 5}, kByte);
  spread.slice(1, 1, 4).slice(2, 1, 4).fill_(10);
  spread[0][2][2].fill_(50);
  CHECK(functional::adjust_sharpness(point, 0).equal(spread));
  CHECK(functional::adjust_sharpness(point, 1).equal(point));
}

TEST_CASE("sizes, starts and margins of crops are limited, of both sides") {
  const Tensor image = noise(1, 2, 3);
  constexpr int64_t far = 1 << 24;
  CHECK(functional::crop(image, -far, far, {1, 65535}).equal(zeros({1, 1, 65535}, kByte)));
  CHECK(functional::center_crop(image, {65535, 1}).slice(1, 32766, 32768).equal(image.slice(2, 1, 2)));
  CHECK(functional::pad(noise(1, 1, 1), 0).sizes() == IntArrayRef({1, 1, 1}));
  for (const int64_t side : {0, -1, 65536}) {
    const ImageSize low{side, 1}, narrow{1, side};
    for (const ImageSize& size : {low, narrow}) {
      CHECK_THROWS_WITH_AS(functional::crop(image, 0, 0, size), Contains("expected 1 to 65535 per side"), Error);
      CHECK_THROWS_WITH_AS(functional::center_crop(image, size), Contains("expected 1 to 65535 per side"), Error);
      CHECK_THROWS_WITH_AS(functional::resize_and_center_crop(image, {4, 4}, size), Contains("center_crop: size"),
                           Error);
    }
  }
  for (const int64_t start : {far + 1, -far - 1}) {
    CHECK_THROWS_WITH_AS(functional::crop(image, start, 0, {1, 1}), Contains("crop: starts at row"), Error);
    CHECK_THROWS_WITH_AS(functional::crop(image, 0, start, {1, 1}), Contains("crop: starts at row"), Error);
  }
  CHECK_THROWS_WITH_AS(functional::pad(image, -1), Contains("a margin of -1 pixels"), Error);
  CHECK_THROWS_WITH_AS(functional::pad(image, 65536), Contains("a margin of 65536 pixels"), Error);
}

// Turned by a quarter, half and three quarters, clockwise: exact, since centres of pixels are mapped to centres.
TEST_CASE("affine maps the centres of pixels, so that quarter turns move whole pixels") {
  const Tensor image = noise(2, 6, 6);
  CHECK(functional::affine(image, {.angle = 90}).equal(image.flip({1}).transpose(1, 2)));
  CHECK(functional::affine(image, {.angle = 180}).equal(image.flip({1, 2})));
  CHECK(functional::affine(image, {.angle = 270}).equal(image.transpose(1, 2).flip({1})));
  const Tensor from = tensor({1, 2, 2, 3, 3, 4});  // of the pixels 0 to 5, if the image is twice as large
  CHECK(functional::affine(image, {.scale = 2}).equal(image.index_select(1, from).index_select(2, from)));
}

TEST_CASE("RandomCrop: every position occurs, also those that need the padding") {
  const Tensor image = arange(1, 5, kLong).to(kByte).view({1, 2, 2});
  std::set<std::vector<int64_t>> seen;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const Tensor out = applied(RandomCrop(2, 1), image, seed).to(kLong).contiguous();
    seen.insert({out.data_ptr<int64_t>(), out.data_ptr<int64_t>() + 4});
  }
  CHECK(seen.size() == 9);
  CHECK(seen.count({0, 0, 0, 1}) == 1);
  CHECK(seen.count({4, 0, 0, 0}) == 1);
  CHECK_THROWS_WITH_AS(applied(RandomCrop(5, 1), image, 0), Contains("RandomCrop: 5 x 5 pixels of an image of 2 x 2"),
                       Error);
  CHECK_THROWS_AS(RandomCrop(5, -1), Error);
}

TEST_CASE("RandomResizedCrop: the boxes have the drawn shares and ratios") {
  // Each pixel holds its row, or its column, so that a crop shows its box.
  const Tensor rows = arange(100, kFloat).view({1, 100, 1}).expand({1, 100, 160});
  const Tensor columns = arange(160, kFloat).view({1, 1, 160}).expand({1, 100, 160});
  double least = 1, most = 0, share = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const RandomResizedCrop crop(50, {0.08, 1}, {0.75, 4.0 / 3}, InterpolationMode::kNearest);
    const auto extent = [&](const Tensor& t) {
      const Tensor out = applied(crop, t, seed);
      CHECK(out.sizes() == IntArrayRef({1, 50, 50}));
      return (out.max() - out.min()).item<double>() * 50 / 49;
    };
    const double height = extent(rows), width = extent(columns), area = height * width / 16000;
    least = std::min(least, area);
    most = std::max(most, area);
    share += area / 300;
    CHECK(width / height > 0.6);
    CHECK(width / height < 1.6);
  }
  CHECK(least < 0.15);
  CHECK(most > 0.7);
  CHECK(share > 0.3);
  CHECK(share < 0.6);
  // No box with that ratio fits: the largest one in the middle is taken.
  const Tensor thin = noise(3, 4, 400);
  CHECK(applied(RandomResizedCrop(ImageSize{4, 5}, {0.9, 1}), thin, 3).equal(thin.slice(2, 197, 202)));
  const Tensor high = noise(3, 400, 4);
  CHECK(applied(RandomResizedCrop(ImageSize{4, 4}, {0.9, 1}, {1, 1}), high, 3).equal(high.slice(1, 198, 202)));
  CHECK_THROWS_WITH_AS(applied(RandomResizedCrop(5), zeros({4, 4}), 0),
                       Contains("RandomResizedCrop: expected an image"), Error);
  CHECK_THROWS_AS(RandomResizedCrop(5, {0, 1}), Error);
  CHECK_THROWS_AS(RandomResizedCrop(5, {0.5, 0.2}), Error);
}

TEST_CASE("flips") {
  const Tensor image = noise(3, 4, 5);
  CHECK(applied(RandomHorizontalFlip(1), image, 0).equal(image.flip({2})));
  CHECK(applied(RandomVerticalFlip(1), image, 0).equal(image.flip({1})));
  CHECK(applied(RandomHorizontalFlip(0), image, 0).equal(image));
  int flipped = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed)
    flipped += applied(RandomHorizontalFlip(0.3), image, seed).equal(image.flip({2}));
  CHECK(flipped > 240);
  CHECK(flipped < 360);
  CHECK_THROWS_WITH_AS(RandomVerticalFlip(1.5), Contains("probability 1.5"), Error);
}

TEST_CASE("colours are those of torchvision's functions") {
  const Tensor image = image_of({10, 200, 60, 100, 120, 30}, 3, 1, 2);
  CHECK(largest_difference(functional::adjust_brightness(image, 1.5), image_of({15, 255, 90, 150, 180, 45}, 3, 1, 2)) <=
        1);
  CHECK(largest_difference(functional::adjust_contrast(image, 0.5), image_of({48, 143, 73, 93, 103, 58}, 3, 1, 2)) <=
        1);
  CHECK(largest_difference(functional::adjust_saturation(image, 2), image_of({0, 255, 69, 79, 189, 0}, 3, 1, 2)) <= 1);
  CHECK(largest_difference(functional::adjust_hue(image, 0.25), image_of({120, 45, 10, 200, 115, 30}, 3, 1, 2)) <= 1);
  const Tensor many = noise(3, 20, 20);
  CHECK(functional::adjust_brightness(many, 1).equal(many));
  CHECK(functional::adjust_contrast(many, 1).equal(many));
  CHECK(functional::adjust_saturation(many, 1).equal(many));
  CHECK(largest_difference(functional::adjust_hue(many, 0), many) <= 1);
  CHECK(functional::adjust_hue(noise(1, 3, 3), 0.3).equal(noise(1, 3, 3)));
  const Tensor even = functional::adjust_contrast(noise(1, 3, 3), 0);
  CHECK(even.equal(even[0][0][0].expand({1, 3, 3})));
  CHECK_THROWS_WITH_AS(functional::adjust_hue(many, 0.6), Contains("adjust_hue: 0.6 turns"), Error);
  CHECK_THROWS_WITH_AS(functional::adjust_contrast(many, -1), Contains("factor -1"), Error);
  CHECK_THROWS_WITH_AS(functional::adjust_brightness(many, HUGE_VAL), Contains("factor inf"), Error);
  CHECK_THROWS_WITH_AS(functional::adjust_saturation(many[0], 1), Contains("expected an image [C, H, W]"), Error);
  CHECK_THROWS_WITH_AS(functional::adjust_contrast(many.to(kFloat), 1), Contains("expected a uint8 image"), Error);
}

TEST_CASE("levels are counted from the first pixel to the last") {
  CHECK(functional::autocontrast(image_of({50, 100, 150}, 1, 1, 3)).equal(image_of({0, 127, 255}, 1, 1, 3)));
  CHECK(functional::autocontrast(image_of({150, 100, 50}, 1, 1, 3)).equal(image_of({255, 127, 0}, 1, 1, 3)));
  CHECK(functional::pad(image_of({1, 2}, 1, 1, 2), 0).equal(image_of({1, 2}, 1, 1, 2)));
  CHECK_THROWS_AS(functional::pad(image_of({1, 2}, 1, 1, 2), -1), Error);
}

TEST_CASE("a side of 32767 pixels is the longest that affine takes") {
  for (const bool wide : {false, true}) {
    const auto line = [&](int64_t n) { return wide ? zeros({1, 1, n}, kByte) : zeros({1, n, 1}, kByte); };
    CHECK(functional::affine(line(32767), {}).equal(line(32767)));
    CHECK_THROWS_WITH_AS(functional::affine(line(32768), {}), Contains("at most 32767 pixels"), Error);
  }
}

TEST_CASE("ColorJitter applies each change, and RandAugment makes torchvision's at full and at half strength") {
  const Tensor image = noise(3, 8, 331);
  const auto jitter = [](double a, double b, double c, double d) { return ColorJitter(a, b, c, d); };
  for (const ColorJitter& one :
       {jitter(0.5, 0, 0, 0), jitter(0, 0.5, 0, 0), jitter(0, 0, 0.5, 0), jitter(0, 0, 0, 0.5)})
    for (uint64_t seed = 0; seed < 4; ++seed) CHECK(!applied(one, image, seed).equal(image));
  namespace F = functional;
  for (const double part : {1.0, 0.5}) {
    std::vector<Tensor> expected{image, F::autocontrast(image), F::equalize(image),
                                 F::posterize(image, part == 1 ? 4 : 6), F::solarize(image, part == 1 ? 0 : 127.5)};
    for (const double sign : {-1.0, 1.0}) {
      const double turn = std::atan(sign * 0.3 * part) * (180 / M_PI), factor = 1 + sign * 0.9 * part;
      expected.push_back(F::affine(image, {.shear_x = turn, .center = std::pair(0.0, 0.0)}));
      expected.push_back(F::affine(image, {.shear_y = turn, .center = std::pair(0.0, 0.0)}));
      expected.push_back(F::affine(image, {.translate_x = sign * 150 * part}));
      expected.push_back(F::affine(image, {.translate_y = sign * (part == 1 ? 3 : 1)}));
      expected.push_back(F::rotate(image, sign * 30 * part));
      expected.push_back(F::adjust_brightness(image, factor));
      expected.push_back(F::adjust_contrast(image, factor));
      expected.push_back(F::adjust_saturation(image, factor));
      expected.push_back(F::adjust_sharpness(image, factor));
    }
    std::vector<Tensor> drawn;
    for (uint64_t seed = 0; seed < 150; ++seed)
      drawn.push_back(applied(RandAugment(1, part == 1 ? 30 : 15), image, seed));
    for (std::size_t k = 0; k < expected.size(); ++k)
      CHECK_MESSAGE(std::any_of(drawn.begin(), drawn.end(), [&](const Tensor& t) { return t.equal(expected[k]); }), k);
  }
  CHECK_THROWS_AS(RandAugment(1, -1), Error);
}

TEST_CASE("ColorJitter draws factors and orders") {
  const Tensor image = noise(3, 8, 8);
  std::set<int64_t> sums;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Tensor out = applied(ColorJitter(0.4, 0.4, 0.4, 0.1), image, seed);
    CHECK(out.equal(applied(ColorJitter(0.4, 0.4, 0.4, 0.1), image, seed)));
    sums.insert(out.to(kLong).sum().item<int64_t>());
  }
  CHECK(sums.size() > 15);
  // A factor is drawn from 0 or 1 - amount to 1 + amount: it turns the level 100 into 100 times the factor.
  for (const double amount : {0.25, 0.5, 1.0, 1.5}) {
    int64_t least = 255, most = 0;
    for (uint64_t seed = 0; seed < 100; ++seed) {
      const auto level = applied(ColorJitter(amount), full({3, 1, 1}, 100, kByte), seed)[0][0][0].item<int64_t>();
      least = std::min(least, level);
      most = std::max(most, level);
    }
    const double low = std::max(0.0, 100 - 100 * amount), high = 100 + 100 * amount;
    CHECK(static_cast<double>(least) >= std::floor(low));
    CHECK(static_cast<double>(least) < low + 0.1 * (high - low));
    CHECK(static_cast<double>(most) <= high);
    CHECK(static_cast<double>(most) > high - 0.1 * (high - low));
  }
  CHECK(applied(ColorJitter(), image, 1).equal(image));
  CHECK_THROWS_WITH_AS(ColorJitter(0, 0, 0, 0.6), Contains("hue 0.6"), Error);
  CHECK_THROWS_AS(ColorJitter(-1), Error);
}

TEST_CASE("RandAugment draws changes by the sample's random numbers") {
  const Tensor image = noise(3, 20, 24);
  std::vector<Tensor> seen;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    const Tensor out = applied(RandAugment(1, 15), image, seed);
    CHECK(out.sizes() == image.sizes());
    CHECK(applied(RandAugment(1, 15), image, seed).equal(out));
    if (std::none_of(seen.begin(), seen.end(), [&](const Tensor& t) { return t.equal(out); })) seen.push_back(out);
  }
  CHECK(seen.size() == 23);  // none, nine in two directions, four without a direction
  CHECK(applied(RandAugment(0), image, 1).equal(image));
  CHECK(applied(RandAugment(2, 30), noise(1, 5, 1), 3).sizes() == IntArrayRef{1, 5, 1});
  CHECK_THROWS_WITH_AS(RandAugment(2, 31), Contains("magnitude 31 of 31 bins"), Error);
  CHECK_THROWS_WITH_AS(functional::affine(image, {.scale = 0}), Contains("scale 0"), Error);
  CHECK_THROWS_WITH_AS(functional::affine(image, {.shear_x = 90}), Contains("too far"), Error);
  CHECK_THROWS_WITH_AS(functional::posterize(image, 9), Contains("0 to 8"), Error);
  CHECK_THROWS_WITH_AS(functional::equalize(image.to(kFloat)), Contains("uint8"), Error);
}

TEST_CASE("conversion and normalisation") {
  const Tensor image = image_of({0, 51, 255, 102, 153, 204}, 3, 1, 2);
  const Tensor in_float = applied(ConvertImageDtype(), image, 0);
  CHECK(in_float.equal(image.to(kFloat).div(255)));
  CHECK(applied(ConvertImageDtype(kByte), in_float, 0).equal(image));
  CHECK(applied(ConvertImageDtype(kDouble), in_float, 0).equal(in_float.to(kDouble)));
  const Tensor mean = tensor({0.1, 0.2, 0.3}, kFloat).view({3, 1, 1}),
               stddev = tensor({0.5, 0.25, 2.0}, kFloat).view({3, 1, 1});
  CHECK(applied(transforms::Normalize({0.1, 0.2, 0.3}, {0.5, 0.25, 2}), in_float, 0)
            .equal(in_float.sub(mean).div(stddev)));
  CHECK(applied(transforms::Normalize({0.5}, {0.5}), in_float, 0).equal(in_float.sub(0.5).div(0.5)));
  CHECK_THROWS_WITH_AS(applied(transforms::Normalize({0.5}, {0.5}), image, 0), Contains("ConvertImageDtype"), Error);
  CHECK_THROWS_WITH_AS(applied(transforms::Normalize({1, 2}, {1, 2}), in_float, 0), Contains("2 values for 3 channels"),
                       Error);
  CHECK_THROWS_WITH_AS(applied(transforms::Normalize({1}, {0}), in_float, 0), Contains("standard deviation is 0"),
                       Error);
}

TEST_CASE("a sample's random numbers do not depend on those of other samples") {
  // A step that draws more for some images leaves the later images unchanged.
  const Tensor images = stack(std::vector<Tensor>{noise(3, 9, 9, 1), noise(3, 9, 9, 2), noise(3, 9, 9, 3)});
  const auto third = [&](const Compose::Step& step) {
    const GeneratorGuard guard{Generator(5)};
    std::vector<Tensor> batch{images};
    for_batches(step)(batch);
    return batch[0][2].clone();
  };
  struct Eager : ImageTransform {
    Tensor transformed(const Tensor& image, RandomStream& random) const override {
      const Tensor out = RandomHorizontalFlip().transformed(image, random);
      for (int64_t i = 0; i < image[0][0][0].item<int64_t>(); ++i) random.chance(0.5);
      return out;
    }
  };
  CHECK(third(Eager()).equal(third(RandomHorizontalFlip())));
  CHECK_THROWS_WITH_AS(([] {
                         std::vector<Tensor> none{zeros({2, 3})};
                         for_batches(RandomHorizontalFlip())(none);
                       }()),
                       Contains("[N, C, H, W]"), Error);
}

TEST_CASE("BatchLoader with transforms: the batches do not depend on the workers") {
  const Tensor images = noise(3, 40, 8 * 8).view({40, 3, 8, 8}), labels = arange(40, kLong);
  const auto step =
      for_batches(Compose({RandomCrop(8, 2), RandomHorizontalFlip(), ColorJitter(0.2), ConvertImageDtype()}));
  const auto all = [&](int workers, uint64_t seed) {
    data::BatchLoader loader({images, labels}, {.batch_size = 7, .shuffle = true, .workers = workers, .seed = seed},
                             step);
    std::vector<Tensor> out;
    while (auto batch = loader.next()) out.push_back((*batch)[0]);
    return cat(out);
  };
  const Tensor alone = all(0, 3);
  CHECK(alone.sizes() == IntArrayRef({40, 3, 8, 8}));
  CHECK(alone.equal(all(1, 3)));
  CHECK(alone.equal(all(3, 3)));
  CHECK(!alone.equal(all(0, 4)));
}
