// Loading published weights into a module, from .pt and .safetensors files.
//
//   auto net = models::resnet50();
//   serialize::load_weights(*net, "resnet50-0676ba61.pth");
#pragma once
#include <string>

#include "tandem/core/arg.h"
#include "tandem/core/ordered_dict.h"
#include "tandem/nn/module.h"

namespace tandem::serialize {

struct WeightsOptions {
  /// Throws Error on missing and unexpected names; otherwise they are only returned.
  TANDEM_ARG(bool, strict) = true;
  /// Where the state dict is in a .pt file that contains more, such as "state_dict" or "model.ema"; dots separate levels.
  TANDEM_ARG(std::string, key) = "";
  /// What to remove from the names that start with it, such as "module." (which is removed by itself where all names
  /// start with it), "backbone." or "_orig_mod.".
  TANDEM_ARG(std::string, prefix) = "";
};

/// The tensors in a file of either kind, by name. The kind is found from the contents. Throws Error as load_pt and
/// load_safetensors do.
OrderedDict<std::string, Tensor> read_weights(const std::string& path, const WeightsOptions& options = {});

/// Copies them into the parameters and buffers of `module`, across dtypes and devices. Throws Error, listing all names, as
/// Module::load_state_dict does; the module is then unchanged.
nn::LoadResult load_weights(nn::Module& module, const std::string& path, const WeightsOptions& options = {});

}  // namespace tandem::serialize
