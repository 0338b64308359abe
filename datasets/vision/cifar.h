// CIFAR-10 and CIFAR-100 in their binary version: 32 x 32 colour images, held in memory as bytes.
//
//   vision::datasets::CIFAR10 train("data");
//   auto loader = torch::data::make_data_loader(train.map(Compose({RandomCrop(32, 4), …})).map(Stack<>()), options);
//   data::BatchLoader fast({train.images().to(device), train.targets().to(device)},
//                          {.batch_size = 64, .pixels = PixelScale()});
//
// Krizhevsky: Learning multiple layers of features from tiny images. 2009.
#pragma once
#include <string>
#include <vector>

#include "tandem/datasets/dataset.h"

namespace tandem::vision::datasets {

/// The common base. Examples are uint8 images [3, 32, 32] with int64 targets.
class CIFARBase : public data::datasets::Dataset<CIFARBase> {
 public:
  enum class Mode { kTrain, kTest };
  data::Example<> get(size_t index) override;
  /// Images [B, 3, 32, 32], targets [B].
  data::Example<> get_stacked(ArrayRef<size_t> indices) const;
  optional<size_t> size() const override { return static_cast<size_t>(targets_.size(0)); }
  bool is_train() const noexcept { return train_; }
  /// uint8 [N, 3, 32, 32].
  const Tensor& images() const { return images_; }
  /// int64 [N].
  const Tensor& targets() const { return targets_; }
  /// Names of the classes; empty if the file with them is missing.
  const std::vector<std::string>& classes() const { return classes_; }

 protected:
  struct Format;
  CIFARBase(const std::string& root, Mode mode, const Format& format);
  Tensor images_, targets_, coarse_targets_;
  std::vector<std::string> classes_, coarse_classes_;
  bool train_;
};

/// Reads data_batch_1.bin to data_batch_5.bin, or test_batch.bin, in `root` or in its subfolder cifar-10-batches-bin,
/// and the names of the classes in batches.meta.txt. Throws Error that names the file on a missing one, on a size that
/// is not a multiple of an example's, on labels above 9, and on another number of names than 10.
class CIFAR10 : public CIFARBase {
 public:
  explicit CIFAR10(const std::string& root, Mode mode = Mode::kTrain);
};

/// The same with train.bin or test.bin, fine_label_names.txt and coarse_label_names.txt in `root` or cifar-100-binary:
/// 100 classes, each in one of 20 coarse ones.
class CIFAR100 : public CIFARBase {
 public:
  explicit CIFAR100(const std::string& root, Mode mode = Mode::kTrain);
  const Tensor& coarse_targets() const { return coarse_targets_; }
  const std::vector<std::string>& coarse_classes() const { return coarse_classes_; }
};

}  // namespace tandem::vision::datasets
