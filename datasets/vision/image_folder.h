// ImageFolder: a data set of image files, sorted into one folder per class.
//
//   ROOT/cat/1.jpg, ROOT/cat/more/2.png, ROOT/dog/3.jpg → classes cat (0) and dog (1)
//
//   vision::datasets::ImageFolder train("data/train", Compose({RandomResizedCrop(224), …}));
//   auto loader = torch::data::make_data_loader(train.map(data::transforms::Stack<>()), options);
//
// Examples are uint8 images [3, H, W], or the results of the transform, with their class as int64 scalar.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tandem/datasets/dataset.h"
#include "tandem/datasets/vision/image_file.h"
#include "tandem/datasets/vision/transforms.h"

namespace tandem::vision::datasets {

struct ImageFolderOptions {
  DecodeOptions decoding = {};
  bool allow_empty = false;  ///< allows classes without images
};

class ImageFolder : public data::datasets::Dataset<ImageFolder> {
 public:
  /// Lists the files .jpg, .jpeg and .png (in any case) in the subfolders of `root` and below; symbolic links are
  /// followed, names that begin with a dot left out. Classes are sorted by name, their files by folder and name. Throws
  /// Error if the folder cannot be read, if it has no subfolders, and, listing them, on classes without images.
  explicit ImageFolder(const std::string& root, const ImageFolderOptions& options = {});
  /// Applies a transform to each image.
  ImageFolder(const std::string& root, const transforms::Compose& transform, const ImageFolderOptions& options = {});

  /// Reads the file. Throws Error that names it if it cannot be decoded, and IndexError.
  data::Example<> get(size_t index) override;
  optional<size_t> size() const override { return files_->samples.size(); }

  /// Names of the classes, by number.
  const std::vector<std::string>& classes() const { return files_->classes; }
  /// Paths with their classes.
  const std::vector<std::pair<std::string, int64_t>>& samples() const { return files_->samples; }
  /// Classes of all samples, int64 [N].
  Tensor targets() const;
  /// Decodes all files, in parallel, and returns the error messages, each of which names its file.
  std::vector<std::string> find_broken_files() const;
  /// Leaves these files out from now on, and returns the messages. Throws Error, with one of them, if a class that had
  /// images has none left; the set then stays as it is.
  std::vector<std::string> remove_broken_files();

 private:
  struct Files {
    std::vector<std::string> classes;
    std::vector<std::pair<std::string, int64_t>> samples;
  };
  std::vector<std::string> errors() const;  // one for each sample, empty if it can be read
  static std::shared_ptr<const Files> list(const std::string& root, bool allow_empty);

  std::shared_ptr<const Files> files_;  // shared by the copies that a loader's workers have
  std::shared_ptr<const transforms::ImageTransform> transform_;
  DecodeOptions decoding_;
};

}  // namespace tandem::vision::datasets
