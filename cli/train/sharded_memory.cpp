#include "tandem/cli/train/sharded_memory.h"

#include <algorithm>
#include <bit>
#include <map>

#include "tandem/cli/draw/terminal.h"
#include "tandem/cli/message.h"
#include "tandem/cli/train/sharded_run.h"
#include "tandem/parallel/fully_sharded/unit_plan.h"

namespace tandem::cli {

std::vector<UnitBytes> unit_bytes(const std::shared_ptr<nn::Module>& model) {
  const auto sequence = std::dynamic_pointer_cast<nn::SequentialImpl>(model);
  const distributed::UnitRule rule = sequence != nullptr ? units_of(nn::Sequential(sequence)) : nullptr;
  std::vector<UnitBytes> out;
  for (const distributed::PlannedUnit& unit : distributed::plan_units(*model, rule))
    for (const auto& item : unit.parameters)
      out.push_back({unit.name, static_cast<double>(item.second.nbytes()), item.second.requires_grad()});
  return out;
}

std::string described_bytes(const std::vector<UnitBytes>& units, int64_t processes, int states, int64_t shards) {
  double kept = 0, largest = 0, trained = 0;
  std::map<std::string, double> whole;
  for (const UnitBytes& each : units) {
    kept += each.bytes / static_cast<double>(processes) * (each.trains ? 2 + states : 1);
    whole[each.unit] += each.bytes;
    if (each.trains) trained += each.bytes;
  }
  const double root = whole[""];
  whole.erase("");
  for (const auto& item : whole) largest = std::max(largest, item.second);
  std::string text = byte_size(kept) + " of parameters, gradients and optimizer state";
  if (root > 0) text += concat(", and ", byte_size(root), " of whole parameters in a step");
  if (!whole.empty())
    text += concat(root > 0 ? " with values or gradients of up to three of "
                            : ", and in a step values or gradients of up to three of ",
                   counted(static_cast<int64_t>(whole.size()), "unit", "units"), ", each at most ", byte_size(largest));
  if (const int64_t own = (shards + processes - 1) / processes; own > 0) {
    // Nodes of a tree at a time.
    const auto sums = std::max<int64_t>(1, static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(own - 1))));
    text += concat(", and ", byte_size(trained * static_cast<double>(sums)), " of sums over shards");
  }
  return text;
}

}  // namespace tandem::cli
