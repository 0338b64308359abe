// The search for data sets: its order, file name variants, and error messages that say what to do.
#include "tandem/datasets/sources.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "tandem/core/error.h"
#include "tandem/tests/environment.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::data;
using namespace tandem::test;
using doctest::Contains;

namespace {

const char* const kNames[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                              "t10k-labels-idx1-ubyte"};

void fill(const std::string& folder, const std::string& ending = ".gz") {
  std::filesystem::create_directories(folder);
  for (const char* name : kNames) write_file(folder + "/" + name + ending, "x");
}

// Hides the data sets of this machine. Debian's folder cannot be hidden, so the searches below are for mnist.
struct Nowhere {
  TempFolder folder;
  Environment data{"TANDEM_DATA", nullptr}, own{"TANDEM_CACHE", nullptr}, cache{"XDG_CACHE_HOME", folder / "cache"},
      offline{"TANDEM_OFFLINE", nullptr};
};

}  // namespace

TEST_CASE("the table of known data sets is complete") {
  CHECK(known_dataset_names() == std::vector<std::string>{"fashion-mnist", "mnist"});
  CHECK(known_dataset("cifar10") == nullptr);
  for (const std::string& name : known_dataset_names()) {
    const KnownDataset& dataset = *known_dataset(name);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(std::string(dataset.files[i].name) == kNames[i]);
      CHECK(std::string(dataset.files[i].sha256).size() == 64);
      CHECK(dataset.files[i].bytes > 10000);
    }
    for (const char* url : dataset.urls) CHECK(std::string(url).starts_with("http"));
  }
  CHECK(std::string(known_dataset("fashion-mnist")->classes[9]) == "Ankle boot");
}

TEST_CASE("TANDEM_DATA (its subfolder, torchvision's layout, the folder itself) precedes the cache") {
  Nowhere nowhere;
  Environment data("TANDEM_DATA", nowhere.folder / "data");
  const KnownDataset& mnist = *known_dataset("mnist");
  fill(dataset_cache_folder(mnist));
  CHECK(find_dataset("mnist").folder == nowhere.folder / "cache/tandem/mnist");
  fill(nowhere.folder / "data");
  CHECK(find_dataset("mnist").folder == nowhere.folder / "data");
  fill(nowhere.folder / "data/MNIST/raw");
  CHECK(find_dataset("mnist").folder == nowhere.folder / "data/MNIST/raw");
  fill(nowhere.folder / "data/mnist");
  const DatasetFiles found = find_dataset("mnist");
  CHECK(found.folder == nowhere.folder / "data/mnist");
  CHECK(found.name == "mnist");
  CHECK(found.train_images == found.folder + "/train-images-idx3-ubyte.gz");
  CHECK(found.test_labels == found.folder + "/t10k-labels-idx1-ubyte.gz");
  CHECK(found.classes.size() == 10);
}

TEST_CASE("a folder of the data set's name in the current one precedes all, if it has the files") {
  Nowhere nowhere;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::create_directories(nowhere.folder / "here/mnist");
  std::filesystem::current_path(nowhere.folder / "here");
  fill(dataset_cache_folder(*known_dataset("mnist")));
  const std::string other = find_dataset("mnist").folder;
  fill("mnist");
  const DatasetFiles found = find_dataset("mnist");
  std::filesystem::current_path(before);
  CHECK(other == nowhere.folder / "cache/tandem/mnist");
  CHECK(found.folder == "mnist");
  CHECK(found.classes.size() == 10);
}

TEST_CASE("the cache is TANDEM_CACHE, and otherwise under HOME if XDG_CACHE_HOME is not set") {
  const KnownDataset& mnist = *known_dataset("mnist");
  Environment home("HOME", "/h"), cache("XDG_CACHE_HOME", nullptr), own("TANDEM_CACHE", "/own");
  CHECK(dataset_cache_folder(mnist) == "/own/mnist");
  Environment unset("TANDEM_CACHE", nullptr);
  CHECK(dataset_cache_folder(mnist) == "/h/.cache/tandem/mnist");
  Environment homeless("HOME", nullptr);
  CHECK(dataset_cache_folder(mnist) == "");
}

TEST_CASE("any folder with any file name variant; class names from classes.txt") {
  TempFolder folder;
  write_file(folder / "train-images-idx3-ubyte", "x");
  write_file(folder / "train-labels.idx1-ubyte", "x");
  write_file(folder / "t10k-images.idx3-ubyte.gz", "x");
  write_file(folder / "t10k-labels-idx1-ubyte.gz", "x");
  const DatasetFiles found = find_dataset(folder.path());
  CHECK(found.train_labels == folder / "train-labels.idx1-ubyte");
  CHECK(found.test_images == folder / "t10k-images.idx3-ubyte.gz");
  CHECK(found.classes.empty());
  write_file(folder / "classes.txt", "cat\r\ndog\n\nhorse");
  CHECK(find_dataset(folder.path()).classes == std::vector<std::string>{"cat", "dog", "horse"});
}

TEST_CASE("a folder that lacks files is refused with their names") {
  TempFolder folder;
  CHECK_THROWS_WITH_AS(find_dataset(folder.path()), Contains("none of the four files"), Error);
  fill(folder.path());
  std::filesystem::remove(folder / "t10k-labels-idx1-ubyte.gz");
  CHECK_THROWS_WITH_AS(find_dataset(folder.path()),
                       Contains(("data folder " + folder.path() + ": lacks t10k-labels-idx1-ubyte[.gz]").c_str()),
                       Error);
}

TEST_CASE("the error for an unknown name suggests the closest one") {
  CHECK(error_of([] { find_dataset("fashion-mnits"); }) ==
        "unknown data set 'fashion-mnits'; did you mean fashion-mnist?\n"
        "  expected fashion-mnist, mnist or a folder of IDX files; no such folder exists");
}

TEST_CASE("a missing data set is fetched into the cache; the error reports a failed fetch") {
  Nowhere nowhere;
  int fetched = 0;
  const auto fetch = [&](const KnownDataset& dataset, const std::string& folder) {
    CHECK(std::string(dataset.name) == "mnist");
    if (++fetched == 1) fail("no route to host");
    fill(folder);
  };
  const std::string text = error_of([&] { find_dataset("mnist", fetch); });
  CHECK(text ==
        "data set mnist was not found on this machine\n  searched\n    $TANDEM_DATA: not set\n"
        "    /usr/share/datasets/mnist: no such folder\n    " +
            (nowhere.folder / "cache/tandem/mnist") +
            ": no such folder\n  ways to get it\n"
            "    1. put the files in a folder and set TANDEM_DATA to it\n"
            "    2. download it: the attempt failed: no route to host");
  CHECK(find_dataset("mnist", fetch).folder == nowhere.folder / "cache/tandem/mnist");
  CHECK(find_dataset("mnist", fetch).folder == nowhere.folder / "cache/tandem/mnist");
  CHECK(fetched == 2);
}

TEST_CASE("TANDEM_OFFLINE disables the fetch; without a fetch the error names the tool") {
  Nowhere nowhere;
  Environment offline("TANDEM_OFFLINE", "1");
  const auto fetch = [&](const KnownDataset&, const std::string&) { FAIL("fetched"); };
  CHECK_THROWS_WITH_AS(find_dataset("mnist", fetch), Contains("disabled by TANDEM_OFFLINE=1"), Error);
  CHECK_THROWS_WITH_AS(find_dataset("mnist"), Contains("tandem train --data mnist"), Error);
}
