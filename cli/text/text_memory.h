// The memory that training on a text needs, so that a run that cannot fit says so before it starts.
#pragma once
#include <string>

#include "tandem/cli/device_list.h"
#include "tandem/cli/machine_memory.h"
#include "tandem/cli/text/text_config.h"
#include "tandem/cli/text/text_data.h"
#include "tandem/cli/train/recipe.h"

namespace tandem::cli {

/// Bytes at the peak of a training run of all processes on this machine, on its CPU: of a training step, or of the
/// evaluation after an epoch if that needs more. An estimate: measured peaks are within a quarter of it.
double run_memory(const TextConfig& config, const Recipe& recipe, const Placement& placement, const TextData& text);

/// "memory   about 1.2 GiB to train, of 23.1 GiB available". Throws UsageError that says which options lower it if the
/// machine does not have that much, even if the estimate is a quarter too high; prints a warning if it is not free.
/// `fixed`: the options cannot change any more, so that it only warns.
std::string check_memory(const TextConfig& config, const Recipe& recipe, const Placement& placement,
                         const TextData& text, const MachineMemory& machine, bool fixed);

}  // namespace tandem::cli
