// Which entries of a state dict fit which tensors of a module. Shared by load_state_dict and the readers of files,
// which check everything before they change a value.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "tandem/core/dims.h"
#include "tandem/nn/module.h"

namespace tandem::serialize {
class SafeTensorsReader;
}

namespace tandem::nn {

/// An entry of a state dict: its name and, if it has a tensor, the tensor's sizes.
struct StateEntry {
  std::string name;
  optional<Dims> sizes;
};
struct StateMatch {
  LoadResult result;
  std::vector<std::pair<Tensor, std::size_t>> pairs;  ///< tensors of the module and the positions of their entries
};

/// For an error: "\n  missing:", say, and the first lines under it; "" without lines.
std::string listed(const char* title, const std::vector<std::string>& lines);
/// Throws what Module::load_state_dict throws for these entries; their names are unique.
StateMatch match_state(const Module& module, const std::vector<StateEntry>& entries, bool strict);
/// Reads a checkpoint into the module, as serialize::load_safetensors does.
LoadResult load_checkpoint(const Module& module, const serialize::SafeTensorsReader& file, bool strict,
                           const std::string& prefix);

}  // namespace tandem::nn
