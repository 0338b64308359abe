// PyTorch's .pt files, old and new, also as archives of an optimizer. Checksums are ignored: otherwise hardly any mutated
// file would reach the pickle.
#include "tandem/nn/files/pt/pt.h"

#include <cstdlib>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/nn/files/archive.h"
#include "tandem/nn/files/safetensors.h"
#include "tandem/nn/optim/adam.h"
#include "tandem/tests/fuzz/fuzz.h"

namespace {

using namespace tandem;

// Throws where archives are not read: without libtandem_pt, this would test nothing.
bool read_empty_archive() {
  const std::string empty = serialize::pt_bytes(IValue(GenericDict()));
  serialize::InputArchive().load_from(empty.data(), empty.size());
  return true;
}

void read_archive(const char* data, std::size_t size) {
  optim::Adam adam(std::vector<Tensor>{zeros({3}), zeros({2})});
  try {
    serialize::InputArchive archive;
    archive.load_from(data, size);
    adam.load(archive);
  } catch (const Error&) {
    // Not every value is an archive, or one of an optimizer.
  }
}

}  // namespace

bool tandem::fuzz::accepts(const uint8_t* data, std::size_t size) {
  ::setenv(serialize::kIgnoreSums, "1", 1);
  [[maybe_unused]] static const bool read = read_empty_archive();  // its error is a finding
  try {
    serialize::parse_pt(data, size, "input");
    read_archive(reinterpret_cast<const char*>(data), size);
    return true;
  } catch (const Error&) {
    return false;
  }
}
