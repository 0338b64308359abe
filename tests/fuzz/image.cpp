// PNG and JPEG images.
#include "tandem/core/error.h"
#include "tandem/core/tensor.h"
#include "tandem/datasets/vision/image_file.h"
#include "tandem/tests/fuzz/fuzz.h"

bool tandem::fuzz::accepts(const uint8_t* data, std::size_t size) {
  // With and without the chunks that only matter to a viewer; small, so that mutated sizes do not take seconds.
  bool accepted = false;
  for (const bool viewed : {false, true}) {
    vision::DecodeOptions options{.mode = vision::ImageReadMode::kUnchanged, .max_pixels = 1 << 20};
    if (viewed) options.background = 255;
    try {
      vision::decode_image({reinterpret_cast<const char*>(data), size}, "input", options);
      accepted = true;
    } catch (const Error&) {
    }
  }
  return accepted;
}
