#include "tandem/cli/data/load_data.h"

#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "tandem/autograd/ops.h"
#include "tandem/cli/data/find_data.h"
#include "tandem/cli/message.h"
#include "tandem/cli/numbers.h"
#include "tandem/cli/options.h"
#include "tandem/core/base/cache_folder.h"
#include "tandem/core/base/suggest.h"
#include "tandem/datasets/vision/cifar.h"
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
  if (const std::string cache = cache_folder(); !cache.empty()) places.push_back(fs::path(cache) / cifar.name);
  std::string tried;
  for (const fs::path& place : places) {
    if (const std::string folder = folder_of(cifar, place); !folder.empty()) return folder;
    tried += (tried.empty() ? "" : ", ") + place.string();
  }
  throw UsageError(concat(cifar.name, ": not found in ", tried.empty() ? "$TANDEM_DATA" : tried, "; get ",
                          cifar.name == kCifar10.name ? "cifar-10-binary.tar.gz" : "cifar-100-binary.tar.gz",
                          " from https://www.cs.toronto.edu/~kriz/cifar.html, unpack it, and name the folder with"
                          " --data or TANDEM_DATA"));
}

template <class Dataset>
ImageSet part_of(const Dataset& dataset) {
  const int64_t classes = dataset.targets().numel() == 0 ? 0 : dataset.targets().max().template item<int64_t>() + 1;
  return {{dataset.images(), dataset.targets(), classes}};
}

template <class Dataset>
LoadedData cifar_data(const std::string& name, const std::string& folder, int64_t classes, bool both) {
  LoadedData out{.name = name, .folder = folder, .classes = {}, .class_count = classes, .images = {}};
  const Dataset test(folder, Dataset::Mode::kTest);
  out.images.test = part_of(test);
  out.classes = test.classes();
  if (both) out.images.train = part_of(Dataset(folder));
  return out;
}

// What the images in memory may take, in bytes.
int64_t memory_limit() {
  constexpr int64_t kMiB = 1 << 20;
  const char* text = std::getenv("TANDEM_IMAGE_MEMORY");
  if (text == nullptr || *text == 0) return 1024 * kMiB;
  return parse_number("TANDEM_IMAGE_MEMORY", text, Range<int64_t>{0, 1 << 30}) * kMiB;
}

// The images of a folder, in memory unless they are too large or to be kept in files.
ImageSet image_set(const ImageFolder& folder, const LoadOptions& o, bool keep_files) {
  constexpr int64_t kMaxChecked = 20000;
  std::vector<std::string> paths;
  for (const auto& sample : folder.samples()) paths.push_back(sample.first);
  const int64_t size = o.image_size;
  const auto files = std::make_shared<const ImageFiles>(std::move(paths), vision::ImageSize{size, size});
  const Tensor positions = arange(files->count(), TensorOptions(Device(kCPU, 0)).dtype(kLong));
  const auto classes = static_cast<int64_t>(folder.classes().size());
  try {
    if (!keep_files && files->count() <= memory_limit() / (3 * size * size))
      return {{files->read(positions), folder.targets(), classes}, nullptr};
    if (files->count() <= kMaxChecked && !o.skip_broken) files->check_all();
  } catch (const BrokenImages& error) {
    if (!o.may_skip_broken || o.skip_broken) throw;
    fail(error.what(), "; remove what is broken, or train with --skip-broken");
  }
  return {{positions, folder.targets(), classes}, files};
}

// The same wherever the folder is.
std::string sum_of_files(const fs::path& root, const ImageFolder& train, const ImageFolder& test) {
  uLong sum = ::crc32(0, nullptr, 0);
  for (const ImageFolder* folder : {&train, &test})
    for (const auto& [path, label] : folder->samples()) {
      std::error_code error;
      const std::string line =
          concat(fs::path(path).lexically_relative(root).string(), '\n', fs::file_size(path, error), '\n', label, '\n');
      sum = ::crc32_z(sum, reinterpret_cast<const Bytef*>(line.data()), line.size());
    }
  char text[16];
  std::snprintf(text, sizeof text, "%08lx", static_cast<unsigned long>(sum));
  return concat(train.samples().size(), "+", test.samples().size(), "-", text);
}

// "\n  only in NAME: …", or nothing.
std::string only_in(const ImageFolder& folder, const std::string& name, const ImageFolder& other) {
  constexpr std::size_t kMaxNames = 10;
  std::vector<std::string> names;
  std::set_difference(folder.classes().begin(), folder.classes().end(), other.classes().begin(), other.classes().end(),
                      std::back_inserter(names));
  if (names.empty()) return "";
  std::string out = concat("\n  only in ", name, ": ");
  for (std::size_t i = 0; i < names.size() && i < kMaxNames; ++i) out += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kMaxNames ? concat(out, " and ", names.size() - kMaxNames, " more") : out;
}

LoadedData folder_data(const std::string& name, const LoadOptions& o) {
  const fs::path root(name);
  const fs::path test_folder = there(root / "test") ? root / "test" : root / "val";
  check(there(test_folder), name, ": has a folder train, but neither test nor val");
  ImageFolder train((root / "train").string()), test(test_folder.string());
  const std::string test_name = test_folder.filename().string();
  check(train.classes() == test.classes(), name, ": ", test_name, " has other classes (folders) than train",
        only_in(train, "train", test), only_in(test, test_name, train));
  LoadedData out{.name = name,
                 .folder = name,
                 .classes = train.classes(),
                 .class_count = static_cast<int64_t>(train.classes().size()),
                 .images = {}};
  for (ImageFolder* each : {&train, &test})
    if (o.skip_broken && (o.train || each == &test))
      for (std::string& error : each->remove_broken_files()) out.skipped.push_back(std::move(error));
  out.sum = sum_of_files(root, train, test);
  out.images.test = image_set(test, o, false);
  if (o.train) out.images.train = image_set(train, o, o.keep_files);
  return out;
}

LoadedData idx_data(const std::string& name, const LoadOptions& o, const Terminal& terminal) {
  const data::DatasetFiles files = find_data(name, terminal, o.out);
  LoadedData loaded{.name = name, .folder = files.folder, .classes = files.classes, .images = {}};
  if (o.train) {
    const data::ImageDataPair both = read_image_data(files);
    loaded.images = {{both.train}, {both.test}};
  } else {
    loaded.images.test = {data::read_image_data(files.test_images, files.test_labels)};
  }
  const int64_t labels = std::max(loaded.images.train.classes, loaded.images.test.classes);
  loaded.class_count = std::max(labels, static_cast<int64_t>(files.classes.size()));
  return loaded;
}

}  // namespace

namespace {
void check_known(const std::string& name) {
  std::error_code ignored;
  if (is_data_name(name) || fs::is_directory(name, ignored)) return;
  const bool file = there(name);
  throw UsageError(
      concat(file ? "'" + name + "' is a file, not a data set of images"
                  : "unknown data set '" + name + "'" + did_you_mean(name, data_names()),
             "; expected ", join(data_names(), ", "),
             ", a folder with the files of one, or a folder with the subfolders train and test, which have a folder of "
             "images for each class; a file of text is for train --model gpt2",
             file ? "" : "; no such folder exists"));
}

LoadedData loaded_from(const std::string& name, const LoadOptions& o, const Terminal& terminal) {
  if (name == kCifar10.name) return cifar_data<CIFAR10>(name, find_cifar(kCifar10), 10, o.train);
  if (name == kCifar100.name) return cifar_data<CIFAR100>(name, find_cifar(kCifar100), 100, o.train);
  check_known(name);
  if (has_image_files(name)) return folder_data(name, o);
  if (!is_data_name(name)) {
    if (const std::string ten = folder_of(kCifar10, name); !ten.empty())
      return cifar_data<CIFAR10>(name, ten, 10, o.train);
    if (const std::string hundred = folder_of(kCifar100, name); !hundred.empty())
      return cifar_data<CIFAR100>(name, hundred, 100, o.train);
  }
  return idx_data(name, o, terminal);
}
}  // namespace

bool has_image_files(const std::string& name) {
  const fs::path folder(name);
  return !is_data_name(name) && folder_of(kCifar10, folder).empty() && folder_of(kCifar100, folder).empty() &&
         there(folder / "train") && !there(folder / "train-images-idx3-ubyte");
}

void print_skipped(const LoadedData& data) {
  if (data.skipped.empty()) return;
  std::string text = concat(data.name, ": left out ",
                            counted(static_cast<int64_t>(data.skipped.size()), "broken image", "broken images"), ":");
  for (const std::string& error : data.skipped) text += "\n    " + error;
  print_error("tandem", text);
}

LoadedData load_data(const std::string& name, const LoadOptions& options, const Terminal& terminal) {
  try {
    LoadedData loaded = loaded_from(name, options, terminal);
    if (loaded.sum.empty() && options.train) loaded.sum = sum_of(loaded.images.train, loaded.images.test);
    return loaded;
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

}  // namespace tandem::cli
