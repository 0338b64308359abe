// Loading published weights into a module, from .pt and .safetensors files.
//
//   auto net = models::resnet50();
//   serialize::load_weights(*net, "resnet50-0676ba61.pth");
#pragma once
#include <string>

#include "tandem/core/base/ordered_dict.h"
#include "tandem/nn/weights.h"

namespace tandem::serialize {

/// The tensors in a file of either kind, by name. The kind is found from the contents. Throws Error as load_pt and
/// load_safetensors do. A path may also be that of a sharded checkpoint's index, or a folder with one.
OrderedDict<std::string, Tensor> read_weights(const std::string& path, const WeightsOptions& options = {});

/// Copies them into the parameters and buffers of `module`, across dtypes and devices. Throws Error, listing all names,
/// as Module::load_state_dict does; the module is then unchanged. Safetensors files are read straight into the module,
/// as load_safetensors(module, path, options) does.
nn::LoadResult load_weights(nn::Module& module, const std::string& path, const WeightsOptions& options = {});

}  // namespace tandem::serialize
