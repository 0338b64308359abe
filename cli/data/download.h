// Downloads a known data set over HTTP, with resumption: each file is checked by SHA-256, then renamed into place.
//
// A file grows as NAME.gz.part; an interrupted download resumes from there, immediately or in the next run.
// Two processes that download the same file wait for each other.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/core/threads/parallel_for.h"
#include "tandem/datasets/sources.h"

namespace tandem::cli {

using data::KnownDataset;

struct DownloadProgress {
  std::string_view file;
  int64_t done = 0;
  int64_t total = -1;  ///< -1: the server did not say
};
using OnDownloadProgress = FunctionRef<void(const DownloadProgress&)>;

/// Base URLs in the order in which they are tried: only $TANDEM_DATA_URL/NAME if that is set, else the data set's.
std::vector<std::string> download_urls(const KnownDataset& dataset);

/// Creates `folder` and downloads into it each of the four files, as NAME.gz, that it does not contain yet.
/// Throws Error that lists each URL with what failed. `on_progress` is called often; it may throw to stop,
/// which keeps the partial file. A build without libcurl throws Error saying so.
void download_dataset(const KnownDataset& dataset, const std::string& folder, OnDownloadProgress on_progress);

}  // namespace tandem::cli
