// The data set of a command's --data, downloaded with a progress bar where it must be.
#pragma once
#include <cstdio>
#include <string>

#include "tandem/cli/terminal.h"
#include "tandem/datasets/image_data.h"
#include "tandem/datasets/sources.h"

namespace tandem::cli {

/// data::find_dataset with a download whose progress goes to `out`. Throws UsageError where that throws
/// Error.
data::DatasetFiles find_data(const std::string& name_or_folder, const Terminal& terminal,
                             std::FILE* out = stdout);

/// Of all pictures and labels, "60000+10000-1a2b3c4d": the same data gives the same text wherever it lies.
std::string sum_of(const data::ImageDataPair& data);
/// What a run keeps of --data: a known name as it is, of a folder the absolute path.
std::string lasting_name(const std::string& name_or_folder);

}  // namespace tandem::cli
