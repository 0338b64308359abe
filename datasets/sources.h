// Finds the files of a data set: by a known name or in a folder of IDX files. If that fails, the error lists
// every way to get them.
//
// The search order is a folder NAME in the current one, $TANDEM_DATA/NAME, torchvision's folder in $TANDEM_DATA,
// $TANDEM_DATA itself, the folder of Debian's package, the cache (core/base/cache_folder.h), and a download into that
// cache. Nothing here accesses the network; the caller supplies the download.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/core/threads/parallel_for.h"

namespace tandem::data {

/// One of a data set's four files, as published with ".gz".
struct KnownFile {
  const char* name;    ///< "train-images-idx3-ubyte"
  int64_t bytes;       ///< decompressed size
  const char* sha256;  ///< of the decompressed file, so it does not depend on the compressor
};

struct KnownDataset {
  const char* name;
  const char* debian_package;       ///< nullptr if there is none
  const char* torchvision_folder;   ///< also searched for in $TANDEM_DATA
  std::array<KnownFile, 4> files;   ///< train images, train labels, test images, test labels
  std::array<const char*, 2> urls;  ///< base URLs, in the order in which they are tried
  std::array<const char*, 10> classes;
};

/// The data set of that name, one of known_dataset_names(); nullptr if unknown.
const KnownDataset* known_dataset(std::string_view name);
std::vector<std::string> known_dataset_names();

/// The files of a data set that was found.
struct DatasetFiles {
  std::string name;  ///< the known name, or the folder as given
  std::string folder;
  std::string train_images, train_labels, test_images, test_labels;  ///< paths
  /// Class names; for a folder, the lines of its classes.txt, or empty.
  std::vector<std::string> classes;
};

/// Downloads the four files of a known data set to `folder` (which may not exist yet). Throws Error with the
/// reason.
using FetchDataset = FunctionRef<void(const KnownDataset& dataset, const std::string& folder)>;

/// Finds the files of a known name, or of a folder with the four files train-images-idx3-ubyte,
/// train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte (or ".idx3-ubyte"; plain or
/// ".gz"). A known name takes precedence over a folder of the same name: write ./mnist for the folder. Throws
/// Error on an unknown name, on a folder that lacks files, and on a data set that is not found; that message
/// lists every way to get it and why the fetch failed.
DatasetFiles find_dataset(const std::string& name_or_folder, FetchDataset fetch);
/// The same without a download.
DatasetFiles find_dataset(const std::string& name_or_folder);

/// The path of an IDX file under one of its spellings: "train-images-idx3-ubyte", "train-images.idx3-ubyte",
/// each also with ".gz"; "" if there is none.
std::string find_idx_file(const std::string& folder, const std::string& name);

/// The folder for downloads: NAME in cache_folder(), or "".
std::string dataset_cache_folder(const KnownDataset& dataset);

}  // namespace tandem::data
