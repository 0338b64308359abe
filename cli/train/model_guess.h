// Guesses the model of a file of weights, for errors about weights of another model.
#pragma once
#include <string>

#include "tandem/cli/train/models.h"

namespace tandem::cli {

/// "; the file looks like resnet50: --model resnet50" if the names and shapes of its tensors are those of another model
/// than `model`, completely or but for the last layer; "" if there is none, or the file cannot be read. `key`: of the
/// state dict in a .pt file with more; `shape`: of the images for the tool's own models.
std::string looks_like(const std::string& path, const std::string& key, const std::string& model,
                       const ModelShape& shape = {});

}  // namespace tandem::cli
