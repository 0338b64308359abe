// Runs scenarios in child processes with the Nth call failing, and judges what happened.
#pragma once
#include <cstdint>
#include <string>

#include "tandem/tests/faults/scenario.h"

namespace tandem::faults {

/// Which calls fail.
struct Choice {
  int64_t nth = 0;        // only this one; 0: all, or a sample
  int64_t samples = 0;    // at most so many of a kind; 0: all
  bool messages = false;  // print the errors' messages
};

struct Counts {
  int64_t passed = 0, failed = 0;
};

/// Lets calls of `kind` fail in new processes (`cold`), and one after another in one process that has run the scenario
/// before.
Counts run(const Scenario& scenario, Kind kind, bool cold, const Choice& choice);

}  // namespace tandem::faults
