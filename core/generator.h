// Generator: a Philox stream of random numbers: a seed and an offset, nothing else.
//
// Element i of a draw depends on (seed, offset of the draw, i) alone: see core/philox.h.
#pragma once
#include <cstdint>
#include <memory>

#include "tandem/core/device.h"

namespace tandem {

class Generator {
 public:
  /// A new stream of its own; a copy of a Generator shares the stream.
  explicit Generator(uint64_t seed = kDefaultSeed);

  static constexpr uint64_t kDefaultSeed = 67280421310721;  // as in PyTorch

  /// Starts the stream of `seed` at offset 0.
  void set_current_seed(uint64_t seed) const;
  uint64_t current_seed() const;
  /// Draws taken so far. Seed and offset are the whole state: what a checkpoint stores.
  uint64_t offset() const;
  void set_offset(uint64_t offset) const;
  /// The offset for one draw; the next draw gets another. Safe from several threads.
  struct Draw {
    uint64_t seed, offset;
  };
  Draw next() const;
  /// The first of `count` draws that follow each other.
  Draw take(uint64_t count) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// The generator used where none is given; all devices share it, so a seed gives the same numbers on each.
const Generator& default_generator();

/// Makes `generator` the default of the calling thread alone until the guard goes out of scope: what helper
/// threads draw then depends on what they were given, not on which of them came first.
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
