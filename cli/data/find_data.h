// Finds the data set of a command's --data; downloads it with a progress bar if necessary.
#pragma once
#include <cstdio>
#include <string>
#include <vector>

#include "tandem/datasets/image_data.h"
#include "tandem/datasets/sources.h"

namespace tandem::cli {

/// data::find_dataset with downloads whose progress is printed to `out`. Converts Error to UsageError.
data::DatasetFiles find_data(const std::string& name_or_folder, std::FILE* out);

/// A fingerprint of all images and labels, such as "60000+10000-1a2b3c4d"; it does not depend on the data's location.
std::string sum_of(const data::ImageData& train, const data::ImageData& test);
/// The data sets that have a name.
std::vector<std::string> data_names();
/// Whether this is the name of a data set, not of a folder.
bool is_data_name(const std::string& name);
/// The form of --data that a run stores: a known name unchanged, the absolute path of a folder.
std::string lasting_name(const std::string& name_or_folder);

}  // namespace tandem::cli
