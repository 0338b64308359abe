// All models by name.
#pragma once
#include <string>

#include "tandem/nn/any_module.h"

namespace tandem::test {

/// Creates the model of that name. "gpt2_small" is a GPT-2 of two layers, 32 features and 100 tokens, without dropout
/// of attention. Throws Error for an unknown name.
nn::AnyModule make_any_model(const std::string& name);

}  // namespace tandem::test
