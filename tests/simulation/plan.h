// What disturbs a job, drawn from a seed.
#pragma once
#include <string>
#include <vector>

#include "tandem/tests/simulation/scenario.h"

namespace tandem::simulation {

/// So many seeds disturb one scenario.
inline constexpr uint64_t kPlansPerScenario = 8;

struct Plan {
  uint32_t preempt_every = 0;
  Conditions conditions;
  std::vector<Fault> faults;
  int store_host = -1;
  std::string text() const;
};

/// `calls`: how many each process makes without disturbance.
Plan draw_plan(uint64_t seed, const Scenario& scenario, const std::vector<int64_t>& calls);
/// Whether the job must succeed in spite of the fault.
bool is_harmless(const Fault& fault, Milliseconds timeout);

}  // namespace tandem::simulation
