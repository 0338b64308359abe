// DataLoader: make_data_loader's loader with the interface that PyTorch has in Python, in one line:
//
//   data::DataLoader loader(dataset, {.batch_size = 30, .shuffle = true, .num_workers = 2});
//   for (auto& batch : loader) …
//
// An optional third argument collates a vector of examples into a batch; default: transforms::Stack.
#pragma once
#include "tandem/datasets/data_loader.h"

namespace tandem::data {

struct LoaderOptions {
  size_t batch_size = 1;
  bool shuffle = false;
  size_t num_workers = 0;
  bool drop_last = false;
  bool pin_memory = false;
  optional<uint64_t> seed = nullopt;  ///< default: drawn from the default generator; 0 for several processes
  DataLoaderOptions::Timeout timeout = nullopt;
  BatchPart part = {};  ///< of each batch; batch_size counts the whole batch
};

namespace detail {
/// In order or shuffled, chosen at run time.
class EpochSampler : public samplers::IndexSampler {
 public:
  EpochSampler(size_t size, bool shuffle) : IndexSampler(size, nullopt), shuffle_(shuffle) {}

 protected:
  std::vector<size_t> order() override { return shuffle_ ? shuffled() : counting(); }

 private:
  bool shuffle_;
};

/// Without drop_last, which counts examples of whole batches: the sampler drops the last one.
DataLoaderOptions full_options(const LoaderOptions& options);
size_t known_size(optional<size_t> size);

/// Collates a data set's batches by default; batches that are not lists of examples are left unchanged.
template <typename Batch>
struct DefaultCollate {
  template <typename Dataset>
  static Dataset apply(Dataset dataset) {
    return dataset;
  }
};
template <typename E>
struct DefaultCollate<std::vector<E>> {
  template <typename Dataset>
  static auto apply(Dataset dataset) {
    return datasets::MapDataset<Dataset, transforms::Stack<E>>(std::move(dataset), {});
  }
};
template <typename Dataset, typename Collate>
auto collate_with(Dataset dataset, Collate collate) {
  using In = typename Dataset::BatchType;
  using Out = std::invoke_result_t<Collate, In>;
  return datasets::MapDataset<Dataset, transforms::BatchLambda<In, Out>>(
      std::move(dataset), transforms::BatchLambda<In, Out>(std::move(collate)));
}
template <typename Dataset>
auto collate_with(Dataset dataset) {
  return DefaultCollate<typename Dataset::BatchType>::apply(std::move(dataset));
}
}  // namespace detail

template <typename Dataset, typename... Collate>
class DataLoader
    : public StatelessDataLoader<decltype(detail::collate_with(std::declval<Dataset>(), std::declval<Collate>()...)),
                                 samplers::ShardedBatchSampler<detail::EpochSampler>> {
  using Base = StatelessDataLoader<decltype(detail::collate_with(std::declval<Dataset>(), std::declval<Collate>()...)),
                                   samplers::ShardedBatchSampler<detail::EpochSampler>>;

 public:
  explicit DataLoader(Dataset dataset, const LoaderOptions& options = {}, Collate... collate)
      : DataLoader(known_size(dataset), dataset, options, std::move(collate)...) {}
  /// Number of batches in an epoch.
  size_t size() const { return batches_; }

 private:
  static size_t known_size(const Dataset& dataset) { return detail::known_size(dataset.size()); }
  DataLoader(size_t examples, Dataset& dataset, const LoaderOptions& options, Collate... collate)
      : Base(detail::collate_with(std::move(dataset), std::move(collate)...),
             {detail::EpochSampler(examples, options.shuffle), options.batch_size, options.part, options.drop_last},
             detail::full_options(options)),
        batches_(
            static_cast<size_t>(batch_count(static_cast<int64_t>(examples), static_cast<int64_t>(options.batch_size),
                                            options.drop_last, options.part))) {}

  size_t batches_;
};
template <typename Dataset, typename... Collate>
DataLoader(Dataset, const LoaderOptions&, Collate...) -> DataLoader<Dataset, Collate...>;
template <typename Dataset>
DataLoader(Dataset) -> DataLoader<Dataset>;

}  // namespace tandem::data
