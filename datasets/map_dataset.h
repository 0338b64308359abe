// MapDataset applies a transform to a data set. It has a fast path that avoids single examples: if the last
// transform is Stack, a data set of in-memory tensors gathers whole batches (get_stacked), with bitwise
// identical results.
#pragma once
#include <utility>

#include "tandem/datasets/dataset.h"

namespace tandem::data::datasets {

namespace detail {
/// A data set that returns stacked batches. Derived classes do not qualify, because they may override get().
template <typename D>
concept Gathers = std::is_same_v<D, typename D::SelfType> && requires(D& dataset, ArrayRef<size_t> indices) {
  dataset.get_stacked(indices);
};
/// A transform that maps a stacked batch as it maps the single examples.
template <typename T>
concept MapsStacked = std::is_same_v<T, typename T::StackedSelf> && requires {
  &T::apply_stacked;
};
template <typename D, typename T>
concept GathersFor = Gathers<D> && std::is_same_v<T, transforms::Stack<typename T::OutputBatchType>> &&
    std::is_same_v<typename D::BatchType, typename T::InputBatchType>;
template <typename D, typename T>
concept GathersThrough =
    Gathers<D> && MapsStacked<T> && std::is_same_v<typename D::BatchType, typename T::InputBatchType>;
}  // namespace detail

template <typename SourceDataset, typename AppliedTransform>
class MapDataset
    : public BatchDataset<MapDataset<SourceDataset, AppliedTransform>,
                          detail::OptionalIf<SourceDataset::is_stateful, typename AppliedTransform::OutputBatchType>,
                          typename SourceDataset::BatchRequestType> {
 public:
  using DatasetType = SourceDataset;
  using TransformType = AppliedTransform;
  using BatchRequestType = typename SourceDataset::BatchRequestType;
  using OutputBatchType = detail::OptionalIf<SourceDataset::is_stateful, typename AppliedTransform::OutputBatchType>;

  MapDataset(DatasetType dataset, TransformType transform)
      : dataset_(std::move(dataset)), transform_(std::move(transform)) {}

  OutputBatchType get_batch(BatchRequestType request) override {
    if constexpr (SourceDataset::is_stateful) {
      if (auto batch = dataset_.get_batch(std::move(request))) return transform_.apply_batch(std::move(*batch));
      return nullopt;
    } else if constexpr (detail::GathersFor<SourceDataset, AppliedTransform>) {
      return dataset_.get_stacked(request);
    } else {
      return transform_.apply_batch(dataset_.get_batch(std::move(request)));
    }
  }

  auto get_stacked(ArrayRef<size_t> indices) requires detail::GathersThrough<SourceDataset, AppliedTransform> {
    return transform_.apply_stacked(dataset_.get_stacked(indices));
  }

  optional<size_t> size() const noexcept override { return dataset_.size(); }
  /// For stateful data sets: starts an epoch.
  void reset() { dataset_.reset(); }
  const SourceDataset& dataset() const noexcept { return dataset_; }
  const AppliedTransform& transform() const noexcept { return transform_; }

 private:
  SourceDataset dataset_;
  AppliedTransform transform_;
};

template <typename DatasetType, typename TransformType>
MapDataset<DatasetType, TransformType> map(DatasetType dataset, TransformType transform) {
  return MapDataset<DatasetType, TransformType>(std::move(dataset), std::move(transform));
}

}  // namespace tandem::data::datasets
