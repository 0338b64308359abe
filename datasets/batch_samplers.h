// BatchSampler, which fixes the batch size, and samplers for data sets that take a number of examples.
#pragma once
#include "tandem/datasets/samplers.h"

namespace tandem::data::samplers {

/// Groups another sampler's indices into batches of `batch_size`, ignoring the batch size that the loader
/// requests.
template <typename Base>
class BatchSampler : public Sampler<typename Base::BatchRequestType> {
 public:
  BatchSampler(Base base, size_t batch_size, bool drop_last = false)
      : base_(std::move(base)), batch_size_(batch_size), drop_last_(drop_last) {
    check(batch_size > 0, "BatchSampler: batch_size must be at least 1, got 0");
  }
  void reset(optional<size_t> new_size = nullopt) override { base_.reset(new_size); }
  optional<typename Base::BatchRequestType> next(size_t = 0) override {
    auto batch = base_.next(batch_size_);
    if (batch && drop_last_ && batch->size() < batch_size_) return nullopt;
    return batch;
  }
  void set_epoch(size_t epoch) { base_.set_epoch(epoch); }
  size_t epoch() const { return base_.epoch(); }
  void set_seed(uint64_t seed) { base_.set_seed(seed); }
  optional<uint64_t> seed() const { return base_.seed(); }
  void save(serialize::OutputArchive& archive) const override { base_.save(archive); }
  void load(serialize::InputArchive& archive) override { base_.load(archive); }

 private:
  Base base_;
  size_t batch_size_;
  bool drop_last_;
};

/// A request that is not a list of indices.
struct CustomBatchRequest {
  virtual ~CustomBatchRequest() = default;
  /// Number of requested examples.
  virtual size_t size() const = 0;
};

struct BatchSize : public CustomBatchRequest {
  explicit BatchSize(size_t size) : size_(size) {}
  size_t size() const noexcept override { return size_; }
  operator size_t() const noexcept { return size_; }
  size_t size_;
};

/// For stream data sets: requests numbers of examples that add up to `epoch_size`.
class StreamSampler : public Sampler<BatchSize> {
 public:
  explicit StreamSampler(size_t epoch_size) : epoch_size_(epoch_size) {}
  void reset(optional<size_t> new_size = nullopt) override {
    if (new_size) epoch_size_ = *new_size;
    given_ = 0;
  }
  optional<BatchSize> next(size_t batch_size) override {
    if (given_ >= epoch_size_) return nullopt;
    const size_t left = epoch_size_ - given_, count = batch_size < left ? batch_size : left;
    given_ += count;
    return BatchSize(count);
  }

 private:
  size_t epoch_size_, given_ = 0;
};

}  // namespace tandem::data::samplers
