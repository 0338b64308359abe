// The samplers' orders.
#include "tandem/datasets/samplers.h"

#include <algorithm>
#include <numeric>

#include "tandem/datasets/order.h"

namespace tandem::data::samplers {
namespace {
std::vector<size_t> counting(size_t count) {
  std::vector<size_t> out(count);
  std::iota(out.begin(), out.end(), size_t{0});
  return out;
}
}  // namespace

void IndexSampler::reset(optional<size_t> new_size) {
  if (new_size) size_ = *new_size;
  if (!seed_) seed_ = drawn_seed();
  if (advance_) ++epoch_;
  begun_ = advance_ = true;
  index_ = 0;
  order_ = order();
}

optional<std::vector<size_t>> IndexSampler::next(size_t batch_size) {
  if (!begun_) IndexSampler::reset();
  const size_t count = std::min(batch_size, order_.size() - index_);
  if (count == 0) return nullopt;
  const auto first = order_.begin() + static_cast<std::ptrdiff_t>(index_);
  index_ += count;
  return std::vector<size_t>(first, first + static_cast<std::ptrdiff_t>(count));
}

void IndexSampler::set_epoch(size_t epoch) {
  epoch_ = epoch;
  advance_ = false;
}

std::vector<size_t> IndexSampler::shuffled() const {
  const auto order =
      shuffled_order(static_cast<int64_t>(size_), seed_.value_or(0), static_cast<int64_t>(epoch_));
  return std::vector<size_t>(order.begin(), order.end());
}

std::vector<size_t> SequentialSampler::order() { return counting(size_); }

RandomSampler::RandomSampler(int64_t size, ScalarType) : IndexSampler(static_cast<size_t>(size), nullopt) {
  check(size >= 0, "RandomSampler: size must be at least 0, got ", size);
}

void SubsetRandomSampler::reset(optional<size_t> new_size) {
  check(!new_size || *new_size == indices_.size(), "SubsetRandomSampler: new size ", new_size.value_or(0),
        " does not match the ", indices_.size(), " given indices");
  IndexSampler::reset();
}

std::vector<size_t> SubsetRandomSampler::order() {
  std::vector<size_t> out = shuffled();
  for (size_t& i : out) i = indices_[i];
  return out;
}

DistributedIndexSampler::DistributedIndexSampler(size_t size, size_t num_replicas, size_t rank,
                                                 bool allow_duplicates)
    : IndexSampler(size, 0), num_replicas_(num_replicas), rank_(rank), allow_duplicates_(allow_duplicates) {
  check(rank < num_replicas, "DistributedSampler: rank ", rank, " is out of range for ", num_replicas,
        " replicas");
}

size_t DistributedIndexSampler::local_sample_count() const {
  return (allow_duplicates_ ? size_ + num_replicas_ - 1 : size_) / num_replicas_;
}

std::vector<size_t> DistributedIndexSampler::share(const std::vector<size_t>& order) const {
  std::vector<size_t> out(local_sample_count());
  for (size_t i = 0; i < out.size(); ++i) out[i] = order[(rank_ * out.size() + i) % order.size()];
  return out;
}

std::vector<size_t> DistributedSequentialSampler::order() { return share(counting(size_)); }

}  // namespace tandem::data::samplers
