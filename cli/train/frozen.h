// --freeze: parameters that do not train. They have neither gradients nor states of the optimizer.
#pragma once
#include <string>

#include "tandem/nn/sequential.h"

namespace tandem::cli {

inline constexpr const char* kAllButHead = "all-but-head";

/// Freezes the parameters that `patterns` name: names of parameters or modules, as in the model's file of weights,
/// separated by commas, where * stands for any text; or all-but-head: all but the last layer. Throws UsageError, with
/// the nearest names, on a pattern that matches nothing, and if no parameter is left to train.
void freeze(const std::string& model_name, const nn::Sequential& model, const std::string& patterns);

/// Puts the model into training mode, but normalisations with running statistics whose parameters are all frozen into
/// evaluation mode: they use these statistics and keep them.
void train_unfrozen(nn::Module& model);

}  // namespace tandem::cli
