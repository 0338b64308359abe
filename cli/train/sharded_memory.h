// What a process of a run with --fully-sharded keeps in memory.
#pragma once
#include <string>
#include <vector>

#include "tandem/nn/module.h"

namespace tandem::cli {

/// Parameters that are gathered together, and all train or are all frozen.
struct UnitBytes {
  std::string unit;  ///< the name of its module; "" for the root
  double bytes = 0;  ///< in all processes
  bool trains = true;
};

/// Of a model of the tool, which is whole.
std::vector<UnitBytes> unit_bytes(const std::shared_ptr<nn::Module>& model);
/// "1.2 GiB of parameters, gradients and optimizer state, …", of each process. `states`: what the optimizer keeps for
/// each value of a parameter. `shards` of a batch: 0 for none.
std::string described_bytes(const std::vector<UnitBytes>& units, int64_t processes, int states, int64_t shards);

}  // namespace tandem::cli
