// The progress bar appears with the first byte and disappears when the files are complete.
#include "tandem/cli/data/find_data.h"

#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "tandem/autograd/ops.h"
#include "tandem/cli/data/download.h"
#include "tandem/cli/draw/progress.h"
#include "tandem/cli/options.h"

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

data::DatasetFiles find_data(const std::string& name_or_folder, std::FILE* out) {
  ProgressBar bar(detect_terminal(), out);
  const auto fetch = [&](const KnownDataset& dataset, const std::string& folder) {
    bar.print(std::string("downloading ") + dataset.name + " to " + folder);
    download_dataset(dataset, folder, [&](const DownloadProgress& progress) {
      if (bar.due()) bar.draw(view_of(progress));
    });
  };
  try {
    return data::find_dataset(name_or_folder, fetch);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

std::string sum_of(const data::ImageData& train, const data::ImageData& test) {
  uLong sum = ::crc32(0, nullptr, 0);
  for (const data::ImageData* part : {&train, &test})
    for (const Tensor& t : {part->images, part->labels}) {
      const Tensor sizes = tensor(t.sizes().vec(), kInt64);
      for (const Tensor& each : {sizes, t.contiguous()})
        sum = ::crc32_z(sum, static_cast<const Bytef*>(each.data_ptr()), each.nbytes());
    }
  char text[16];
  std::snprintf(text, sizeof text, "%08lx", static_cast<unsigned long>(sum));
  return concat(train.images.size(0), "+", test.images.size(0), "-", text);
}

std::vector<std::string> data_names() {
  std::vector<std::string> out = data::known_dataset_names();
  out.insert(out.end(), {"cifar10", "cifar100"});
  return out;
}

bool is_data_name(const std::string& name) {
  const std::vector<std::string> names = data_names();
  return std::ranges::count(names, name) > 0;
}

std::string lasting_name(const std::string& name_or_folder) {
  namespace fs = std::filesystem;
  if (name_or_folder.empty() || is_data_name(name_or_folder)) return name_or_folder;
  std::error_code error;
  if (!fs::is_directory(name_or_folder, error)) return name_or_folder;  // the error names it as typed
  // Links are kept as typed, unless ".." must be resolved through them.
  const fs::path typed(name_or_folder);
  const bool climbs = std::find(typed.begin(), typed.end(), "..") != typed.end();
  const fs::path path = climbs ? fs::canonical(typed, error) : fs::absolute(typed, error).lexically_normal();
  if (error) return name_or_folder;
  return (path.has_filename() ? path : path.parent_path()).string();
}

}  // namespace tandem::cli
