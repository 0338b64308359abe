// The table of known data sets and the search for files. The checksums are those of the published files.
#include "tandem/datasets/sources.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tandem/core/base/cache_folder.h"
#include "tandem/core/base/suggest.h"
#include "tandem/core/error.h"

namespace tandem::data {
namespace {

namespace fs = std::filesystem;

constexpr KnownDataset kDatasets[] = {
    // Xiao, Rasul and Vollgraf, "Fashion-MNIST", arXiv:1708.07747.
    {.name = "fashion-mnist",
     .debian_package = "dataset-fashion-mnist",
     .torchvision_folder = "FashionMNIST/raw",
     .files = {{{"train-images-idx3-ubyte", 47040016,
                 "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"},
                {"train-labels-idx1-ubyte", 60008, "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"},
                {"t10k-images-idx3-ubyte", 7840016, "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"},
                {"t10k-labels-idx1-ubyte", 10008, "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"}}},
     .urls = {"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
              "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion"},
     .classes = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
                 "Ankle boot"}},
    // LeCun, Cortes and Burges, "The MNIST database of handwritten digits".
    {.name = "mnist",
     .debian_package = nullptr,
     .torchvision_folder = "MNIST/raw",
     .files = {{{"train-images-idx3-ubyte", 47040016,
                 "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
                {"train-labels-idx1-ubyte", 60008, "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
                {"t10k-images-idx3-ubyte", 7840016, "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
                {"t10k-labels-idx1-ubyte", 10008, "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"}}},
     .urls = {"https://ossci-datasets.s3.amazonaws.com/mnist", "https://storage.googleapis.com/cvdf-datasets/mnist"},
     .classes = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}},
};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// Fills the four paths; returns "" or what is missing.
std::string look_in(const std::string& folder, DatasetFiles& found) {
  if (!is_folder(folder)) return "no such folder";
  std::string* const paths[] = {&found.train_images, &found.train_labels, &found.test_images, &found.test_labels};
  std::string missing;
  int count = 0;
  for (int i = 0; i < 4; ++i) {
    const char* name = kDatasets[0].files[static_cast<std::size_t>(i)].name;  // the same four for every data set
    *paths[i] = find_idx_file(folder, name);
    if (!paths[i]->empty()) continue;
    missing += concat(missing.empty() ? "" : ", ", name, "[.gz]");
    ++count;
  }
  found.folder = folder;
  if (count == 0) return "";
  return count == 4 ? "contains none of the four files" : "lacks " + missing;
}

std::vector<std::string> read_classes(const std::string& path) {
  std::vector<std::string> classes;
  if (!is_file(path)) return classes;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) classes.push_back(line);
  }
  return classes;
}

std::vector<std::string> candidate_folders(const KnownDataset& dataset) {
  std::vector<std::string> folders;
  if (is_folder(dataset.name)) folders.emplace_back(dataset.name);  // in the current one, as in LibTorch
  if (const std::string root = environment("TANDEM_DATA"); !root.empty()) {
    folders.push_back(root + "/" + dataset.name);
    folders.push_back(root + "/" + dataset.torchvision_folder);
    folders.push_back(root);
  }
  folders.push_back(std::string("/usr/share/datasets/") + dataset.name);
  if (const std::string cache = dataset_cache_folder(dataset); !cache.empty()) folders.push_back(cache);
  return folders;
}

std::string try_fetch(const KnownDataset& dataset, const FetchDataset* fetch) {
  if (fetch == nullptr) return concat("let the tool download it: tandem train --data ", dataset.name);
  const std::string offline = environment("TANDEM_OFFLINE");
  if (!offline.empty() && offline != "0") return "download it: disabled by TANDEM_OFFLINE=" + offline;
  const std::string folder = dataset_cache_folder(dataset);
  if (folder.empty())
    return "download it: no cache folder, because none of TANDEM_CACHE, XDG_CACHE_HOME and HOME is set";
  try {
    (*fetch)(dataset, folder);
    return "";
  } catch (const Error& error) {
    return concat("download it: the attempt failed: ", error.what());
  }
}

DatasetFiles find_known(const KnownDataset& dataset, const FetchDataset* fetch) {
  DatasetFiles found;
  found.name = dataset.name;
  found.classes.assign(dataset.classes.begin(), dataset.classes.end());
  std::string looked = environment("TANDEM_DATA").empty() ? "\n    $TANDEM_DATA: not set" : "";
  for (const std::string& folder : candidate_folders(dataset)) {
    const std::string missing = look_in(folder, found);
    if (missing.empty()) return found;
    looked += concat("\n    ", folder, ": ", missing);
  }
  const std::string trouble = try_fetch(dataset, fetch);
  if (trouble.empty()) {
    const std::string missing = look_in(dataset_cache_folder(dataset), found);
    check(missing.empty(), "data set ", dataset.name, ": downloaded, but ", found.folder, ": ", missing);
    return found;
  }
  std::string ways;
  int way = 0;
  if (dataset.debian_package != nullptr)
    ways += concat("\n    ", ++way, ". apt install ", dataset.debian_package, " (Debian, Ubuntu)");
  ways += concat("\n    ", ++way, ". put the files in a folder and set TANDEM_DATA to it");
  ways += concat("\n    ", ++way, ". ", trouble);
  fail("data set ", dataset.name, " was not found on this machine\n  searched", looked, "\n  ways to get it", ways);
}

DatasetFiles find_any(const std::string& name_or_folder, const FetchDataset* fetch) {
  if (const KnownDataset* dataset = known_dataset(name_or_folder)) return find_known(*dataset, fetch);
  const std::vector<std::string> names = known_dataset_names();
  if (!is_folder(name_or_folder)) {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    fail("unknown data set '", name_or_folder, "'", did_you_mean(name_or_folder, names), "\n  expected ", list,
         " or a folder of IDX files; no such folder exists");
  }
  DatasetFiles found;
  found.name = name_or_folder;
  const std::string missing = look_in(name_or_folder, found);
  check(missing.empty(), "data folder ", name_or_folder, ": ", missing,
        "\n  expected train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and"
        " t10k-labels-idx1-ubyte, plain or with .gz");
  found.classes = read_classes(name_or_folder + "/classes.txt");
  return found;
}

}  // namespace

const KnownDataset* known_dataset(std::string_view name) {
  for (const KnownDataset& dataset : kDatasets)
    if (name == dataset.name) return &dataset;
  return nullptr;
}

std::vector<std::string> known_dataset_names() {
  std::vector<std::string> names;
  for (const KnownDataset& dataset : kDatasets) names.emplace_back(dataset.name);
  return names;
}

DatasetFiles find_dataset(const std::string& name_or_folder, FetchDataset fetch) {
  return find_any(name_or_folder, &fetch);
}

DatasetFiles find_dataset(const std::string& name_or_folder) { return find_any(name_or_folder, nullptr); }

std::string find_idx_file(const std::string& folder, const std::string& name) {
  std::string dotted = name;
  if (const auto dash = dotted.rfind("-idx"); dash != std::string::npos) dotted[dash] = '.';
  for (const std::string& each : {name, dotted, name + ".gz", dotted + ".gz"})
    if (is_file(folder + "/" + each)) return folder + "/" + each;
  return "";
}

std::string dataset_cache_folder(const KnownDataset& dataset) {
  const std::string cache = cache_folder();
  return cache.empty() ? "" : cache + "/" + dataset.name;
}

}  // namespace tandem::data
