// The bar appears with the first byte and is gone when the files are there.
#include "tandem/cli/find_data.h"

#include "tandem/cli/download.h"
#include "tandem/cli/progress.h"

namespace tandem::cli {
namespace {

ProgressView view_of(const DownloadProgress& progress) {
  const double done = static_cast<double>(progress.done), total = static_cast<double>(progress.total);
  ProgressView view{.title = "downloading " + std::string(progress.file)};
  if (progress.total > 0) {
    view.fraction = done / total;
    view.fields = {byte_size(done) + " of " + byte_size(total)};
  } else {
    view.fields = {byte_size(done)};
  }
  return view;
}

}  // namespace

data::DatasetFiles find_data(const std::string& name_or_folder, const Terminal& terminal, std::FILE* out) {
  ProgressBar bar(terminal, out);
  const auto fetch = [&](const KnownDataset& dataset, const std::string& folder) {
    bar.print(std::string("downloading ") + dataset.name + " to " + folder);
    download_dataset(dataset, folder, [&](const DownloadProgress& progress) {
      if (bar.due()) bar.draw(view_of(progress));
    });
  };
  return data::find_dataset(name_or_folder, fetch);
}

}  // namespace tandem::cli
