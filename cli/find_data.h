// The data set of a command's --data, downloaded with a progress bar where it must be.
#pragma once
#include <cstdio>
#include <string>

#include "tandem/cli/terminal.h"
#include "tandem/datasets/sources.h"

namespace tandem::cli {

/// data::find_dataset with a download whose progress goes to `out`. Throws Error as that does.
data::DatasetFiles find_data(const std::string& name_or_folder, const Terminal& terminal,
                             std::FILE* out = stdout);

}  // namespace tandem::cli
