// RandomStream: the random numbers of one sample. Philox, keyed by one draw of the default generator; a data loader
// gives each batch its own generator, so the numbers depend on (seed, epoch, batch, place in the batch), but
// neither on the number of workers nor on how many numbers other samples have used.
#pragma once
#include <cstdint>

#include "tandem/core/random/generator.h"
#include "tandem/core/random/philox.h"

namespace tandem::vision {

class RandomStream {
 public:
  explicit RandomStream(Generator::Draw draw) : draw_(draw) {}
  /// The next sample's numbers, drawn from the default generator.
  static RandomStream of_next_sample() { return RandomStream(default_generator().next()); }

  /// Uniform in [low, high).
  double uniform(double low, double high) { return low + (high - low) * next(); }
  /// 0 to count - 1; count from 1 to 2^53.
  int64_t below(int64_t count) { return static_cast<int64_t>(next() * static_cast<double>(count)); }
  bool chance(double probability) { return next() < probability; }

 private:
  double next() {
    const PhiloxBlock block = philox(draw_.seed ^ kKey, draw_.offset, block_++);
    return uniform_double(block.word[0], block.word[1]);
  }
  static constexpr uint64_t kKey = 0x696D616765000001u;  // so that the numbers differ from those of tensors
  Generator::Draw draw_;
  uint64_t block_ = 0;
};

}  // namespace tandem::vision
