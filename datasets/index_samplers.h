// Samplers choose the examples of an epoch's batches.
//
// A sampler's order is a pure function of its seed, epoch and size. reset() starts an epoch: first epoch 0,
// then the next one, or the one given to set_epoch.
#pragma once
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tandem/core/error.h"
#include "tandem/core/options.h"

namespace tandem::serialize {
class OutputArchive;
class InputArchive;
}  // namespace tandem::serialize

namespace tandem::data::samplers {

/// Base class of all samplers, including user-defined ones.
template <typename BatchRequest = std::vector<size_t>>
class Sampler {
 public:
  using BatchRequestType = BatchRequest;
  virtual ~Sampler() = default;
  /// Starts an epoch; changes the size if one is given.
  virtual void reset(optional<size_t> new_size) = 0;
  /// Up to `batch_size` further indices; nullopt at the end of the epoch.
  virtual optional<BatchRequest> next(size_t batch_size) = 0;
  virtual void save(serialize::OutputArchive&) const { fail("this sampler does not save its state"); }
  virtual void load(serialize::InputArchive&) { fail("this sampler does not load its state"); }
};

/// Base of the samplers that compute an epoch's order in advance.
class IndexSampler : public Sampler<> {
 public:
  void reset(optional<size_t> new_size = nullopt) override;
  optional<std::vector<size_t>> next(size_t batch_size) override;
  /// Number of indices returned so far in this epoch.
  size_t index() const noexcept { return index_; }
  size_t epoch() const { return epoch_; }
  /// The next reset() starts this epoch.
  void set_epoch(size_t epoch);
  /// The seed; if nullopt, the first reset() or save() draws one from the default generator.
  optional<uint64_t> seed() const { return seed_; }
  void set_seed(uint64_t seed) { seed_ = seed; }
  /// The state: seed, epoch and index. After load(), next() continues where save() was called, if the sampler
  /// has the same size; one of size 0 only has the state. Throws Error on an archive without this state, or of a larger
  /// sampler.
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 protected:
  IndexSampler(size_t size, optional<uint64_t> seed) : size_(size), seed_(seed) {}
  /// The order of the epoch epoch_.
  virtual std::vector<size_t> order() = 0;
  /// 0 … size_ - 1 shuffled by (*seed_, epoch_).
  std::vector<size_t> shuffled() const;
  /// 0 … size_ - 1.
  std::vector<size_t> counting() const;
  /// Continues within this order.
  void continue_in(std::vector<size_t> order, size_t index);
  const std::vector<size_t>* current_order() const { return order_.get(); }

  size_t size_;

 private:
  mutable optional<uint64_t> seed_;  // save() may draw it
  size_t epoch_ = 0, index_ = 0;
  bool begun_ = false, advance_ = false;
  std::shared_ptr<const std::vector<size_t>> order_;  // copies of the sampler share it
};

/// 0, 1, 2, …
class SequentialSampler : public IndexSampler {
 public:
  explicit SequentialSampler(size_t size) : IndexSampler(size, 0) {}

 protected:
  std::vector<size_t> order() override;
};

/// Every index once, in a different order each epoch.
///
/// Without a seed, and if it is made in GeneratorMode::kPyTorch, the orders are LibTorch's: the constructor and each
/// reset() draw one from the default generator. The state then has the order itself, as LibTorch's has it.
class RandomSampler : public IndexSampler {
 public:
  explicit RandomSampler(int64_t size, ScalarType index_dtype = kInt64);
  RandomSampler(int64_t size, uint64_t seed) : IndexSampler(static_cast<size_t>(size), seed) {}
  void reset(optional<size_t> new_size = nullopt) override;
  /// From now on, the orders follow from the seed.
  void set_seed(uint64_t seed);
  /// Whether the orders are drawn from the default generator.
  bool draws() const { return draws_; }
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 protected:
  std::vector<size_t> order() override;

 private:
  bool draws_ = false;
  optional<std::vector<size_t>> first_;  // the constructor's order, until reset()
};

/// Each of the given indices once, in a different order each epoch.
class SubsetRandomSampler : public IndexSampler {
 public:
  explicit SubsetRandomSampler(std::vector<size_t> indices, optional<uint64_t> seed = nullopt)
      : IndexSampler(indices.size(), seed), indices_(std::move(indices)) {}
  /// Throws Error on a different size, because the indices are fixed.
  void reset(optional<size_t> new_size = nullopt) override;

 protected:
  std::vector<size_t> order() override;

 private:
  std::vector<size_t> indices_;
};

}  // namespace tandem::data::samplers
