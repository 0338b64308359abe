// The order in which an epoch visits the examples: a pure function of seed, epoch and the number of examples.
#pragma once
#include <cstdint>
#include <vector>

#include "tandem/core/random/generator.h"

namespace tandem::data {

/// 0 … count - 1 in random order, each of the count! orders about equally likely (Fisher-Yates shuffle with
/// Philox). Throws Error if count < 0.
std::vector<int64_t> shuffled_order(int64_t count, uint64_t seed, int64_t epoch);

/// A seed drawn from a generator, by default the default generator, so manual_seed determines it; used if no seed is
/// given.
uint64_t drawn_seed(const Generator& generator = default_generator());

/// The generator for one batch: the default generator of its job. If jobs make pieces of a batch, each has
/// another number `piece`.
Generator batch_generator(uint64_t seed, int64_t epoch, int64_t batch, int64_t piece = 0);

}  // namespace tandem::data
