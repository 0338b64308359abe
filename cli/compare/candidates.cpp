#include "tandem/cli/compare/candidates.h"

#include <algorithm>

#include "tandem/cli/launch/many_processes.h"
#include "tandem/cli/message.h"
#include "tandem/cli/train/recipe.h"
#include "tandem/core/base/suggest.h"
#include "tandem/core/threads/usable_cores.h"

namespace tandem::cli {

namespace {

void check_scaling(const std::string& scaling) {
  const std::vector<std::string> known{"strong", "weak", "both"};
  require(std::ranges::count(known, scaling) > 0, "--scaling ", scaling, ": expected strong, weak or both",
          did_you_mean(scaling, known));
}

// Refuses options that would have no effect.
void check_effects(const CompareOptions& o, const std::vector<Candidate>& candidates) {
  const auto all = [&](auto&& condition) { return std::ranges::all_of(candidates, condition); };
  require(
      o.scaling == "strong" || !all([&](const Candidate& c) { return c.workers() == candidates.front().workers(); }),
      "--scaling ", o.scaling, ": all have the same number of devices, so the batch stays the same");
  check_precision(o.recipe, all([](const Candidate& c) { return c.placement.root.is_cpu(); }));
}

}  // namespace

int64_t shards_of(const CompareOptions& o) {
  if (o.processes.empty() || o.shards) return o.shards.value_or(0);
  return shards_for(*std::max_element(o.processes.begin(), o.processes.end()));
}

void check_candidates(const CompareOptions& o) {
  check_scaling(o.scaling);
  const std::size_t count = o.devices.size() + o.processes.size();
  require(count >= 2, "--devices: expected two or more lists to compare, such as --devices cpu:0 --devices cpu:0,cpu:1",
          count == 0 ? "" : "; got only one");
  for (const int processes : o.processes)
    require(std::ranges::count(o.processes, processes) <= 1, "--processes ", processes, ": this number is given twice");
}

std::vector<Candidate> candidates_of(const CompareOptions& o, const Team& team) {
  std::vector<Candidate> out;
  for (const std::string& list : o.devices) {
    Placement p = use_placement(split_names(list), "", shards_of(o));
    for (const Candidate& other : out)
      require(other.placement.devices != p.devices, "--devices ", list, ": this list is given twice");
    const std::string label = short_names_of(p.devices);
    out.push_back({std::move(p), 1, team.leads(), label});
  }
  for (const int processes : o.processes) {
    Placement p = use_placement(own_devices(team, {}), "", shards_of(o));
    p.team = team.first(processes);
    out.push_back({std::move(p), processes, team.rank() < processes, counted(processes, "process", "processes")});
  }
  check_effects(o, out);
  return out;
}

int logical_of(const Placement& p) {
  int count = 1;
  for (const Device& device : p.devices)
    if (device.is_cpu()) count = std::max(count, device.index() + 1);
  return count;
}

int threads_of(const CompareOptions& o, const std::vector<Candidate>& candidates) {
  int most = 1;
  for (const Candidate& c : candidates) {
    const auto& devices = c.placement.devices;
    const auto on_cpu = std::ranges::count_if(devices, [](const Device& d) { return d.is_cpu(); });
    most = std::max(most, static_cast<int>(on_cpu) * c.processes);
  }
  const int threads = o.threads > 0 ? o.threads : std::max(1, usable_cores() / most);
  for (const Candidate& c : candidates)
    require(threads * logical_of(c.placement) <= 4096, "--threads ", threads, ": too many threads for ",
            names_of(c.placement.devices));
  return threads;
}

}  // namespace tandem::cli
