// Loads the data set of a command's --data into memory, whatever its files are.
#pragma once
#include <cstdio>
#include <string>
#include <vector>

#include "tandem/cli/terminal.h"
#include "tandem/datasets/image_data.h"

namespace tandem::cli {

struct LoadedData {
  std::string name;    ///< as given
  std::string folder;  ///< where the files are
  std::vector<std::string> classes;
  int64_t class_count = 0;
  data::ImageDataPair images;  ///< uint8 [N, H, W] or [N, 3, H, W]

  /// Channels, height, width.
  std::vector<int64_t> input() const;
};

enum class Parts { kBoth, kTest };

/// Reads fashion-mnist, mnist, cifar10, cifar100, a folder with the files of one of them, or a folder with the subfolders
/// train and test (or val), which have a folder of PNG and JPEG files for each class. These images are resized until their
/// shorter side has `size` pixels, and cropped to a square. Downloads with a progress bar printed to `out`. Throws
/// UsageError if the data set is not found or is broken.
LoadedData load_data(const std::string& name_or_folder, int64_t size, const Terminal& terminal,
                     Parts parts = Parts::kBoth, std::FILE* out = stdout);

/// An image file as uint8 [3, height, width]: resized until its shorter side has `shorter_side` pixels, and cropped. Throws
/// Error that names the file.
Tensor read_picture(const std::string& path, int64_t shorter_side, int64_t height, int64_t width);

}  // namespace tandem::cli
