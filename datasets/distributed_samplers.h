// Samplers that give each of several processes ("replicas") its share of the samples.
//
// All replicas compute the same order from seed and epoch, without communication. To train with results that do
// not depend on the number of processes, use ShardedBatchSampler.
#pragma once
#include "tandem/datasets/index_samplers.h"

namespace tandem::data::samplers {

/// Base class: each replica takes one of num_replicas runs of equal length. If the size is not divisible, the
/// first samples are taken twice (allow_duplicates), or the last ones by nobody. Derived classes call begin_epoch()
/// in reset().
template <typename BatchRequest = std::vector<size_t>>
class DistributedSampler : public Sampler<BatchRequest> {
 public:
  /// Throws Error unless rank < num_replicas.
  DistributedSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, bool allow_duplicates = true)
      : size_(size), num_replicas_(num_replicas), rank_(rank), allow_duplicates_(allow_duplicates) {
    check(rank < num_replicas, "DistributedSampler: rank ", rank, " is out of range for ", num_replicas, " replicas");
  }
  /// The next reset() starts this epoch. Without it the first reset() starts epoch 0, and each further one the
  /// epoch after the last.
  void set_epoch(size_t epoch) {
    epoch_ = epoch;
    advance_ = false;
  }
  size_t epoch() const { return epoch_; }
  size_t rank() const { return rank_; }

 protected:
  size_t local_sample_count() const {
    return size_ / num_replicas_ + (allow_duplicates_ && size_ % num_replicas_ != 0 ? 1 : 0);
  }
  void begin_epoch() {
    if (advance_) ++epoch_;
    advance_ = true;
  }

  size_t size_, num_replicas_, rank_, epoch_ = 0;
  bool allow_duplicates_, advance_ = false;
};

/// Base of the two samplers below, which compute this replica's indices in advance.
class DistributedIndexSampler : public DistributedSampler<> {
 public:
  void reset(optional<size_t> new_size = nullopt) override;
  optional<std::vector<size_t>> next(size_t batch_size) override;
  /// The state: position and epoch (and the seed, if the order depends on it). After load() into a sampler with the
  /// same arguments, next() continues where save() was called; before the reset() that follows set_epoch, at that
  /// epoch's begin. Throws Error on an archive without this state, or of another rank.
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  /// The position in the joined runs of all replicas: the first is rank * (length of a run).
  size_t index() const noexcept { return begin_ + taken_; }
  uint64_t seed() const { return seed_; }
  /// All replicas need the same seed; it counts from the next reset().
  void set_seed(uint64_t seed) { seed_ = seed; }

 protected:
  DistributedIndexSampler(size_t size, size_t num_replicas, size_t rank, bool allow_duplicates, uint64_t seed)
      : DistributedSampler<>(size, num_replicas, rank, allow_duplicates), seed_(seed) {}
  /// Elements begin … begin + count - 1 of the epoch's order of `total` positions.
  virtual std::vector<size_t> run(size_t total, size_t begin, size_t count) const = 0;

 private:
  uint64_t seed_;
  size_t begin_ = 0, taken_ = 0;
  bool begun_ = false;
  std::vector<size_t> indices_;
};

/// Runs of a shuffled order, which differs in each epoch. The samples that are taken twice, or by nobody, are the same
/// in each epoch.
class DistributedRandomSampler : public DistributedIndexSampler {
 public:
  DistributedRandomSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, bool allow_duplicates = true,
                           uint64_t seed = 0)
      : DistributedIndexSampler(size, num_replicas, rank, allow_duplicates, seed) {}

 protected:
  std::vector<size_t> run(size_t total, size_t begin, size_t count) const override;
};

/// Runs of 0, 1, 2, …
class DistributedSequentialSampler : public DistributedIndexSampler {
 public:
  DistributedSequentialSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, bool allow_duplicates = true)
      : DistributedIndexSampler(size, num_replicas, rank, allow_duplicates, 0) {}

 protected:
  std::vector<size_t> run(size_t total, size_t begin, size_t count) const override;
};

/// The treatment of samples that cannot be divided equally among the replicas.
enum class Uneven {
  kPad,   ///< each replica has as many as the one with most: the first samples of the order repeat
  kDrop,  ///< each replica has as many as the one with least: the last samples of the order are left out
  kKeep   ///< the first replicas have one more
};

struct DistributedSamplerOptions {
  size_t num_replicas = 1;
  size_t rank = 0;
  bool shuffle = true;
  uint64_t seed = 0;  ///< must be the same on all replicas
  Uneven uneven = Uneven::kPad;
};

/// The sampler of PyTorch's Python interface: replica r takes elements r, r + num_replicas, … of the order, so
/// that each shuffled epoch leaves out, or repeats, other elements.
class ReplicaSampler : public IndexSampler {
 public:
  /// Throws Error unless rank < num_replicas.
  explicit ReplicaSampler(size_t size, const DistributedSamplerOptions& options = {});
  size_t rank() const { return options_.rank; }
  /// Number of this replica's indices in an epoch.
  size_t count() const;

 protected:
  std::vector<size_t> order() override;

 private:
  DistributedSamplerOptions options_;
};

}  // namespace tandem::data::samplers
