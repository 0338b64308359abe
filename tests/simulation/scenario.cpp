#include "tandem/tests/simulation/scenario.h"

#include <cstring>

namespace tandem::simulation {

bool Rank::step(int64_t index, ProcessGroup& group) const {
  if (world.happens(Fault::kLeaves, rank, index)) throw Left();
  if (world.happens(Fault::kAbort, rank, index)) group.abort("the drawn reason");
  return world.happens(Fault::kOtherCall, rank, index);
}

void Rank::digest(int64_t place, const std::vector<Tensor>& results) const {
  uint64_t hash = mix(static_cast<uint64_t>(place));
  for (const Tensor& tensor : results) {
    const Tensor values = tensor.contiguous();
    const char* bytes = static_cast<const char*>(values.data_ptr());
    for (std::size_t at = 0; at < values.nbytes(); at += 8) {
      uint64_t word = 0;
      std::memcpy(&word, bytes + at, std::min<std::size_t>(8, values.nbytes() - at));
      hash = mix(hash ^ word);
    }
  }
  outcome.digests[place] = hash;
}

std::unique_ptr<Scenario> draw_scenario(uint64_t seed) {
  Random random(seed, 3);
  const int size = random.one_in(16) ? 1 : static_cast<int>(random.between(2, random.one_in(4) ? 5 : 3));
  std::unique_ptr<Scenario> scenario = random.one_in(2) ? draw_training(random, size) : draw_collectives(random, size);
  constexpr int kSeconds[] = {1, 2, 3, 10, 30};
  scenario->size = size;
  scenario->timeout = Milliseconds(1000 * kSeconds[random.below(5)]);
  return scenario;
}

}  // namespace tandem::simulation
