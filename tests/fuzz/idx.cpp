// IDX files, plain and gzipped.
#include "tandem/datasets/idx.h"

#include <vector>

#include "tandem/core/error.h"
#include "tandem/datasets/gz_input.h"
#include "tandem/tests/fuzz/fuzz.h"

bool tandem::fuzz::accepts(const uint8_t* data, std::size_t size) {
  try {
    std::vector<uint8_t> bytes;
    data::GzInput input(reinterpret_cast<const char*>(data), size, "input");
    data::read_idx(input, [&](const data::IdxHeader& header) -> void* {
      bytes.resize(header.bytes);
      return bytes.data();
    });
    return true;
  } catch (const Error&) {
    return false;
  }
}
