// Runs one seed: draws a scenario and what disturbs it, runs the job until it succeeds, and judges what came out.
#pragma once
#include <cstdint>
#include <string>

#include "tandem/tests/simulation/world.h"

namespace tandem::simulation {

struct SeedOptions {
  bool trace = false;
  Bug bug = Bug::kNone;
};

struct SeedResult {
  std::string failure;  ///< empty: as it should be
  std::string plan;     ///< what was drawn
  uint64_t hash = 0;    ///< of all scheduling decisions and messages
  int attempts = 0;
};

SeedResult run_seed(uint64_t seed, const SeedOptions& options = {});
/// Before the first seed: makes what the library makes once per process.
void warm_up();

}  // namespace tandem::simulation
