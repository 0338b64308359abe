#include "tandem/cli/data/load_data.h"

#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tandem/autograd/ops.h"
#include "tandem/cli/data/find_data.h"
#include "tandem/cli/data/stratified.h"
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

bool there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

template <class Dataset>
ImageSet part_of(const Dataset& dataset) {
  const int64_t classes = dataset.targets().numel() == 0 ? 0 : dataset.targets().max().template item<int64_t>() + 1;
  return {{dataset.images(), dataset.targets(), classes}};
}

template <class Dataset, int64_t classes>
LoadedData cifar_data(const std::string& name, const std::string& folder, bool both) {
  LoadedData out{.name = name, .folder = folder, .class_count = classes};
  const Dataset test(folder, Dataset::Mode::kTest);
  out.images.test = part_of(test);
  out.classes = test.classes();
  if (both) out.images.train = part_of(Dataset(folder));
  return out;
}

struct Cifar {
  const char *name, *folder, *first_file, *archive;
  LoadedData (*load)(const std::string& name, const std::string& folder, bool both);
};
constexpr Cifar kCifar[] = {
    {"cifar10", "cifar-10-batches-bin", "data_batch_1.bin", "cifar-10-binary.tar.gz", cifar_data<CIFAR10, 10>},
    {"cifar100", "cifar-100-binary", "train.bin", "cifar-100-binary.tar.gz", cifar_data<CIFAR100, 100>}};

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
  refuse(
      cifar.name, ": not found in ", tried.empty() ? "$TANDEM_DATA" : tried, "; get ", cifar.archive,
      " from https://www.cs.toronto.edu/~kriz/cifar.html, unpack it, and name the folder with --data or TANDEM_DATA");
}

// What the images in memory may take, in bytes.
int64_t memory_limit() {
  constexpr int64_t kMiB = 1 << 20;
  const char* text = std::getenv("TANDEM_IMAGE_MEMORY");
  if (text == nullptr || *text == 0) return 1024 * kMiB;
  return parse_number("TANDEM_IMAGE_MEMORY", text, Range<int64_t>{0, 1 << 30}) * kMiB;
}

using Samples = std::vector<std::pair<std::string, int64_t>>;  // paths with their classes

struct FolderParts {
  std::vector<std::string> classes;
  Samples train, test, validation;
};

// Images in memory, unless they are too large or to be kept in files.
ImageSet image_set(const FolderParts& all, const Samples& samples, const LoadOptions& o, bool keep_files) {
  constexpr int64_t kMaxChecked = 20000;
  std::vector<std::string> paths;
  std::vector<int64_t> labels;
  for (const auto& [path, label] : samples) {
    paths.push_back(path);
    labels.push_back(label);
  }
  const int64_t size = o.image_size;
  const auto files = std::make_shared<const ImageFiles>(std::move(paths), vision::ImageSize{size, size});
  const TensorOptions int64 = TensorOptions(Device(kCPU, 0)).dtype(kLong);
  const Tensor positions = arange(files->count(), int64), targets = tensor(labels, int64);
  const auto classes = static_cast<int64_t>(all.classes.size());
  try {
    if (!keep_files && files->count() <= memory_limit() / (3 * size * size))
      return {{files->read(positions), targets, classes}, nullptr};
    if (files->count() <= kMaxChecked && !o.skip_broken) files->check_all();
  } catch (const BrokenImages& error) {
    if (!o.starts_run || o.skip_broken) throw;
    fail(error.what(), "; remove what is broken, or train with --skip-broken");
  }
  return {{positions, targets, classes}, files};
}

// The same wherever the folder is.
std::string sum_of_files(const fs::path& root, const FolderParts& parts) {
  uLong sum = ::crc32(0, nullptr, 0);
  for (const Samples* samples : {&parts.train, &parts.test, &parts.validation})
    for (const auto& [path, label] : *samples) {
      std::error_code error;
      const std::string line =
          concat(fs::path(path).lexically_relative(root).string(), '\n', fs::file_size(path, error), '\n', label, '\n');
      sum = ::crc32_z(sum, reinterpret_cast<const Bytef*>(line.data()), line.size());
    }
  char text[16];
  std::snprintf(text, sizeof text, "%08lx", static_cast<unsigned long>(sum));
  return concat(parts.train.size(), "+", parts.test.size(), "-", text);
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

// The validation part's folder, or a path that does not exist.
fs::path validation_folder(const fs::path& root) {
  for (const char* name : {"val", "valid", "validation"})
    if (there(root / name)) return root / name;
  return root / "val";
}

// Whether there is an image below the folder's subfolders. It gives up early, as the folder may be anything. What cannot
// be read is passed over: ImageFolder says so.
bool has_class_folders(const fs::path& root) {
  constexpr int kMaxLooks = 10000, kMaxDepth = 3;
  std::error_code error;
  int looks = 0;
  const auto links = fs::directory_options::follow_directory_symlink | fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator at(root, links, error), end; !error && at != end && looks < kMaxLooks;
       ++looks) {
    const fs::path& path = at->path();
    const bool hidden = path.filename().native().starts_with('.');
    if (hidden || at.depth() >= kMaxDepth) at.disable_recursion_pending();
    if (!hidden && at.depth() > 0 && vision::has_image_ending(path.native())) return true;
    at.increment(error);
  }
  return false;
}

// The samples of a folder of class folders, without the broken files if they are to be left out.
class FolderReader {
 public:
  FolderReader(const std::string& name, const LoadOptions& options, std::vector<std::string>& skipped)
      : name_(name), options_(options), skipped_(skipped) {}

  /// Throws Error if the classes differ from the first call's.
  Samples samples(const fs::path& folder, bool read) {
    ImageFolder files(folder.string());
    if (!first_) {
      first_ = files;
      first_name_ = folder.filename().string();
    }
    const std::string part = folder.filename().string();
    check(files.classes() == first_->classes(), name_, ": ", part, " has other classes (folders) than ", first_name_,
          only_in(*first_, first_name_, files), only_in(files, part, *first_));
    if (options_.skip_broken && read)
      for (std::string& error : files.remove_broken_files()) skipped_.push_back(std::move(error));
    return files.samples();
  }
  const std::vector<std::string>& classes() const { return first_->classes(); }

 private:
  const std::string& name_;
  const LoadOptions& options_;
  std::vector<std::string>& skipped_;
  std::optional<ImageFolder> first_;
  std::string first_name_;
};

// Moves `share` of each class to `part`.
void split_off(double share, uint64_t seed, Samples& samples, Samples& part) {
  const Samples all = std::move(samples);
  std::vector<int64_t> labels;
  for (const auto& sample : all) labels.push_back(sample.second);
  const Split split = stratified_split(tensor(labels, TensorOptions(Device(kCPU, 0)).dtype(kLong)), share, seed);
  const auto chosen = [&all](const Tensor& positions) {
    Samples out;
    for (int64_t i = 0; i < positions.numel(); ++i)
      out.push_back(all[static_cast<std::size_t>(positions.data_ptr<int64_t>()[i])]);
    return out;
  };
  samples = chosen(split.rest);
  part = chosen(split.part);
}

// Folders of classes, not parts of a data set under other names.
void check_class_names(const std::string& name, const std::vector<std::string>& classes) {
  check(classes.size() > 1, name, ": has only one folder of images, ", classes[0], "; expected one for each class");
  for (const std::string& each : classes) {
    std::string lower = each;
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
    for (const char* part : {"train", "training", "test", "testing", "val", "valid", "validation"})
      check(lower != part, name, ": ", each,
            " is no class; the folders of its parts must be called train and test, and val");
  }
}

// Calls `make`, which takes the validation part.
template <class F>
void for_validation(const LoadOptions& o, const F& make) {
  try {
    make();
  } catch (const Error& error) {
    fail(error.what(), o.starts_run ? "; --validation 0 compares epochs by the test images instead" : "");
  }
}

LoadedData folder_data(const std::string& name, const LoadOptions& o) {
  constexpr double kTestShare = 0.2;  // always the same files
  const fs::path root(name), validation = validation_folder(root);
  const bool whole = !there(root / "train"), no_test = !there(root / "test") && !there(validation);
  check(!whole || no_test, name, ": has a folder ",
        (there(root / "test") ? root / "test" : validation).filename().string(), ", but no train");
  check(!o.validation_folder || (!whole && there(root / "test") && there(validation)), name,
        ": not a folder with train, val and test, which the run was started with");
  LoadedData out{.name = name, .folder = name};
  FolderReader reader(name, o, out.skipped);
  FolderParts parts;
  if (no_test) {  // broken files are left out first, also if only the test images are wanted: they change the split
    parts.train = reader.samples(whole ? root : root / "train", true);
    check_class_names(name, reader.classes());
    try {
      split_off(kTestShare, 0, parts.train, parts.test);
    } catch (const Error& error) {
      fail(name, ": has no part for tests, and ", error.what());
    }
    out.split = true;
  } else {
    parts.train = reader.samples(root / "train", o.train);
    parts.test = reader.samples(there(root / "test") ? root / "test" : validation, true);
    if (o.validation_folder) for_validation(o, [&] { parts.validation = reader.samples(validation, true); });
  }
  parts.classes = reader.classes();
  out.classes = parts.classes;
  out.class_count = static_cast<int64_t>(parts.classes.size());
  out.sum = sum_of_files(root, parts);
  if (o.validation > 0) for_validation(o, [&] { split_off(o.validation, o.seed, parts.train, parts.validation); });
  out.images.test = image_set(parts, parts.test, o, false);
  if (o.train) out.images.train = image_set(parts, parts.train, o, o.keep_files);
  if (!parts.validation.empty()) out.images.validation = image_set(parts, parts.validation, o, false);
  return out;
}

bool is_idx_folder(const fs::path& folder) {
  for (const char* part : {"train", "t10k"})
    for (const char* kind : {"images-idx3", "labels-idx1"})
      if (!data::find_idx_file(folder.string(), concat(part, "-", kind, "-ubyte")).empty()) return true;
  return false;
}

data::DatasetFiles idx_files(const std::string& name, const LoadOptions& o) try {
  return find_data(name, o.out);
} catch (const Error& error) {
  if (is_data_name(name) || is_idx_folder(name)) throw;
  fail(name,
       ": has neither a folder of images for each class nor the four files of a data set (train-images-idx3-ubyte, …)");
}

LoadedData idx_data(const std::string& name, const LoadOptions& o) {
  const data::DatasetFiles files = idx_files(name, o);
  LoadedData loaded{.name = name, .folder = files.folder, .classes = files.classes};
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

void check_known(const std::string& name) {
  std::error_code ignored;
  if (is_data_name(name) || fs::is_directory(name, ignored)) return;
  const bool file = there(name);
  refuse(file ? "'" + name + "' is a file, not a data set of images"
              : "unknown data set '" + name + "'" + did_you_mean(name, data_names()),
         "; expected ", join(data_names(), ", "),
         ", a folder with the files of one, a folder with a folder of images for each class, or one with the "
         "subfolders train and test, which have such folders; a file of text is for train --model gpt2",
         file ? "" : "; no such folder exists");
}

LoadedData loaded_from(const std::string& name, const LoadOptions& o) {
  for (const Cifar& cifar : kCifar)
    if (name == cifar.name) return cifar.load(name, find_cifar(cifar), o.train);
  check_known(name);
  if (has_image_files(name)) return folder_data(name, o);
  for (const Cifar& cifar : kCifar)
    if (const std::string folder = folder_of(cifar, name); !is_data_name(name) && !folder.empty())
      return cifar.load(name, folder, o.train);
  return idx_data(name, o);
}
}  // namespace

bool has_image_files(const std::string& name) {
  const fs::path folder(name);
  if (is_data_name(name) || is_idx_folder(folder)) return false;
  for (const Cifar& cifar : kCifar)
    if (!folder_of(cifar, folder).empty()) return false;
  return there(folder / "train") || has_class_folders(folder);
}

bool has_validation_folder(const std::string& name) {
  const fs::path folder(name);
  return has_image_files(name) && there(folder / "train") && there(folder / "test") && there(validation_folder(folder));
}

void fetch_data(const std::string& name, std::FILE* out) {
  const bool cifar = std::any_of(std::begin(kCifar), std::end(kCifar), [&](const Cifar& c) { return name == c.name; });
  if (is_data_name(name) && !cifar) find_data(name, out);
}

void print_skipped(const LoadedData& data) {
  if (data.skipped.empty()) return;
  std::string text = concat(data.name, ": left out ",
                            counted(static_cast<int64_t>(data.skipped.size()), "broken image", "broken images"), ":");
  for (const std::string& error : data.skipped) text += "\n    " + error;
  print_error("tandem", text);
}

LoadedData load_data(const std::string& name, const LoadOptions& options) {
  try {
    LoadedData loaded = loaded_from(name, options);
    ImageSetPair& images = loaded.images;
    if (loaded.sum.empty() && options.train) loaded.sum = sum_of(images.train, images.test);
    if (options.validation > 0 && images.validation.count() == 0)
      for_validation(options, [&] {
        const Split split = stratified_split(images.train.labels, options.validation, options.seed);
        images.validation = images.train.at(split.part);
        images.train = images.train.at(split.rest);
      });
    check(!options.validation_folder || images.validation.count() > 0, name,
          ": has no validation part, which the run was started with");
    return loaded;
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

}  // namespace tandem::cli
