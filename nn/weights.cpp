// Weights from safetensors files.
#include "tandem/nn/weights.h"

#include "tandem/nn/files/prefix.h"
#include "tandem/nn/files/safetensors_reader.h"
#include "tandem/nn/state_match.h"

namespace tandem::serialize {

nn::LoadResult load_safetensors(nn::Module& module, const std::string& path, const WeightsOptions& options) {
  check(options.key().empty(), path, ": is not a .pt file: there is nothing under the key ", options.key());
  const SafeTensorsReader reader(path);
  std::vector<std::string> names;
  for (const SafeTensorsReader::Item& item : reader.items()) names.push_back(item.entry.name);
  names = without_prefix(std::move(names), options.prefix());
  std::vector<nn::StateEntry> entries;
  for (std::size_t i = 0; i < names.size(); ++i)
    entries.push_back({std::move(names[i]), reader.items()[i].entry.sizes});
  nn::StateMatch match = nn::match_state(module, entries, options.strict());
  std::vector<SafeTensorsReader::Target> targets;
  for (auto& [tensor, position] : match.pairs) targets.push_back({position, std::move(tensor)});
  reader.read_into(targets);
  return std::move(match.result);
}

}  // namespace tandem::serialize
