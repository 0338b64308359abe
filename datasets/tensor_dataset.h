// Data sets of tensors in memory (or on a device): example i is row i. If the last transform is Stack, they
// gather whole batches.
#pragma once
#include <vector>

#include "tandem/datasets/dataset.h"

namespace tandem::data::datasets {

namespace detail {
/// Rows `indices` of `tensor`, on its device. Throws IndexError on an index out of range.
Tensor gather_rows(const Tensor& tensor, ArrayRef<size_t> indices);
/// Row `index` of `tensor`, as a view. Throws IndexError on an index out of range.
Tensor row(const Tensor& tensor, size_t index);
/// Throws Error unless there is at least one tensor and all have the same length.
void check_rows(ArrayRef<Tensor> tensors);
}  // namespace detail

/// Rows of one tensor, without targets.
struct TensorDataset : public Dataset<TensorDataset, TensorExample> {
  explicit TensorDataset(Tensor rows) : tensor(std::move(rows)) { detail::check_rows(tensor); }
  /// Stacks `tensors`.
  explicit TensorDataset(const std::vector<Tensor>& tensors);
  TensorExample get(size_t index) override { return detail::row(tensor, index); }
  TensorExample get_stacked(ArrayRef<size_t> indices) const { return detail::gather_rows(tensor, indices); }
  optional<size_t> size() const override { return static_cast<size_t>(tensor.size(0)); }

  Tensor tensor;
};

/// Rows of data and rows of targets.
struct PairDataset : public Dataset<PairDataset> {
  PairDataset(Tensor data_, Tensor targets_) : data(std::move(data_)), targets(std::move(targets_)) {
    detail::check_rows({data, targets});
  }
  Example<> get(size_t index) override { return {detail::row(data, index), detail::row(targets, index)}; }
  Example<> get_stacked(ArrayRef<size_t> indices) const {
    return {detail::gather_rows(data, indices), detail::gather_rows(targets, indices)};
  }
  optional<size_t> size() const override { return static_cast<size_t>(data.size(0)); }

  Tensor data, targets;
};

/// Rows of any number of tensors (PyTorch's TensorDataset).
struct TensorsDataset : public Dataset<TensorsDataset, std::vector<Tensor>> {
  explicit TensorsDataset(std::vector<Tensor> tensors_) : tensors(std::move(tensors_)) { detail::check_rows(tensors); }
  std::vector<Tensor> get(size_t index) override;
  std::vector<Tensor> get_stacked(ArrayRef<size_t> indices) const;
  optional<size_t> size() const override { return static_cast<size_t>(tensors[0].size(0)); }

  std::vector<Tensor> tensors;
};

/// `length` vectors of `size` normally distributed random numbers, determined by the seed.
struct RandomDataset : public Dataset<RandomDataset, TensorExample> {
  RandomDataset(int64_t size, int64_t length, uint64_t seed = 0);
  TensorExample get(size_t index) override { return detail::row(data, index); }
  TensorExample get_stacked(ArrayRef<size_t> indices) const { return detail::gather_rows(data, indices); }
  optional<size_t> size() const override { return static_cast<size_t>(data.size(0)); }

  Tensor data;  ///< float [length, size]
};

}  // namespace tandem::data::datasets
