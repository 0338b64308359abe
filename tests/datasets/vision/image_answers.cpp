// Answers pillow_test.py: reads commands from standard input, writes each resulting image as raw bytes to OUT, and
// prints its sizes, or "error" with the message.
//
//   FUNCTION IMAGE OUT [NUMBER...]
#include <iostream>
#include <sstream>

#include "tandem/core/base/atomic_file.h"
#include "tandem/core/error.h"
#include "tandem/datasets/vision/functional.h"
#include "tandem/datasets/vision/image_file.h"
#include "tandem/datasets/vision/rand_augment.h"

using namespace tandem;
using namespace tandem::vision;

namespace {

Tensor answer(const std::string& function, const std::string& path, const std::vector<double>& numbers) {
  const auto number = [&](std::size_t i) { return numbers.at(i); };
  const auto size = [&] { return ImageSize{static_cast<int64_t>(number(0)), static_cast<int64_t>(number(1))}; };
  if (function == "read_gray") return read_image(path, {.mode = ImageReadMode::kGray});
  const Tensor image = read_image(path);
  if (function == "read") return image;
  if (function == "nearest") return functional::resize(image, size(), InterpolationMode::kNearest);
  if (function == "bilinear") return functional::resize(image, size());
  if (function == "bicubic") return functional::resize(image, size(), InterpolationMode::kBicubic);
  if (function == "center_crop") return functional::center_crop(image, size());
  if (function == "brightness") return functional::adjust_brightness(image, number(0));
  if (function == "contrast") return functional::adjust_contrast(image, number(0));
  if (function == "saturation") return functional::adjust_saturation(image, number(0));
  if (function == "affine")
    return functional::affine(image, {.angle = number(0),
                                      .translate_x = number(1),
                                      .translate_y = number(2),
                                      .scale = number(3),
                                      .shear_x = number(4),
                                      .shear_y = number(5)});
  if (function == "rotate") return functional::rotate(image, number(0));
  if (function == "posterize") return functional::posterize(image, static_cast<int64_t>(number(0)));
  if (function == "solarize") return functional::solarize(image, number(0));
  if (function == "autocontrast") return functional::autocontrast(image);
  if (function == "equalize") return functional::equalize(image);
  if (function == "sharpness") return functional::adjust_sharpness(image, number(0));
  if (function == "rand_augment") {
    RandomStream random({static_cast<uint64_t>(number(0)), 0});
    return transforms::RandAugment(1, static_cast<int64_t>(number(1))).transformed(image, random);
  }
  if (function == "hue") return functional::adjust_hue(image, number(0));
  fail("unknown function ", function);
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string function, path, out;
    words >> function >> path >> out;
    std::vector<double> numbers;
    for (double number = 0; words >> number;) numbers.push_back(number);
    try {
      const Tensor image = answer(function, path, numbers).contiguous();
      write_file_atomically(out, {static_cast<const char*>(image.data_ptr()), image.nbytes()});
      std::cout << image.size(0) << ' ' << image.size(1) << ' ' << image.size(2) << std::endl;
    } catch (const std::exception& e) {
      std::cout << "error " << e.what() << std::endl;
    }
  }
}
