// BatchSampler, which fixes the batch size, and samplers for data sets that take a number of examples.
#pragma once
#include "tandem/datasets/batch_part.h"
#include "tandem/datasets/index_samplers.h"

namespace tandem::data::samplers {

/// Groups another sampler's indices into batches of `batch_size`, ignoring the batch size that the loader
/// requests.
template <typename Base>
class BatchSampler : public Sampler<typename Base::BatchRequestType> {
 public:
  BatchSampler(Base base, size_t batch_size, bool drop_last = false)
      : BatchSampler(std::move(base), batch_size, drop_last, "BatchSampler") {}
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

 protected:
  BatchSampler(Base base, size_t batch_size, bool drop_last, const char* name)
      : base_(std::move(base)), batch_size_(batch_size), drop_last_(drop_last) {
    check(batch_size > 0, name, ": batch_size must be at least 1, got 0");
  }
  Base base_;

 private:
  size_t batch_size_;
  bool drop_last_;
};

/// This process's part of each batch of `batch_size` indices of another sampler, ignoring the batch size that
/// the loader requests. Concatenated over the ranks, the parts are the batches of BatchSampler, so training
/// does not depend on the number of processes. A last batch with fewer indices than processes is dropped, too. The
/// state is the base's, which is the same on all ranks and for any number of processes.
template <typename Base>
class ShardedBatchSampler : public BatchSampler<Base> {
 public:
  /// If `base` has no seed and there are several processes, it gets seed 0, so that they agree on the order.
  ShardedBatchSampler(Base base, size_t batch_size, const BatchPart& part, bool drop_last = false)
      : BatchSampler<Base>(std::move(base), batch_size, drop_last, "ShardedBatchSampler"), part_(part) {
    part_.check_for("ShardedBatchSampler", static_cast<int64_t>(batch_size));
    if constexpr (requires { this->base_.set_seed(0); })
      if (part_.size > 1 && !this->seed()) this->set_seed(0);
  }
  optional<typename Base::BatchRequestType> next(size_t = 0) override {
    auto batch = BatchSampler<Base>::next();
    if (!batch || batch->size() < static_cast<size_t>(part_.size)) return nullopt;
    const auto [begin, end] = part_.range(static_cast<int64_t>(batch->size()));
    return typename Base::BatchRequestType(batch->begin() + begin, batch->begin() + end);
  }
  size_t rank() const { return static_cast<size_t>(part_.rank); }

 private:
  BatchPart part_;
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
