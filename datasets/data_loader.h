// make_data_loader: batches of a data set, in the order of a sampler, made by worker threads.
//
//   auto loader = data::make_data_loader(data::datasets::MNIST(root).map(data::transforms::Stack<>()),
//                                        data::DataLoaderOptions(64).workers(2));
//   for (auto& batch : *loader) train(batch.data, batch.target);
//
// Each begin() starts a new epoch; leaving a loop early is safe. A loader has a single position, so an inner loop would
// take the outer one's batches: inside a loop, begin() throws Error if there are workers; without, it ends the outer
// loop, as in LibTorch, and the outer loop's next ++ throws Error. The contents of batch k
// do not depend on the number of workers: each worker has its own copy of the data set, and random numbers
// from the default generator are keyed by (seed, epoch, batch, rank of the sampler). An exception of a data set or
// transform reaches the loop as WorkerException (without workers: unchanged, which for a ChunkDataset is its own
// WorkerException); a timeout as Error. Only one thread at a time may use a loader: begin(), taking a batch and join()
// throw Error if another thread is inside one of them.
#pragma once
#include <iterator>

#include "tandem/datasets/dataset.h"
#include "tandem/datasets/loader_core.h"
#include "tandem/datasets/samplers.h"

namespace tandem::data {

template <typename Batch>
class DataLoaderBase;

/// An input iterator. The first batch is taken when the iterator is first compared, dereferenced or incremented, so
/// that an exception of making it is thrown there and not by begin(). *it stays valid until ++it. When making a batch
/// has failed, each of the three goes on with the next one. Copies share one position. A loop lasts until its end is
/// reached or the last of its iterators is destroyed; taking a batch throws Error if join() or begin() has ended the loop.
/// Iterators of different loops are equal if both have reached the end.
template <typename Batch>
class Iterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = Batch;
  using pointer = Batch*;
  using reference = Batch&;
  using iterator_category = std::input_iterator_tag;

  Iterator() = default;  ///< the end
  Iterator(DataLoaderBase<Batch>* loader, std::shared_ptr<void> loop)
      : place_(std::make_shared<Place>(Place{loader, std::move(loop), nullptr})) {}
  Iterator& operator++() {
    check(place_ != nullptr, "Incrementing the DataLoader's past-the-end iterator is not allowed");
    if (place_->fresh) batch();
    check(place_->loop != nullptr, "Attempted to increment iterator past the end");
    place_->take();
    return *this;
  }
  void operator++(int) { ++*this; }
  Batch& operator*() const {
    check(place_ != nullptr, "Dereferencing the DataLoader's past-the-end iterator is not allowed");
    Batch* const here = batch();
    check(here != nullptr, "Attempted to dereference iterator that was past the end");
    return *here;
  }
  Batch* operator->() const { return &**this; }
  friend bool operator==(const Iterator& a, const Iterator& b) {
    if (a.place_ && b.place_) return a.place_ == b.place_ || (!a.place_->loop && !b.place_->loop);
    return a.batch() == b.batch();
  }

 private:
  struct Place {
    DataLoaderBase<Batch>* loader;
    std::shared_ptr<void> loop;  // null at the end
    std::shared_ptr<Batch> batch;
    bool fresh = true;

    void take() {
      fresh = false;
      batch = nullptr;  // its memory can be reused for the next batch
      batch = loader->next_batch(loop);
      if (!batch) loop = nullptr;
    }
  };
  // The batch here, taken first if there is none; null at the end.
  Batch* batch() const {
    if (!place_) return nullptr;
    if (!place_->batch && place_->loop) place_->take();
    return place_->batch.get();
  }
  std::shared_ptr<Place> place_;
};

template <typename Batch>
class DataLoaderBase : public detail::LoaderCore {
 public:
  using BatchType = Batch;
  Iterator<Batch> begin() { return Iterator<Batch>(this, begin_epoch()); }
  Iterator<Batch> end() { return {}; }

 protected:
  using LoaderCore::LoaderCore;

 private:
  friend class Iterator<Batch>;
  std::shared_ptr<Batch> next_batch(const std::shared_ptr<void>& loop) {
    return std::static_pointer_cast<Batch>(next(loop));
  }
};

namespace detail {
template <typename T>
T unwrap(optional<T>*);
template <typename T>
T unwrap(T*);
/// The batch type without the optional of a stateful data set.
template <typename T>
using Unwrapped = decltype(unwrap(static_cast<T*>(nullptr)));

template <typename Batch>
JobQueue::Result finish(Batch batch, bool pin) {
  if (pin) pin_batch(batch);
  return std::make_shared<Batch>(std::move(batch));
}

template <typename Sampler>
optional<uint64_t> seed_for(const DataLoaderOptions& options, const Sampler& sampler) {
  if constexpr (requires { sampler.seed(); })
    if (!options.seed()) return sampler.seed();
  return options.seed();
}
}  // namespace detail

template <typename Dataset, typename Sampler>
class StatelessDataLoader : public DataLoaderBase<typename Dataset::BatchType> {
  using Base = DataLoaderBase<typename Dataset::BatchType>;

 public:
  StatelessDataLoader(Dataset dataset, Sampler sampler, const DataLoaderOptions& options)
      : Base(options, detail::seed_for(options, sampler), ~size_t{0}), sampler_(std::move(sampler)) {
    if (!draws_orders(options)) seed_changed(this->state().seed);
    // As in LibTorch, a program may count on one call of the copy constructor for each worker.
    if constexpr (std::is_copy_constructible_v<Dataset>)
      for (size_t w = 0; w < options.workers(); ++w) datasets_.push_back(std::make_unique<Dataset>(dataset));
    else
      check(options.workers() <= 1, "data loader: ", options.workers(),
            " workers each need a copy of the data set, which cannot be copied");
    if (datasets_.empty()) datasets_.push_back(std::make_unique<Dataset>(std::move(dataset)));
  }
  ~StatelessDataLoader() override { this->stop(); }
  Sampler& sampler() { return sampler_; }

 protected:
  int64_t start_epoch(int64_t epoch, bool chosen) override {
    if constexpr (requires { sampler_.set_epoch(size_t{0}); })
      if (chosen) sampler_.set_epoch(static_cast<size_t>(epoch));
    sampler_.reset(nullopt);
    if constexpr (requires { sampler_.epoch(); }) return static_cast<int64_t>(sampler_.epoch());
    return epoch;
  }
  detail::JobQueue::Job next_job() override {
    auto request = next_request();
    if (!request) return {};
    return [this, request = std::move(*request)](int worker) {
      return detail::finish(datasets_[static_cast<size_t>(worker)]->get_batch(request), this->options().pin_memory);
    };
  }
  bool skip_batch() override { return next_request().has_value(); }
  void seed_changed(uint64_t seed) override {
    if constexpr (requires { sampler_.set_seed(seed); }) sampler_.set_seed(seed);
  }
  int64_t rank() const override {
    if constexpr (requires { sampler_.rank(); }) return static_cast<int64_t>(sampler_.rank());
    return 0;
  }

 private:
  // Whether the sampler takes its orders from the default generator; a seed in the options stops it.
  bool draws_orders(const DataLoaderOptions& options) const {
    if constexpr (requires { sampler_.draws(); }) return sampler_.draws() && !options.seed();
    return false;
  }
  auto next_request() {
    auto request = sampler_.next(this->options().batch_size);
    if (request && this->options().drop_last && request->size() < this->options().batch_size) request.reset();
    return request;
  }

  Sampler sampler_;
  std::vector<std::unique_ptr<Dataset>> datasets_;  // one per worker
};

/// For stateful data sets, which define their own epochs. The order of the batches is their state, so at most
/// one worker makes them.
template <typename Dataset>
class StatefulDataLoader : public DataLoaderBase<detail::Unwrapped<typename Dataset::BatchType>> {
  using Base = DataLoaderBase<detail::Unwrapped<typename Dataset::BatchType>>;

 public:
  StatefulDataLoader(Dataset dataset, const DataLoaderOptions& options)
      : Base(options, options.seed(), size_t{1}), dataset_(std::move(dataset)) {}
  ~StatefulDataLoader() override { this->stop(); }

 protected:
  int64_t start_epoch(int64_t epoch, bool) override {
    dataset_.reset();
    return epoch;
  }
  detail::JobQueue::Job next_job() override {
    return [this](int) -> detail::JobQueue::Result {
      auto batch = dataset_.get_batch(this->options().batch_size);
      if (!batch) return nullptr;
      return detail::finish(std::move(*batch), this->options().pin_memory);
    };
  }
  bool skip_batch() override { return dataset_.get_batch(this->options().batch_size).has_value(); }

 private:
  Dataset dataset_;
};

template <typename Dataset, typename Sampler>
requires(!Dataset::is_stateful) std::unique_ptr<StatelessDataLoader<Dataset, Sampler>> make_data_loader(
    Dataset dataset, Sampler sampler, DataLoaderOptions options) {
  return std::make_unique<StatelessDataLoader<Dataset, Sampler>>(std::move(dataset), std::move(sampler), options);
}

/// Creates the sampler from the data set's size. Throws Error if the size is unknown.
template <typename Sampler = samplers::RandomSampler, typename Dataset>
requires(!Dataset::is_stateful && std::is_constructible_v<Sampler, size_t>)
    std::unique_ptr<StatelessDataLoader<Dataset, Sampler>> make_data_loader(Dataset dataset,
                                                                            DataLoaderOptions options = {}) {
  const optional<size_t> size = dataset.size();
  check(size.has_value(), "Expected the dataset to be sized in order to construct the Sampler; pass a sampler");
  if constexpr (requires(int64_t n) { Sampler{n}; })  // not a size_t
    return make_data_loader(std::move(dataset), Sampler(static_cast<int64_t>(*size)), options);
  else
    return make_data_loader(std::move(dataset), Sampler(*size), options);
}

template <typename Dataset>
requires(Dataset::is_stateful) std::unique_ptr<StatefulDataLoader<Dataset>> make_data_loader(
    Dataset dataset, DataLoaderOptions options = {}) {
  return std::make_unique<StatefulDataLoader<Dataset>>(std::move(dataset), options);
}

}  // namespace tandem::data
