// The states of optimizers that LibTorch has saved. Internal to the sources of this folder.
#pragma once
#include "tandem/nn/optim/optimizer.h"

namespace tandem::optim {

/// Whether LibTorch has written the archive of an optimizer.
bool is_libtorch_state(const serialize::InputArchive& archive);

/// The same archive as Optimizer::save writes it, for an optimizer with this name and these groups. Options that
/// LibTorch lacks keep the groups' values. The file does not say of which class it is: an option that the optimizer
/// lacks is an error. Throws Error also on a missing or malformed entry.
serialize::InputArchive own_state(serialize::InputArchive& archive, const std::string& name,
                                  const std::vector<OptimizerParamGroup>& groups);

}  // namespace tandem::optim
