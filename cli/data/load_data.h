// Loads the data set of a command's --data into memory, whatever its files are.
#pragma once
#include <cstdio>
#include <string>
#include <vector>

#include "tandem/cli/data/image_set.h"
#include "tandem/cli/options.h"

namespace tandem::cli {

struct LoadedData {
  std::string name;    ///< as given
  std::string folder;  ///< where the files are
  std::vector<std::string> classes{};
  int64_t class_count = 0;
  ImageSetPair images{};  ///< uint8 [N, H, W] or [N, 3, H, W], or files

  /// Channels, height, width.
  std::vector<int64_t> input() const { return images.test.shape(); }
  /// A fingerprint: of all images and labels, or of the names, sizes and labels of their files.
  std::string sum{};
  bool split = false;  ///< the test images are a part of what the folder has
  /// Of each file that was left out: its name, and why it cannot be read.
  std::vector<std::string> skipped{};
};

struct LoadOptions {
  int64_t image_size = kImageSize;  ///< of the images that are made of files
  bool train = true;                ///< load the training images, too
  bool validation_folder = false;   ///< and the part val of a folder with train, val and test
  double validation = 0;            ///< or this share of each class of the training images, chosen by `seed`
  uint64_t seed = 0;
  bool keep_files = false;   ///< leave training images that are in files there
  bool skip_broken = false;  ///< leave out image files that cannot be read
  bool starts_run = false;   ///< the command has --skip-broken and --validation, which an error can name
  std::FILE* out = stdout;   ///< for the progress of a download
};

/// Whether load_data finds a folder of image files there.
bool has_image_files(const std::string& name_or_folder);
/// Whether it is one with train, val and test.
bool has_validation_folder(const std::string& name_or_folder);

/// Reads fashion-mnist, mnist, cifar10, cifar100, a folder with the files of one of them, a folder with a folder of PNG
/// and JPEG files for each class, or one with the subfolders train and test (or val, valid, validation), which have
/// such folders. Without a part for tests, a fifth of each class is that, always the same files. Images from files are
/// resized until their shorter side has image_size pixels, and cropped to a square; they stay in files if they would
/// take more than 1 GiB, or the MiB that $TANDEM_IMAGE_MEMORY says. Up to 20,000 that stay in files are read now, too,
/// to find broken ones. skip_broken reads all files first, whatever their number, and those for the memory again.
/// Throws UsageError if the data set is not found or is broken.
LoadedData load_data(const std::string& name_or_folder, const LoadOptions& options);

/// Downloads the files that load_data would download. Throws UsageError.
void fetch_data(const std::string& name_or_folder, std::FILE* out = stdout);

/// Writes what was left out to standard error.
void print_skipped(const LoadedData& data);

}  // namespace tandem::cli
