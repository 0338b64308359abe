// PNG images.
#include "tandem/cli/image.h"

#include <vector>

#include "tandem/core/error.h"
#include "tandem/tests/fuzz/fuzz.h"

bool tandem::fuzz::accepts(const uint8_t* data, std::size_t size) {
  try {
    cli::decode_image(std::vector<uint8_t>(data, data + size), "input");
    return true;
  } catch (const Error&) {
    return false;
  }
}
