// Weights from safetensors files.
#include "tandem/nn/weights.h"

#include "tandem/nn/files/safetensors_reader.h"
#include "tandem/nn/state_match.h"

namespace tandem::serialize {

nn::LoadResult load_safetensors(nn::Module& module, const std::string& path, const WeightsOptions& options) {
  check(options.key.empty(), path, ": is not a .pt file: there is nothing under the key ", options.key);
  return nn::load_checkpoint(module, SafeTensorsReader(path), options.strict, options.prefix);
}

}  // namespace tandem::serialize
