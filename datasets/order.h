// The order in which an epoch visits the examples: a pure function of seed, epoch and their number.
#pragma once
#include <cstdint>
#include <vector>

#include "tandem/core/generator.h"

namespace tandem::data {

/// 0 … count - 1 in random order, each of the count! orders about equally likely (Fisher and Yates's shuffle
/// by Philox). Throws Error: count < 0.
std::vector<int64_t> shuffled_order(int64_t count, uint64_t seed, int64_t epoch);

/// A seed for who was given none: from the default generator, so that manual_seed fixes it.
uint64_t drawn_seed();

/// The random numbers for the making of one batch: the default generator of its job.
Generator batch_generator(uint64_t seed, int64_t epoch, int64_t batch);

}  // namespace tandem::data
