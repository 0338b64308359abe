// download_dataset in a build without libcurl.
#include "tandem/cli/data/download.h"
#include "tandem/core/error.h"

namespace tandem::cli {

std::vector<std::string> download_urls(const KnownDataset&) { return {}; }

void download_dataset(const KnownDataset&, const std::string&, OnDownloadProgress) {
  fail("this program was built without libcurl");
}

}  // namespace tandem::cli
