// Initialisation that the models share. Internal to their sources. Skipped under nn::init::SkipGuard, like nn::init.
#pragma once
#include "tandem/nn/module.h"

namespace tandem::models::detail {

/// Draws from the normal distribution of mean 0 between -2 and 2, as PyTorch's trunc_normal_ does by default.
Tensor trunc_normal_(Tensor tensor, double std);

/// Draws the weights of all Conv2d layers for rectifiers (kaiming_normal_ with the fan-out) and sets their biases to 0.
void initialise_convolutions(nn::Module& model);
/// Draws the weights of all Linear layers from a normal distribution of this deviation and sets their biases to 0.
void initialise_linears(nn::Module& model, double std);

}  // namespace tandem::models::detail
