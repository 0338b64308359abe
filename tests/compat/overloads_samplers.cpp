// Distributed samplers: the shares of all replicas, and the state in archives.
#include "overloads.h"

#include <algorithm>
#include <sstream>

namespace overloads {
namespace {

using torch::data::samplers::DistributedRandomSampler;
using torch::data::samplers::DistributedSequentialSampler;

// The indices of all replicas, each followed by its position at the end.
template <class Sampler>
std::vector<int64_t> shares(size_t size, size_t replicas, bool duplicates, bool sorted) {
  std::vector<int64_t> all, ends;
  for (size_t rank = 0; rank < replicas; ++rank) {
    Sampler sampler(size, replicas, rank, duplicates);
    sampler.reset();
    while (const auto batch = sampler.next(3)) all.insert(all.end(), batch->begin(), batch->end());
    ends.push_back(static_cast<int64_t>(sampler.index()));
  }
  if (sorted) std::sort(all.begin(), all.end());
  all.insert(all.end(), ends.begin(), ends.end());
  return all;
}

// The state after `taken` indices of epoch 3.
template <class Sampler>
std::vector<torch::Tensor> state(size_t taken, const std::vector<std::string>& keys) {
  Sampler sampler = {10, 2, 1};
  sampler.set_epoch(3);
  sampler.reset(12);
  if (taken > 0) sampler.next(taken);
  torch::serialize::OutputArchive out;
  sampler.save(out);
  std::stringstream file;
  out.save_to(file);
  torch::serialize::InputArchive in;
  in.load_from(file);
  std::vector<torch::Tensor> values;
  for (const std::string& key : keys) {
    torch::Tensor value;
    in.read(key, value, /*is_buffer=*/true);
    values.push_back(value);
  }
  Sampler other(12, 2, 1);
  other.load(in);
  values.push_back(torch::tensor(static_cast<int64_t>(other.index())));
  while (const auto batch = other.next(1))
    values.push_back(torch::tensor(static_cast<int64_t>(std::min(batch->size(), size_t{1}))));
  return values;
}

// A sampler derived from LibTorch's base class.
struct Striding : torch::data::samplers::DistributedSampler<> {
  using DistributedSampler<>::DistributedSampler;
  void reset(torch::optional<size_t> new_size = torch::nullopt) override {
    size_ = new_size.value_or(size_);
    taken = 0;
  }
  torch::optional<std::vector<size_t>> next(size_t) override {
    if (taken == local_sample_count()) return torch::nullopt;
    return std::vector<size_t>{(rank_ + epoch_ + taken++ * num_replicas_) % size_};
  }
  void save(torch::serialize::OutputArchive&) const override {}
  void load(torch::serialize::InputArchive&) override {}
  size_t taken = 0;
};

std::vector<int64_t> strides(size_t size, size_t epoch, bool duplicates) {
  Striding sampler(size, 3, 1, duplicates);
  sampler.set_epoch(epoch);
  sampler.reset();
  std::vector<int64_t> all{static_cast<int64_t>(sampler.epoch())};
  while (const auto batch = sampler.next(1)) all.push_back(static_cast<int64_t>(batch->at(0)));
  return all;
}

}  // namespace

void add_samplers(Lines& lines) {
  for (const size_t size : {1, 2, 3, 7, 12, 13})
    for (const size_t replicas : {1, 2, 3, 5})
      for (const bool duplicates : {false, true}) {
        if (replicas > 2 * size) continue;  // LibTorch returns indices out of range
        const std::string call =
            "(" + std::to_string(size) + ", " + std::to_string(replicas) + (duplicates ? ", true)" : ", false)");
        lines.add(("DistributedSequentialSampler" + call).c_str(), [&](const auto&) {
          return show(shares<DistributedSequentialSampler>(size, replicas, duplicates, false));
        });
        lines.add(("DistributedRandomSampler" + call + ", sorted").c_str(), [&](const auto&) {
          return show(shares<DistributedRandomSampler>(size, replicas, duplicates, true));
        });
      }
  using Keys = std::vector<std::string>;
  LINE(state<DistributedSequentialSampler>(0, Keys{"sample_index_"}))
  LINE(state<DistributedSequentialSampler>(4, Keys{"sample_index_"}))
  LINE(state<DistributedRandomSampler>(0, Keys{"sample_index_", "epoch_"}))
  LINE(state<DistributedRandomSampler>(4, Keys{"sample_index_", "epoch_"}))
  LINE(strides(10, 0, true)) LINE(strides(10, 2, true)) LINE(strides(10, 2, false))
}

}  // namespace overloads
