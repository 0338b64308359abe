// Loading weights into a module, straight from safetensors files. nn/files/pt/weights.h also reads PyTorch's .pt files.
//
//   auto net = models::gpt2();
//   serialize::load_safetensors(*net, "folder-of-a-checkpoint");
#pragma once
#include <string>

#include "tandem/nn/module.h"

namespace tandem::serialize {

struct WeightsOptions {
  /// Throws Error on missing and unexpected names; otherwise they are only returned.
  bool strict = true;
  /// Where the state dict is in a .pt file that contains more, such as "state_dict" or "model.ema";
  /// dots separate levels.
  std::string key = {};
  /// A prefix to remove from the names that start with it, such as "backbone.". The prefixes that wrappers put before
  /// all names ("module.", "_orig_mod.") are removed in any case.
  std::string prefix = {};
};

/// Reads the values of a safetensors file, an index or a folder (nn/files/safetensors.h) into the parameters and
/// buffers of `module`, across dtypes and devices, without a copy of the file in memory. Throws Error as
/// Module::load_state_dict and load_safetensors do; the module is then unchanged, unless reading fails although the
/// file was found to be complete and undamaged.
nn::LoadResult load_safetensors(nn::Module& module, const std::string& path, const WeightsOptions& options = {});

}  // namespace tandem::serialize
