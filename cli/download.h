// Download of a known data set over HTTP: resumed, checked by SHA-256, then renamed into place.
//
// A file grows as NAME.gz.part; an interrupted download
// goes on from there, now or in the next run. Two processes at once wait for one another.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/core/parallel_for.h"
#include "tandem/datasets/sources.h"

namespace tandem::cli {

using data::KnownDataset;

struct DownloadProgress {
  std::string_view file;
  int64_t done = 0;
  int64_t total = -1;  ///< -1: the server did not say
};
using OnDownloadProgress = FunctionRef<void(const DownloadProgress&)>;

/// Base URLs in the order in which they are tried: $TANDEM_DATA_URL/NAME alone when that is set, else the
/// data set's.
std::vector<std::string> download_urls(const KnownDataset& dataset);

/// Makes `folder` and puts in it each of the four files, as NAME.gz, that is not there yet. Throws Error:
/// each URL with what was wrong there. `on_progress` is called often; it may throw to stop, which keeps the
/// part. A build without libcurl throws Error saying so.
void download_dataset(const KnownDataset& dataset, const std::string& folder, OnDownloadProgress on_progress);

}  // namespace tandem::cli
