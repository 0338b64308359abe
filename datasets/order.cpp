// Separate Philox keys (the constants), so the numbers differ from those that initialise parameters.
#include "tandem/datasets/order.h"

#include <numeric>
#include <utility>

#include "tandem/core/error.h"
#include "tandem/core/random/philox.h"
#include "tandem/core/random/splitmix64.h"

namespace tandem::data {
namespace {

constexpr uint64_t kOrderKey = 0x6F72646572000001u, kBatchKey = 0x6261746368000001u, kSeedKey = 0x7365656400000001u;

uint64_t word64(const PhiloxBlock& block, std::size_t half) {
  return uint64_t{block.word[2 * half]} << 32 | block.word[2 * half + 1];
}

// The upper 64 bits of a * b: for random a uniform in [0, b), with a bias below b / 2^64.
uint64_t high_product(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>((Wide{a} * b) >> 64);
}

}  // namespace

std::vector<int64_t> shuffled_order(int64_t count, uint64_t seed, int64_t epoch) {
  check(count >= 0, "shuffled_order: count must be at least 0, got ", count);
  std::vector<int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  PhiloxBlock block{};
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    if (i % 2 == 0) block = philox(seed ^ kOrderKey, static_cast<uint64_t>(epoch), i / 2);
    const uint64_t left = order.size() - i;
    std::swap(order[i], order[i + high_product(word64(block, i % 2), left)]);
  }
  return order;
}

uint64_t drawn_seed(const Generator& generator) {
  const Generator::Draw draw = generator.next();
  return word64(philox(draw.seed ^ kSeedKey, draw.offset, 0), 0);
}

Generator batch_generator(uint64_t seed, int64_t epoch, int64_t batch, int64_t piece) {
  if (piece != 0) seed ^= mixed(static_cast<uint64_t>(piece));
  return Generator(word64(philox(seed ^ kBatchKey, static_cast<uint64_t>(epoch), static_cast<uint64_t>(batch)), 0));
}

}  // namespace tandem::data
