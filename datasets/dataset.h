// Data sets: they return examples by index (Dataset) or batches by request (BatchDataset); .map adds
// transforms.
//
//   struct Squares : data::datasets::Dataset<Squares> {
//     data::Example<> get(size_t i) override;         // called in several workers, each with its own copy
//     optional<size_t> size() const override;
//   };
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "tandem/datasets/transforms.h"

namespace tandem::serialize {
class OutputArchive;
class InputArchive;
}  // namespace tandem::serialize

namespace tandem::data::datasets {

namespace detail {
template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<optional<T>> : std::true_type {};
template <bool kYes, typename T>
using OptionalIf = std::conditional_t<kYes, optional<T>, T>;
}  // namespace detail

template <typename SourceDataset, typename AppliedTransform>
class MapDataset;

/// `Self` is the derived class. If Batch is an optional, the data set is stateful: an empty optional means
/// the end of an epoch.
template <typename Self, typename Batch = std::vector<Example<>>, typename BatchRequest = ArrayRef<size_t>>
class BatchDataset {
 public:
  using SelfType = Self;
  using BatchType = Batch;
  using BatchRequestType = BatchRequest;
  static constexpr bool is_stateful = detail::IsOptional<BatchType>::value;

  virtual ~BatchDataset() = default;
  virtual Batch get_batch(BatchRequest request) = 0;
  /// Number of examples, if known.
  virtual optional<size_t> size() const = 0;

  /// This data set with `transform` applied to every batch.
  template <typename TransformType>
  MapDataset<Self, TransformType> map(TransformType transform) & {
    return MapDataset<Self, TransformType>(static_cast<Self&>(*this), std::move(transform));
  }
  template <typename TransformType>
  MapDataset<Self, TransformType> map(TransformType transform) && {
    return MapDataset<Self, TransformType>(std::move(static_cast<Self&>(*this)), std::move(transform));
  }
};

template <typename Self, typename SingleExample = Example<>>
class Dataset : public BatchDataset<Self, std::vector<SingleExample>> {
 public:
  using ExampleType = SingleExample;
  virtual ExampleType get(size_t index) = 0;

  std::vector<ExampleType> get_batch(ArrayRef<size_t> indices) override {
    std::vector<ExampleType> batch;
    batch.reserve(indices.size());
    for (const size_t i : indices) batch.push_back(get(i));
    return batch;
  }
};

/// Returns batches by count instead of by index; use it with samplers::StreamSampler.
template <typename Self, typename Batch = std::vector<Example<>>>
using StreamDataset = BatchDataset<Self, Batch, size_t>;

/// A data set that defines its own epochs, without a sampler.
template <typename Self, typename Batch = std::vector<Example<>>, typename BatchRequest = size_t>
class StatefulDataset : public BatchDataset<Self, optional<Batch>, BatchRequest> {
 public:
  /// Starts an epoch.
  virtual void reset() = 0;
  virtual void save(serialize::OutputArchive&) const { fail("this data set does not save its state"); }
  virtual void load(serialize::InputArchive&) { fail("this data set does not load its state"); }
};

/// One data set shared by all workers instead of one copy per worker. Its get_batch must be thread-safe.
template <typename UnderlyingDataset>
class SharedBatchDataset
    : public BatchDataset<SharedBatchDataset<UnderlyingDataset>, typename UnderlyingDataset::BatchType,
                          typename UnderlyingDataset::BatchRequestType> {
 public:
  using BatchType = typename UnderlyingDataset::BatchType;
  using BatchRequestType = typename UnderlyingDataset::BatchRequestType;
  SharedBatchDataset(std::shared_ptr<UnderlyingDataset> shared) : dataset_(std::move(shared)) {}
  BatchType get_batch(BatchRequestType request) override { return dataset_->get_batch(std::move(request)); }
  optional<size_t> size() const override { return dataset_->size(); }
  UnderlyingDataset& operator*() { return *dataset_; }
  const UnderlyingDataset& operator*() const { return *dataset_; }
  UnderlyingDataset* operator->() { return dataset_.get(); }
  const UnderlyingDataset* operator->() const { return dataset_.get(); }
  void reset() { dataset_->reset(); }

 private:
  std::shared_ptr<UnderlyingDataset> dataset_;
};

template <typename UnderlyingDataset, typename... Args>
SharedBatchDataset<UnderlyingDataset> make_shared_dataset(Args&&... args) {
  return std::make_shared<UnderlyingDataset>(std::forward<Args>(args)...);
}

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

/// A data set with a transform. A fast path avoids single examples: if the last transform is Stack, a data set of
/// in-memory tensors gathers whole batches (get_stacked), with bitwise identical results.
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
