// The exports of libtandem_eigen.so: the kernels that Eigen computes. They take a sixth of the library's time to compile,
// and most programs never call them. Static builds contain them.
#pragma once
#include <cstdint>

#include "tandem/core/backend/decomposition.h"
#include "tandem/core/backend/fft.h"

namespace tandem::cpu {

struct EigenPlugin {
  uint64_t layout;  // kTableLayout
  const DecompositionKernels* decomposition;
  const FftKernels* fft;
};

}  // namespace tandem::cpu

extern "C" const tandem::cpu::EigenPlugin tandem_eigen_plugin;
