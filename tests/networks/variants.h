// Trains a network in ways that must lead to the same bits, or to the same numbers within a tolerance.
#pragma once
#include "tandem/tests/networks/training.h"

namespace tandem::testing {

/// What differs from `plain`, the outcome of training with `dtype`: a line each, empty if nothing does.
Words differences(const DescriptionPtr& description, ScalarType dtype, const Outcome& plain);

}  // namespace tandem::testing
