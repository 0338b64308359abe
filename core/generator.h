// Generator: a Philox stream of random numbers. Its whole state is a seed and an offset.
//
// Element i of a draw depends only on (seed, offset of the draw, i): see core/philox.h.
#pragma once
#include <cstdint>
#include <memory>

#include "tandem/core/device.h"

namespace tandem {

class Generator {
 public:
  /// Starts a new stream; copies of a Generator share its stream.
  explicit Generator(uint64_t seed = kDefaultSeed);

  static constexpr uint64_t kDefaultSeed = 67280421310721;  // as in PyTorch

  /// Restarts the stream from `seed` at offset 0.
  void set_current_seed(uint64_t seed) const;
  uint64_t current_seed() const;
  /// Number of draws taken so far. A checkpoint stores the seed and this offset.
  uint64_t offset() const;
  void set_offset(uint64_t offset) const;
  /// The seed and offset of one draw; the next draw gets another offset. Thread-safe.
  struct Draw {
    uint64_t seed, offset;
  };
  Draw next() const;
  /// The first of `count` consecutive draws.
  Draw take(uint64_t count) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// The generator used when none is given. All devices share it, so a seed produces the same numbers on each.
const Generator& default_generator();

/// Makes `generator` the default of the calling thread until the guard goes out of scope. The draws of helper
/// threads then depend on their generator, not on which thread came first.
class GeneratorGuard {
 public:
  explicit GeneratorGuard(const Generator& generator);
  ~GeneratorGuard();
  GeneratorGuard(const GeneratorGuard&) = delete;
  GeneratorGuard& operator=(const GeneratorGuard&) = delete;

 private:
  const Generator* previous_;
  Generator generator_;
};
/// Seeds the default generator.
void manual_seed(uint64_t seed);
inline Generator make_generator(uint64_t seed) { return Generator(seed); }

}  // namespace tandem
