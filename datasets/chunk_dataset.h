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
#include <atomic>
#include <deque>
#include <functional>
#include <iterator>
#include <memory>
#include <type_traits>

#include "tandem/core/arg.h"
#include "tandem/core/random/generator.h"
#include "tandem/datasets/dataset.h"
#include "tandem/datasets/job_queue.h"
#include "tandem/datasets/order.h"
#include "tandem/datasets/samplers.h"

namespace tandem::data::datasets {

/// Reads chunks: lists of examples.
template <typename Example_, typename Chunk = std::vector<Example_>>
class ChunkDataReader {
 public:
  using ExampleType = Example_;
  using ChunkType = Chunk;
  virtual ~ChunkDataReader() = default;
  /// With several preloaders, several threads call it at once.
  virtual ChunkType read_chunk(size_t chunk_index) = 0;
  virtual size_t chunk_count() = 0;
  /// Starts an epoch.
  virtual void reset() = 0;
};

struct ChunkDatasetOptions {
  ChunkDatasetOptions() = delete;
  /// Throws Error when a number is 0 or too large.
  ChunkDatasetOptions(size_t preloader_count, size_t batch_size, size_t cache_size = 2048,
                      size_t cross_chunk_shuffle_count = 1)
      : preloader_count_(preloader_count),
        batch_size_(batch_size),
        cache_size_(cache_size),
        cross_chunk_shuffle_count_(cross_chunk_shuffle_count) {
    check(preloader_count > 0, "Preloader count is 0. At least one preloader needs to be specified.");
    check(preloader_count <= 1024, "ChunkDataset: preloader_count must be at most 1024, got ", preloader_count);
    check(batch_size > 0, "Batch size is 0. A positive batch size needs to be specified.");
    check(cache_size > 0, "Cache size is 0. A positive cache size needs to be specified.");
    check(cache_size >= batch_size,
          "Cache size is less than batch size. Cache needs to be large enough to hold at least one batch.");
    check(cross_chunk_shuffle_count > 0, "cross_chunk_shuffle_count needs to be greater than 0.");
  }
  /// Threads that read chunks ahead, from reset() on; at most 1024.
  TANDEM_ARG(size_t, preloader_count);
  TANDEM_ARG(size_t, batch_size);
  /// No chunk is begun while this many examples, or more, wait.
  TANDEM_ARG(size_t, cache_size) = 2048;
  /// Chunks that are read and shuffled together.
  TANDEM_ARG(size_t, cross_chunk_shuffle_count) = 1;
};

/// Batches of options.batch_size examples, the last one possibly smaller; a batch may span chunks. `ChunkSampler`
/// orders the chunks, `ExampleSampler` the examples of the chunks that were read together. Chunks are taken in the
/// sampler's order, whichever is read first, and random numbers from the default generator are keyed by a seed, drawn
/// by reset(), and the number of the read, so the batches do not depend on the number of preloaders. One thread at a
/// time may use a set.
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

  /// `preprocess` changes the examples of the chunks that were read together before they are ordered. With several
  /// preloaders, several threads call it at once. Throws Error if the threads cannot be started.
  ChunkDataset(ChunkReader reader, ChunkSampler chunk_sampler, ExampleSampler example_sampler,
               ChunkDatasetOptions options, std::function<void(UnwrappedBatchType&)> preprocess = {})
      : reader_(std::move(reader)),
        chunk_sampler_(std::move(chunk_sampler)),
        example_sampler_(std::move(example_sampler)),
        options_(std::move(options)),
        preprocess_(std::move(preprocess)),
        queue_(std::make_unique<data::detail::JobQueue>(static_cast<int>(options_.preloader_count()), true, "chunk")) {}

  /// Throws Error on another batch size than the options', or before the first reset(). Throws WorkerException
  /// with what the reader or `preprocess` threw, and the number of the chunk, of `preprocess` the first of those that
  /// were read together; the next call goes on with the chunks after those.
  BatchType get_batch(size_t batch_size) override {
    check(batch_size == options_.batch_size(),
          "The requested batch size does not match with the initialized batch size.\n The requested batch size is ",
          batch_size, ", while the dataset is created with batch size equal to ", options_.batch_size());
    return get_batch();
  }
  BatchType get_batch() {
    check(begun_, "ChunkDataset: call reset() before the first get_batch()");
    UnwrappedBatchType batch;
    // The examples of this batch stay in the set until it is complete, so that an exception loses none.
    while (ready_.size() < options_.batch_size()) {
      if (at_ == order_.size() && !read_more()) break;
      ready_.push_back(std::move(examples_[order_[at_++]]));
    }
    batch.swap(ready_);
    if (batch.empty()) return nullopt;
    return batch;
  }

  /// Begins an epoch. Waits for the chunks that are being read, and drops them.
  void reset() override {
    queue_->cancel();
    begun_chunks_.clear();
    waiting_ = 0;
    seed_ = drawn_seed();
    jobs_ = 0;
    reader_.reset();
    if (!loaded_) chunk_sampler_.reset(reader_.chunk_count());
    loaded_ = false;
    ready_.clear();
    examples_.clear();
    order_.clear();
    at_ = 0;
    begun_ = true;
    read_ahead();
  }
  /// The number of examples is unknown until all chunks have been read.
  optional<size_t> size() const override { return nullopt; }
  ChunkSamplerType& chunk_sampler() { return chunk_sampler_; }
  /// The state of the order of the chunks. The first epoch after load() goes on with the chunks that had not been read.
  /// A sampler that cannot be copied has also left the chunks that are read ahead.
  void save(serialize::OutputArchive& archive) const override {
    if constexpr (kCopied) {
      if (!begun_chunks_.empty()) return begun_chunks_.front().save(archive);
    }
    chunk_sampler_.save(archive);
  }
  /// Call reset() next.
  void load(serialize::InputArchive& archive) override {
    queue_->cancel();
    begun_chunks_.clear();
    chunk_sampler_.reset(reader_.chunk_count());
    chunk_sampler_.load(archive);
    loaded_ = true;
  }

 private:
  static constexpr bool kCopied = std::is_copy_constructible_v<ChunkSampler>;
  struct Nothing {};

  UnwrappedBatchType read_one(size_t chunk) try {
    return reader_.read_chunk(chunk);
  } catch (...) {  // names the chunk, one of several that are read together
    throw data::detail::NumberedError{std::current_exception(), static_cast<int64_t>(chunk)};
  }

  // Runs on a preloader.
  std::shared_ptr<UnwrappedBatchType> read(const std::vector<size_t>& chunks) {
    auto examples = std::make_shared<UnwrappedBatchType>();
    for (const size_t chunk : chunks) {
      UnwrappedBatchType part = read_one(chunk);
      std::move(part.begin(), part.end(), std::back_inserter(*examples));
    }
    if (preprocess_) preprocess_(*examples);
    waiting_ += examples->size();
    return examples;
  }

  // Lets the preloaders begin chunks; one at least is begun if there is one.
  void read_ahead() {
    while (queue_->pending() == 0 || (queue_->pending() < static_cast<int64_t>(options_.preloader_count()) &&
                                      waiting_ + order_.size() - at_ < options_.cache_size())) {
      [[maybe_unused]] std::conditional_t<kCopied, ChunkSampler, Nothing> before = [this] {
        if constexpr (kCopied)
          return chunk_sampler_;
        else
          return Nothing();
      }();
      const auto chunks = chunk_sampler_.next(options_.cross_chunk_shuffle_count());
      if (!chunks) return;
      if (chunks->empty()) continue;
      queue_->push(static_cast<int64_t>(chunks->front()),
                   [this, seed = seed_, job = jobs_++, all = std::vector<size_t>(chunks->begin(), chunks->end())](int) {
                     const GeneratorGuard random(batch_generator(seed, 0, job));
                     return read(all);
                   });
      begun_chunks_.push_back(std::move(before));
    }
  }

  // The result of the next job. Also drops what belongs to it if the job threw, but not if it could not be waited for.
  std::shared_ptr<UnwrappedBatchType> pop() {
    const auto drop = [this] {
      while (static_cast<int64_t>(begun_chunks_.size()) > queue_->pending()) begun_chunks_.pop_front();
    };
    try {
      const auto result = queue_->pop();
      drop();
      return std::static_pointer_cast<UnwrappedBatchType>(result);
    } catch (...) {
      drop();
      throw;
    }
  }

  // Takes and orders the next chunks that have examples; returns false after the last one.
  bool read_more() {
    examples_.clear();
    order_.clear();
    at_ = 0;
    while (examples_.empty()) {
      read_ahead();
      if (queue_->pending() == 0) return false;
      examples_ = std::move(*pop());
      waiting_ -= examples_.size();
    }
    example_sampler_.reset(examples_.size());
    if (const auto order = example_sampler_.next(examples_.size())) order_.assign(order->begin(), order->end());
    read_ahead();
    return true;
  }

  ChunkReader reader_;
  ChunkSampler chunk_sampler_;
  ExampleSampler example_sampler_;
  ChunkDatasetOptions options_;
  std::function<void(UnwrappedBatchType&)> preprocess_;
  UnwrappedBatchType ready_;     // of the batch that is being made
  UnwrappedBatchType examples_;  // of the chunks that were taken last
  std::vector<size_t> order_;    // the rest of examples_, from at_ on
  size_t at_ = 0;
  bool begun_ = false, loaded_ = false;
  uint64_t seed_ = 0;               // of the random numbers of this epoch's jobs
  int64_t jobs_ = 0;                // begun in this epoch
  std::atomic<size_t> waiting_{0};  // examples that were read and not taken
  // The sampler before each job.
  std::deque<std::conditional_t<kCopied, ChunkSampler, Nothing>> begun_chunks_;
  // Last, because its threads use the other members.
  std::unique_ptr<data::detail::JobQueue> queue_;
};

}  // namespace tandem::data::datasets
