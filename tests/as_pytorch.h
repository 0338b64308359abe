// GeneratorMode::kPyTorch with a default generator of its own, until the end of the scope.
#pragma once
#include "tandem/core/random/generator.h"

namespace tandem::test {

struct AsPyTorch {
  explicit AsPyTorch(uint64_t seed) : generator(seed), guard(generator) { set_generator_mode(GeneratorMode::kPyTorch); }
  ~AsPyTorch() { set_generator_mode(GeneratorMode::kPhilox); }
  AsPyTorch(const AsPyTorch&) = delete;
  AsPyTorch& operator=(const AsPyTorch&) = delete;
  Generator generator;
  GeneratorGuard guard;
};

}  // namespace tandem::test
