// Safetensors files.
#include "tandem/nn/files/safetensors.h"

#include "tandem/tests/fuzz/fuzz.h"

bool tandem::fuzz::accepts(const uint8_t* data, std::size_t size) {
  try {
    serialize::parse_safetensors(data, size, "input");
    return true;
  } catch (const Error&) {
    return false;
  }
}
