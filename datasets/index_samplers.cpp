// The samplers' orders.
#include "tandem/datasets/index_samplers.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tandem/autograd/ops/factories/tensor_literal.h"
#include "tandem/autograd/ops/random/random.h"
#include "tandem/datasets/order.h"
#include "tandem/datasets/sampler_state.h"
#include "tandem/nn/files/archive.h"

namespace tandem::data::samplers {

void IndexSampler::reset(optional<size_t> new_size) {
  if (new_size) size_ = *new_size;
  if (!seed_) seed_ = drawn_seed();
  if (advance_) ++epoch_;
  begun_ = advance_ = true;
  index_ = 0;
  order_ = std::make_shared<const std::vector<size_t>>(order());
}

optional<std::vector<size_t>> IndexSampler::next(size_t batch_size) {
  if (!begun_) IndexSampler::reset();
  const size_t count = std::min(batch_size, order_->size() - std::min(index_, order_->size()));
  if (count == 0) return nullopt;
  const auto first = order_->begin() + static_cast<std::ptrdiff_t>(index_);
  index_ += count;
  return std::vector<size_t>(first, first + static_cast<std::ptrdiff_t>(count));
}

void IndexSampler::set_epoch(size_t epoch) {
  epoch_ = epoch;
  advance_ = false;
}

void IndexSampler::save(serialize::OutputArchive& archive) const {
  write_state(archive, "index", advance_ ? index_ : 0);
  write_state(archive, "epoch", epoch_);
  if (!seed_) seed_ = drawn_seed();
  write_state(archive, "seed", *seed_);
}

void IndexSampler::load(serialize::InputArchive& archive) {
  const uint64_t index = read_state(archive, "index"), epoch = read_state(archive, "epoch", epoch_);
  if (const auto seed = try_read_state(archive, "seed")) seed_ = seed;
  set_epoch(epoch);
  IndexSampler::reset();
  check(index <= order_->size() || order_->empty(), "sampler: the loaded index ", index,
        " is above the number of indices, ", order_->size(), "; load the state of a sampler of the same size");
  index_ = index;
  advance_ = index > 0;
}

void IndexSampler::continue_in(std::vector<size_t> order, size_t index) {
  size_ = order.size();
  order_ = std::make_shared<const std::vector<size_t>>(std::move(order));
  index_ = index;
  begun_ = true;
  advance_ = index > 0;
}

std::vector<size_t> IndexSampler::counting() const {
  std::vector<size_t> out(size_);
  std::iota(out.begin(), out.end(), size_t{0});
  return out;
}

std::vector<size_t> IndexSampler::shuffled() const {
  const auto order = shuffled_order(static_cast<int64_t>(size_), seed_.value_or(0), static_cast<int64_t>(epoch_));
  return std::vector<size_t>(order.begin(), order.end());
}

std::vector<size_t> SequentialSampler::order() { return counting(); }

RandomSampler::RandomSampler(int64_t size, ScalarType)
    : IndexSampler(static_cast<size_t>(size), nullopt), draws_(generator_mode() == GeneratorMode::kPyTorch) {
  check(size >= 0, "RandomSampler: size must be at least 0, got ", size);
  if (!draws_) return;
  IndexSampler::set_seed(0);  // none is drawn: that would move the generator
  first_ = order();
}

void RandomSampler::reset(optional<size_t> new_size) {
  first_.reset();
  IndexSampler::reset(new_size);
}

void RandomSampler::set_seed(uint64_t seed) {
  draws_ = false;
  IndexSampler::set_seed(seed);
}

std::vector<size_t> RandomSampler::order() {
  if (!draws_) return shuffled();
  if (first_) return *std::exchange(first_, nullopt);
  const Tensor indices = randperm(static_cast<int64_t>(size_), TensorOptions(kLong).device(kCPU));
  const auto* first = indices.data_ptr<int64_t>();
  return std::vector<size_t>(first, first + size_);
}

void RandomSampler::save(serialize::OutputArchive& archive) const {
  IndexSampler::save(archive);
  const std::vector<size_t>* now = first_ ? &*first_ : current_order();
  if (draws_ && now != nullptr)
    archive.write("indices", tensor(std::vector<int64_t>(now->begin(), now->end())), /*is_buffer=*/true);
}

void RandomSampler::load(serialize::InputArchive& archive) {
  Tensor indices;
  if (!archive.try_read("indices", indices, /*is_buffer=*/true)) {
    draws_ = false;
    return IndexSampler::load(archive);
  }
  check(indices.dim() == 1 && is_integral(indices.dtype(), false),
        "RandomSampler: the loaded indices are not a list of integers");
  const Tensor order = indices.to(Device(kCPU), kLong).contiguous();
  const auto* first = order.data_ptr<int64_t>();
  const uint64_t index = read_state(archive, "index");
  check(index <= static_cast<uint64_t>(order.numel()), "RandomSampler: the loaded index ", index,
        " is above the number of indices, ", order.numel());
  for (int64_t i = 0; i < order.numel(); ++i)
    check(first[i] >= 0 && first[i] < order.numel(), "RandomSampler: the loaded indices have ", first[i],
          ", which is not below their number, ", order.numel());
  first_.reset();
  continue_in(std::vector<size_t>(first, first + order.numel()), index);
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

}  // namespace tandem::data::samplers
