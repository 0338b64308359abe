// The shares of the replicas.
#include "tandem/datasets/distributed_samplers.h"

#include <algorithm>
#include <random>

#include "tandem/datasets/order.h"
#include "tandem/datasets/sampler_state.h"

namespace tandem::data::samplers {

void DistributedIndexSampler::reset(optional<size_t> new_size) {
  if (new_size) size_ = *new_size;
  begin_epoch();
  const size_t count = local_sample_count();
  begin_ = rank_ * count;
  taken_ = 0;
  begun_ = true;
  indices_ = run(count * num_replicas_, begin_, count);
}

optional<std::vector<size_t>> DistributedIndexSampler::next(size_t batch_size) {
  if (!begun_) DistributedIndexSampler::reset();
  const size_t count = std::min(batch_size, indices_.size() - taken_);
  if (count == 0) return nullopt;
  const auto first = indices_.begin() + static_cast<std::ptrdiff_t>(taken_);
  taken_ += count;
  return std::vector<size_t>(first, first + static_cast<std::ptrdiff_t>(count));
}

void DistributedIndexSampler::save(serialize::OutputArchive& archive) const {
  const size_t begin = rank_ * local_sample_count();
  write_state(archive, "sample_index_", advance_ ? index() : begin);
  write_state(archive, "epoch_", epoch_);
  write_state(archive, "seed_", seed_);
}

void DistributedIndexSampler::load(serialize::InputArchive& archive) {
  const uint64_t index = read_state(archive, "sample_index_");
  const size_t count = local_sample_count(), begin = rank_ * count;
  check(index >= begin && index - begin <= count, "DistributedSampler: the loaded position ", index, " is outside ",
        begin, " … ", begin + count, ", the run of rank ", rank_,
        "; load the state that this rank saved with the same size and number of replicas");
  seed_ = read_state(archive, "seed_", seed_);
  set_epoch(read_state(archive, "epoch_", epoch_));
  DistributedIndexSampler::reset();
  taken_ = index - begin;
  advance_ = taken_ > 0;  // a state before the first sample: reset() starts this epoch
}

std::vector<size_t> DistributedRandomSampler::run(size_t total, size_t begin, size_t count) const {
  if (generator_mode() == GeneratorMode::kPyTorch) {  // as in LibTorch, where the epoch is the seed
    std::vector<size_t> all(total);
    for (size_t i = 0; i < total; ++i) all[i] = i % size_;
    std::shuffle(all.begin(), all.end(), std::mt19937(static_cast<std::mt19937::result_type>(epoch_)));
    return std::vector<size_t>(all.begin() + static_cast<std::ptrdiff_t>(begin),
                               all.begin() + static_cast<std::ptrdiff_t>(begin + count));
  }
  const auto order = shuffled_order(static_cast<int64_t>(total), seed(), static_cast<int64_t>(epoch_));
  std::vector<size_t> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<size_t>(order[begin + i]) % size_;
  return out;
}

std::vector<size_t> DistributedSequentialSampler::run(size_t, size_t begin, size_t count) const {
  std::vector<size_t> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = (begin + i) % size_;
  return out;
}

ReplicaSampler::ReplicaSampler(size_t size, const DistributedSamplerOptions& options)
    : IndexSampler(size, options.seed), options_(options) {
  check(options.rank < options.num_replicas, "ReplicaSampler: rank ", options.rank, " is out of range for ",
        options.num_replicas, " replicas");
}

size_t ReplicaSampler::count() const {
  const size_t rest = size_ % options_.num_replicas;
  const bool more = options_.uneven == Uneven::kPad ? rest > 0 : options_.rank < rest;
  return size_ / options_.num_replicas + (more && options_.uneven != Uneven::kDrop ? 1 : 0);
}

std::vector<size_t> ReplicaSampler::order() {
  std::vector<size_t> all = options_.shuffle ? shuffled() : counting(), out(count());
  for (size_t i = 0; i < out.size(); ++i) out[i] = all[(options_.rank + i * options_.num_replicas) % size_];
  return out;
}

}  // namespace tandem::data::samplers
