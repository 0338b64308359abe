// The lists of devices and numbers of processes that `tandem compare` compares.
#pragma once
#include <string>
#include <vector>

#include "tandem/cli/device_list.h"
#include "tandem/cli/options.h"

namespace tandem::cli {

// A list of devices, or a number of processes.
struct Candidate {
  Placement placement;
  int processes = 1;
  bool takes_part = true;  // this process
  std::string label;
  int64_t workers() const { return processes * static_cast<int64_t>(placement.devices.size()); }
};

/// Given by --shards, or the default for several processes.
int64_t shards_of(const CompareOptions& o);
/// Throws UsageError unless there are two or more, and each number of processes once, and on an unknown --scaling.
void check_candidates(const CompareOptions& o);
/// Makes the teams, so every process calls this. Throws UsageError.
std::vector<Candidate> candidates_of(const CompareOptions& o, const Team& team);
/// Number of logical CPU devices that the placement needs.
int logical_of(const Placement& p);
/// Threads per device, equal in all runs: the cores divided by the largest number of CPU devices. Throws UsageError.
int threads_of(const CompareOptions& o, const std::vector<Candidate>& candidates);

}  // namespace tandem::cli
