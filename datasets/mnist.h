// MNIST and data sets in its format, read from IDX files: images float [1, H, W] in 0 … 1, targets int64.
#pragma once
#include <string>

#include "tandem/datasets/dataset.h"

namespace tandem::data::datasets {

class MNIST : public Dataset<MNIST> {
 public:
  enum class Mode { kTrain, kTest };

  /// `root` is a folder with the two files of the mode (train-images-idx3-ubyte and so on, or .idx3-ubyte,
  /// plain or .gz), directly or in torchvision's subfolders MNIST/raw or raw; or it is "mnist", which
  /// find_dataset then searches for. Throws Error that lists the searched folders, or names the file and what
  /// is wrong.
  explicit MNIST(const std::string& root, Mode mode = Mode::kTrain) : MNIST(root, mode, "mnist") {}

  Example<> get(size_t index) override;
  /// Images [B, 1, H, W], targets [B].
  Example<> get_stacked(ArrayRef<size_t> indices) const;
  optional<size_t> size() const override { return static_cast<size_t>(targets_.size(0)); }
  bool is_train() const noexcept { return train_; }
  /// All images, float [N, 1, H, W], converted from the stored bytes on every call.
  Tensor images() const;
  /// int64 [N].
  const Tensor& targets() const { return targets_; }
  /// The images as read: uint8 [N, H, W].
  const Tensor& bytes() const { return bytes_; }

 protected:
  MNIST(const std::string& root, Mode mode, const char* name);

 private:
  Tensor bytes_, targets_;
  bool train_;
};

/// The default root searches $TANDEM_DATA, the folder of Debian's package, and the cache.
class FashionMNIST : public Dataset<FashionMNIST> {
 public:
  using Mode = MNIST::Mode;
  explicit FashionMNIST(const std::string& root = "fashion-mnist", Mode mode = Mode::kTrain);

  Example<> get(size_t index) override { return base_.get(index); }
  Example<> get_stacked(ArrayRef<size_t> indices) const { return base_.get_stacked(indices); }
  optional<size_t> size() const override { return base_.size(); }
  bool is_train() const noexcept { return base_.is_train(); }
  Tensor images() const { return base_.images(); }
  const Tensor& targets() const { return base_.targets(); }
  const Tensor& bytes() const { return base_.bytes(); }

 private:
  struct Base : MNIST {
    Base(const std::string& root, Mode mode) : MNIST(root, mode, "fashion-mnist") {}
  } base_;
};

}  // namespace tandem::data::datasets
