// Labelled images of a data set: in memory, or in files that are read whenever they are needed.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tandem/core/error.h"
#include "tandem/datasets/image_data.h"
#include "tandem/datasets/vision/transforms.h"

namespace tandem::cli {

/// Image files that cannot be read.
class BrokenImages : public Error {
  using Error::Error;
};

/// Image files of any size.
class ImageFiles {
 public:
  /// `size`: height and width of the images made of them.
  ImageFiles(std::vector<std::string> paths, vision::ImageSize size) : paths_(std::move(paths)), size_(size) {}
  int64_t count() const { return static_cast<int64_t>(paths_.size()); }
  vision::ImageSize size() const { return size_; }

  /// The files at `positions`, int64 [N], as uint8 [N, 3, height, width]: resized until the shorter side fits, and
  /// cropped to the middle; or changed by `transform`, with random numbers from the default generator that do not
  /// depend on the threads. Throws BrokenImages that names the first broken file and says how many there are.
  Tensor read(const Tensor& positions, const vision::transforms::Compose* transform = nullptr) const;
  /// Reads all files. Throws BrokenImages as read().
  void check_all() const;

 private:
  std::vector<std::string> paths_;
  vision::ImageSize size_;
};

/// If there are files, the images are int64 [N], their positions.
struct ImageSet : data::ImageData {
  std::shared_ptr<const ImageFiles> files{};

  int64_t count() const { return images.defined() ? images.size(0) : 0; }
  /// Channels, height, width.
  std::vector<int64_t> shape() const;
  /// Images of [first, first + size), uint8 [size, H, W] or [size, C, H, W].
  Tensor rows(int64_t first, int64_t size) const;
  /// The first `count` images.
  ImageSet head(int64_t count) const;
  /// The images at `positions`, int64 [M].
  ImageSet at(const Tensor& positions) const;
};

struct ImageSetPair {
  ImageSet train, test;
  ImageSet validation{};  ///< empty unless epochs are compared by it
};

/// An image file as uint8 [3, height, width]: resized until its shorter side has `shorter_side` pixels, and cropped.
/// Throws Error that names the file.
Tensor read_picture(const std::string& path, int64_t shorter_side, int64_t height, int64_t width);

}  // namespace tandem::cli
