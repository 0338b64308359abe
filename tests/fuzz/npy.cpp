// NumPy's .npy files.
#include "tandem/nn/files/npy.h"

#include "tandem/core/error.h"
#include "tandem/tests/fuzz/fuzz.h"

bool tandem::fuzz::accepts(const uint8_t* data, std::size_t size) {
  try {
    serialize::parse_npy(data, size, "input");
    return true;
  } catch (const Error&) {
    return false;
  }
}
