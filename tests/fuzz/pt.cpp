// PyTorch's .pt files, old and new. Checksums are ignored: otherwise hardly any mutated file would reach the pickle.
#include "tandem/nn/files/pt/pt.h"

#include <cstdlib>

#include "tandem/nn/files/safetensors.h"
#include "tandem/tests/fuzz/fuzz.h"

bool tandem::fuzz::accepts(const uint8_t* data, std::size_t size) {
  ::setenv(serialize::kIgnoreSums, "1", 1);
  try {
    serialize::parse_pt(data, size, "input");
    return true;
  } catch (const Error&) {
    return false;
  }
}
