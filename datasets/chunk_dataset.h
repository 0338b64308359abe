// ChunkDataset: a data set stored in chunks, such as files, of which a few are in memory at a time (LibTorch's
// interface).
//
//   struct Files : data::datasets::ChunkDataReader<data::Example<>> {
//     std::vector<data::Example<>> read_chunk(size_t index) override;
//     size_t chunk_count() override;
//     void reset() override {}
//   };
//   auto set = data::datasets::make_shared_dataset<data::datasets::ChunkDataset<Files>>(
//       Files(), data::samplers::RandomSampler(0), data::samplers::RandomSampler(0), ChunkDatasetOptions(1, 64));
//   for (auto& batch : *data::make_data_loader(set, data::DataLoaderOptions(64))) …
#pragma once
#include <algorithm>
#include <functional>
#include <iterator>

#include "tandem/core/arg.h"
#include "tandem/datasets/dataset.h"
#include "tandem/datasets/samplers.h"

namespace tandem::data::datasets {

/// Reads chunks: lists of examples.
template <typename Example_, typename Chunk = std::vector<Example_>>
class ChunkDataReader {
 public:
  using ExampleType = Example_;
  using ChunkType = Chunk;
  virtual ~ChunkDataReader() = default;
  virtual ChunkType read_chunk(size_t chunk_index) = 0;
  virtual size_t chunk_count() = 0;
  /// Starts an epoch.
  virtual void reset() = 0;
};

struct ChunkDatasetOptions {
  ChunkDatasetOptions() = delete;
  /// Throws Error when a number is 0.
  ChunkDatasetOptions(size_t preloader_count, size_t batch_size, size_t cache_size = 2048,
                      size_t cross_chunk_shuffle_count = 1)
      : preloader_count_(preloader_count),
        batch_size_(batch_size),
        cache_size_(cache_size),
        cross_chunk_shuffle_count_(cross_chunk_shuffle_count) {
    check(preloader_count > 0, "ChunkDataset: preloader_count must be positive");
    check(batch_size > 0, "ChunkDataset: batch_size must be positive");
    check(cache_size > 0 && cache_size >= batch_size,
          "ChunkDataset: cache_size must be positive and at least batch_size, got ", cache_size);
    check(cross_chunk_shuffle_count > 0, "ChunkDataset: cross_chunk_shuffle_count must be positive");
  }
  /// LibTorch's threads that read chunks; without effect here, because a loader's worker reads ahead.
  TANDEM_ARG(size_t, preloader_count);
  TANDEM_ARG(size_t, batch_size);
  /// LibTorch's limit of examples that are read ahead; without effect here.
  TANDEM_ARG(size_t, cache_size) = 2048;
  /// Chunks that are read and shuffled together.
  TANDEM_ARG(size_t, cross_chunk_shuffle_count) = 1;
};

/// Batches of options.batch_size examples, the last one possibly smaller; a batch may span chunks. `ChunkSampler`
/// orders the chunks, `ExampleSampler` the examples of the chunks that are in memory.
template <typename ChunkReader, typename ChunkSampler = samplers::RandomSampler,
          typename ExampleSampler = samplers::RandomSampler>
class ChunkDataset final : public StatefulDataset<ChunkDataset<ChunkReader, ChunkSampler, ExampleSampler>,
                                                  typename ChunkReader::ChunkType, size_t> {
 public:
  using UnwrappedBatchType = typename ChunkReader::ChunkType;
  using BatchType = optional<UnwrappedBatchType>;
  using BatchRequestType = size_t;
  using ChunkSamplerType = ChunkSampler;
  using ExampleSamplerType = ExampleSampler;

  /// `preprocess` changes the examples of the chunks in memory before they are ordered.
  ChunkDataset(ChunkReader reader, ChunkSampler chunk_sampler, ExampleSampler example_sampler,
               ChunkDatasetOptions options, std::function<void(UnwrappedBatchType&)> preprocess = {})
      : reader_(std::move(reader)),
        chunk_sampler_(std::move(chunk_sampler)),
        example_sampler_(std::move(example_sampler)),
        options_(std::move(options)),
        preprocess_(std::move(preprocess)) {}

  /// Throws Error on another batch size than that of the options, or before the first reset().
  BatchType get_batch(size_t batch_size) override {
    check(batch_size == options_.batch_size(), "ChunkDataset: the requested batch size ", batch_size,
          " does not match the initialized batch size, ", options_.batch_size());
    return get_batch();
  }
  BatchType get_batch() {
    check(begun_, "ChunkDataset: call reset() before the first get_batch()");
    UnwrappedBatchType batch;
    while (batch.size() < options_.batch_size()) {
      if (at_ == order_.size() && !read_more()) break;
      batch.push_back(std::move(examples_[order_[at_++]]));
    }
    if (batch.empty()) return nullopt;
    return batch;
  }

  void reset() override {
    reader_.reset();
    if (!loaded_) chunk_sampler_.reset(reader_.chunk_count());
    loaded_ = false;
    examples_.clear();
    order_.clear();
    at_ = 0;
    begun_ = true;
  }
  /// The number of examples is unknown until all chunks have been read.
  optional<size_t> size() const override { return nullopt; }
  ChunkSamplerType& chunk_sampler() { return chunk_sampler_; }
  /// The state of the order of the chunks. The first epoch after load() goes on with the chunks that had not been read.
  void save(serialize::OutputArchive& archive) const override { chunk_sampler_.save(archive); }
  void load(serialize::InputArchive& archive) override {
    chunk_sampler_.reset(reader_.chunk_count());
    chunk_sampler_.load(archive);
    loaded_ = true;
  }

 private:
  // Reads and orders the next chunks that have examples; returns false after the last one.
  bool read_more() {
    examples_.clear();
    order_.clear();
    at_ = 0;
    while (examples_.empty()) {
      const auto chunks = chunk_sampler_.next(options_.cross_chunk_shuffle_count());
      if (!chunks) return false;
      for (const size_t chunk : *chunks) {
        UnwrappedBatchType part = reader_.read_chunk(chunk);
        std::move(part.begin(), part.end(), std::back_inserter(examples_));
      }
      if (preprocess_) preprocess_(examples_);
    }
    example_sampler_.reset(examples_.size());
    if (const auto order = example_sampler_.next(examples_.size()))
      order_.assign(order->begin(), order->end());
    return true;
  }

  ChunkReader reader_;
  ChunkSampler chunk_sampler_;
  ExampleSampler example_sampler_;
  ChunkDatasetOptions options_;
  std::function<void(UnwrappedBatchType&)> preprocess_;
  UnwrappedBatchType examples_;
  std::vector<size_t> order_;  // what remains of examples_, from at_ on
  size_t at_ = 0;
  bool begun_ = false, loaded_ = false;
};

}  // namespace tandem::data::datasets
