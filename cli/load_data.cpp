#include "tandem/cli/load_data.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>

#include "tandem/autograd/ops.h"
#include "tandem/cli/find_data.h"
#include "tandem/cli/message.h"
#include "tandem/cli/options.h"
#include "tandem/core/parallel_for.h"
#include "tandem/datasets/vision/cifar.h"
#include "tandem/datasets/vision/functional.h"
#include "tandem/datasets/vision/image_folder.h"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;
using vision::datasets::CIFAR10;
using vision::datasets::CIFAR100;
using vision::datasets::ImageFolder;

struct Cifar {
  const char *name, *folder, *first_file;
};
constexpr Cifar kCifar10{"cifar10", "cifar-10-batches-bin", "data_batch_1.bin"};
constexpr Cifar kCifar100{"cifar100", "cifar-100-binary", "train.bin"};

bool there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// The folder with the files of this data set: `folder`, its subfolder, or "".
std::string folder_of(const Cifar& cifar, const fs::path& folder) {
  for (const fs::path& place : {folder, folder / cifar.folder})
    if (there(place / cifar.first_file)) return place.string();
  return "";
}

std::string find_cifar(const Cifar& cifar) {
  std::vector<fs::path> places;
  if (const char* data = std::getenv("TANDEM_DATA"); data != nullptr && *data != 0)
    places = {fs::path(data) / cifar.name, fs::path(data)};
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache != nullptr && *cache != 0)
    places.push_back(fs::path(cache) / "tandem" / cifar.name);
  else if (home != nullptr && *home != 0)
    places.push_back(fs::path(home) / ".cache/tandem" / cifar.name);
  std::string tried;
  for (const fs::path& place : places) {
    if (const std::string folder = folder_of(cifar, place); !folder.empty()) return folder;
    tried += (tried.empty() ? "" : ", ") + place.string();
  }
  throw UsageError(
      concat(cifar.name, ": not found in ", tried.empty() ? "$TANDEM_DATA" : tried, "; get ",
             cifar.name == kCifar10.name ? "cifar-10-binary.tar.gz" : "cifar-100-binary.tar.gz",
             " from https://www.cs.toronto.edu/~kriz/cifar.html, unpack it, and name the folder with"
             " --data or TANDEM_DATA"));
}

template <class Dataset>
data::ImageData part_of(const Dataset& dataset) {
  const int64_t classes =
      dataset.targets().numel() == 0 ? 0 : dataset.targets().max().template item<int64_t>() + 1;
  return {dataset.images(), dataset.targets(), classes};
}

template <class Dataset>
LoadedData cifar_data(const std::string& name, const std::string& folder, int64_t classes, Parts parts) {
  LoadedData out{.name = name, .folder = folder, .classes = {}, .class_count = classes, .images = {}};
  const Dataset test(folder, Dataset::Mode::kTest);
  out.images.test = part_of(test);
  out.classes = test.classes();
  if (parts == Parts::kBoth) out.images.train = part_of(Dataset(folder));
  return out;
}

// All images of a folder as uint8 [N, 3, size, size].
data::ImageData pictures(const ImageFolder& files, int64_t size) {
  const auto count = static_cast<int64_t>(files.samples().size());
  Tensor images = empty({count, 3, size, size}, kByte);
  std::vector<std::string> errors(files.samples().size());
  parallel_for(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      try {
        images[i].copy_(read_picture(files.samples()[at].first, size, size, size));
      } catch (const Error& error) {
        errors[at] = error.what();
      }
    }
  });
  std::size_t broken = 0;
  std::string first;
  for (const std::string& error : errors) {
    if (error.empty()) continue;
    if (first.empty()) first = error;
    ++broken;
  }
  check(broken == 0, first, broken > 1 ? concat(" (and ", broken - 1, " other broken images)") : "");
  return {images, files.targets(), static_cast<int64_t>(files.classes().size())};
}

LoadedData folder_data(const std::string& name, int64_t size, Parts parts) {
  const fs::path root(name);
  const fs::path test_folder = there(root / "test") ? root / "test" : root / "val";
  check(there(test_folder), name, ": has a folder train, but neither test nor val");
  const ImageFolder train((root / "train").string()), test(test_folder.string());
  check(train.classes() == test.classes(), name, ": ", test_folder.filename().string(),
        " has other classes (folders) than train");
  LoadedData out{.name = name,
                 .folder = name,
                 .classes = train.classes(),
                 .class_count = static_cast<int64_t>(train.classes().size()),
                 .images = {}};
  out.images.test = pictures(test, size);
  if (parts == Parts::kBoth) out.images.train = pictures(train, size);
  return out;
}

LoadedData idx_data(const std::string& name, const Terminal& terminal, Parts parts, std::FILE* out) {
  const data::DatasetFiles files = find_data(name, terminal, out);
  LoadedData loaded{.name = name, .folder = files.folder, .classes = files.classes, .images = {}};
  if (parts == Parts::kBoth)
    loaded.images = read_image_data(files);
  else
    loaded.images.test = data::read_image_data(files.test_images, files.test_labels);
  const int64_t labels = std::max(loaded.images.train.classes, loaded.images.test.classes);
  loaded.class_count = std::max(labels, static_cast<int64_t>(files.classes.size()));
  return loaded;
}

}  // namespace

std::vector<int64_t> LoadedData::input() const {
  const Tensor& test = images.test.images;
  if (test.dim() == 3) return {1, test.size(1), test.size(2)};
  return {test.size(1), test.size(2), test.size(3)};
}

Tensor read_picture(const std::string& path, int64_t shorter_side, int64_t height, int64_t width) {
  const Tensor image = vision::read_image(path);
  const vision::ImageSize scaled =
      vision::functional::size_with_shorter_side({image.size(1), image.size(2)}, shorter_side);
  return vision::functional::center_crop(vision::functional::resize(image, scaled), {height, width});
}

LoadedData load_data(const std::string& name, int64_t size, const Terminal& terminal, Parts parts,
                     std::FILE* out) {
  try {
    if (name == kCifar10.name) return cifar_data<CIFAR10>(name, find_cifar(kCifar10), 10, parts);
    if (name == kCifar100.name) return cifar_data<CIFAR100>(name, find_cifar(kCifar100), 100, parts);
    if (!is_data_name(name)) {
      if (const std::string ten = folder_of(kCifar10, name); !ten.empty())
        return cifar_data<CIFAR10>(name, ten, 10, parts);
      if (const std::string hundred = folder_of(kCifar100, name); !hundred.empty())
        return cifar_data<CIFAR100>(name, hundred, 100, parts);
      if (there(fs::path(name) / "train") && !there(fs::path(name) / "train-images-idx3-ubyte"))
        return folder_data(name, size, parts);
    }
    return idx_data(name, terminal, parts, out);
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

}  // namespace tandem::cli
