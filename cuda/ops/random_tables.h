// The parts of the table of random numbers, each made in a file of its own.
#pragma once
#include "tandem/cuda/tables.h"

namespace tandem::cuda {
extern const FillRandomKernels fill_random_kernels;
}  // namespace tandem::cuda
