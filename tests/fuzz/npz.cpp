// NumPy's .npz files. Checksums are ignored: otherwise hardly any mutated file would reach the arrays.
#include "tandem/nn/files/pt/npz.h"

#include <cstdlib>

#include "tandem/core/error.h"
#include "tandem/nn/files/safetensors.h"
#include "tandem/tests/fuzz/fuzz.h"

bool tandem::fuzz::accepts(const uint8_t* data, std::size_t size) {
  ::setenv(serialize::kIgnoreSums, "1", 1);
  try {
    serialize::parse_npz(data, size, "input");
    return true;
  } catch (const Error&) {
    return false;
  }
}
