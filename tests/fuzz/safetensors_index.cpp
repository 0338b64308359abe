// Indices of sharded safetensors checkpoints.
#include "tandem/nn/files/safetensors_index.h"

#include "tandem/core/error.h"
#include "tandem/tests/fuzz/fuzz.h"

bool tandem::fuzz::accepts(const uint8_t* data, std::size_t size) {
  try {
    serialize::parse_index({reinterpret_cast<const char*>(data), size}, "input");
    return true;
  } catch (const Error&) {
    return false;
  }
}
