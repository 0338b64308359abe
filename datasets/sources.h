// Where the files of a data set lie: known names, folders of IDX files, and the error that tells every way to
// get them.
//
// Looked for, in this order: $TANDEM_DATA/NAME, $TANDEM_DATA itself, the folder of Debian's package, the cache
// ($XDG_CACHE_HOME or ~/.cache)/tandem/NAME, then a download into that cache. Nothing here touches the network.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/core/parallel_for.h"

namespace tandem::data {

/// One of a data set's four files, as published with ".gz".
struct KnownFile {
  const char* name;    ///< "train-images-idx3-ubyte"
  int64_t bytes;       ///< unpacked
  const char* sha256;  ///< of the unpacked file, so it holds whoever packed it
};

struct KnownDataset {
  const char* name;
  const char* debian_package;       ///< nullptr when there is none
  const char* torchvision_folder;   ///< also looked for in $TANDEM_DATA
  std::array<KnownFile, 4> files;   ///< train images, train labels, test images, test labels
  std::array<const char*, 2> urls;  ///< base URLs, in the order in which they are tried
  std::array<const char*, 10> classes;
};

/// nullptr when unknown. Names: known_dataset_names().
const KnownDataset* known_dataset(std::string_view name);
std::vector<std::string> known_dataset_names();

/// The four files of a data set, found.
struct DatasetFiles {
  std::string name;  ///< the known name, or the folder as it was given
  std::string folder;
  std::string train_images, train_labels, test_images, test_labels;  ///< paths
  /// Class names; of a folder: the lines of its classes.txt, else empty.
  std::vector<std::string> classes;
};

/// Puts the four files of a known data set in `folder` (which may not exist yet). Throws Error with the
/// reason.
using FetchDataset = FunctionRef<void(const KnownDataset& dataset, const std::string& folder)>;

/// Finds the files of a known name, or of a folder that holds the four files train-images-idx3-ubyte,
/// train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte (".idx3-ubyte" also; plain or
/// ".gz"). A known name goes before a folder of that name: write ./mnist for the folder. Throws Error: an
/// unknown name; a folder that lacks files; a data set that is nowhere, with every way to get it and why the
/// fetch failed.
DatasetFiles find_dataset(const std::string& name_or_folder, FetchDataset fetch);
/// The same without a download.
DatasetFiles find_dataset(const std::string& name_or_folder);

/// The path of an IDX file under one of its spellings: "train-images-idx3-ubyte", "train-images.idx3-ubyte",
/// each also with ".gz". "" when there is none.
std::string find_idx_file(const std::string& folder, const std::string& name);

/// Where downloads are kept: ($XDG_CACHE_HOME or ~/.cache)/tandem/NAME. "" when neither variable is set.
std::string dataset_cache_folder(const KnownDataset& dataset);

}  // namespace tandem::data
