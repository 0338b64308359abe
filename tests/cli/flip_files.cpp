// Corrupts bytes of a safetensors file in memory and loads it with the library: flip_files FILE COUNT SEED.
// Half of the changes are in the header. With COUNT 0, every bit of the file is flipped in turn. Last line:
// "N refused, N identical, N silently different".
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include "tandem/nn/files/safetensors.h"

using namespace tandem;
using serialize::SafeTensors;

namespace {

// Whether `b` has all entries and tensors of `a`, with equal contents.
bool holds(const SafeTensors& a, const SafeTensors& b) {
  for (const auto& item : a.metadata) {
    const std::string* text = b.metadata.find(item.key());
    if (text == nullptr || *text != item.value()) return false;
  }
  for (const auto& item : a.tensors) {
    const Tensor &t = item.value(), *other = b.tensors.find(item.key());
    if (other == nullptr || other->dtype() != t.dtype() || other->sizes() != t.sizes()) return false;
    if (t.numel() != 0 && std::memcmp(t.data_ptr(), other->data_ptr(), t.nbytes()) != 0) return false;
  }
  return a.tensors.size() == b.tensors.size();
}

struct Counts {
  long refused = 0, identical = 0, different = 0;
};

void flip(std::string& bytes, std::size_t at, unsigned change, const SafeTensors& whole, Counts& counts) {
  bytes[at] = static_cast<char>(bytes[at] ^ change);
  try {
    const bool same = holds(whole, serialize::parse_safetensors(bytes.data(), bytes.size(), "flipped"));
    ++(same ? counts.identical : counts.different);
    if (!same) std::printf("byte %zu changed by %u: silently different\n", at, change);
  } catch (const Error&) {
    ++counts.refused;
  }
  bytes[at] = static_cast<char>(bytes[at] ^ change);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  std::ifstream in(argv[1], std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const SafeTensors whole = serialize::parse_safetensors(bytes.data(), bytes.size(), argv[1]);
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  Counts counts;
  const long count = std::atol(argv[2]);
  std::mt19937_64 draw(static_cast<uint64_t>(std::atoll(argv[3])));
  for (long i = 0; i < count; ++i) {
    const std::size_t at = draw() % (i % 2 == 0 ? bytes.size() : 8 + header);
    flip(bytes, at, i % 4 < 2 ? 1u << draw() % 8 : 1 + static_cast<unsigned>(draw() % 255), whole, counts);
  }
  for (std::size_t i = 0; count == 0 && i < 8 * bytes.size(); ++i) flip(bytes, i / 8, 1u << i % 8, whole, counts);
  std::printf("%ld refused, %ld identical, %ld silently different\n", counts.refused, counts.identical,
              counts.different);
  return counts.different != 0;
}
