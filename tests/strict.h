// What tests that compare devices need: convolutions of float32 in full precision, by the engines that cuDNN proposes.
#pragma once
#include "tandem/core/global_context.h"

namespace tandem::test {

struct Strict {
  Strict() {
    globalContext().setAllowTF32CuDNN(false);
    globalContext().setBenchmarkCuDNN(false);
  }
};

}  // namespace tandem::test
