#include "tandem/parallel/server_group.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/random/generator.h"
#include "tandem/core/shards.h"
#include "tandem/parallel/model_sync.h"

namespace tandem::parallel {

ServerGroup::ServerGroup(std::shared_ptr<distributed::ProcessGroup> group, const nn::Module& net, int64_t bucket_bytes)
    : group_(std::move(group)), bucket_bytes_(bucket_bytes), exchange_(group_, bucket_bytes) {
  group_->check_member("ParameterServer");
  check(bucket_bytes > 0, "ParameterServer: bucket_bytes must be positive, got ", bucket_bytes);
  distributed::compare_models(*group_, net, "ParameterServer");
  distributed::broadcast_from(*group_, net.parameters(), 0, bucket_bytes);
  broadcast_buffers(net.buffers());
}

namespace {

// What a rank says about its part of a batch.
struct Part {
  int64_t samples, shards, step, seed;
};
constexpr int kEntries = sizeof(Part) / sizeof(int64_t);

Part part_of(const std::vector<int64_t>& parts, int rank) {
  const int64_t* row = parts.data() + rank * kEntries;
  return {row[0], row[1], row[2], row[3]};
}

}  // namespace

// Parts are assumed to be those of the last step, so that forward does not wait for the other processes. Sizes of other
// parts only change a divisor that is applied to the sum of the gradients: a run of shards that has at least two
// samples per shard is cut in the same way in every batch in which it has as many samples.
WholeBatch ServerGroup::begin_step(int64_t samples, int64_t shards, int64_t step, ShardSizes shard_sizes, bool wait) {
  const NoGradGuard no_grad;
  const int64_t seed = static_cast<int64_t>(default_generator().current_seed());
  Tensor own = empty({1, kEntries}, kLong);
  const int64_t row[kEntries] = {samples, shards, step, seed};
  std::copy(row, row + kEntries, own.data_ptr<int64_t>());
  arriving_ = empty({group_->size(), kEntries}, TensorOptions(kLong).device(group_->device()));
  exchange_of_parts_ = group_->all_gather(arriving_, own.to(group_->device()));

  int64_t last = 0;  // samples of the last step
  for (std::size_t at = 0; at < parts_.size(); at += kEntries) {
    last += parts_[at];
    parts_[at + 2] = step;
  }
  const auto mine = static_cast<std::ptrdiff_t>(rank()) * kEntries;
  const int64_t own_shards =
      balanced_begin(shards, group_->size(), rank() + 1) - balanced_begin(shards, group_->size(), rank());
  if (wait || samples < 2 * own_shards || parts_.empty() || !std::equal(row, row + kEntries, parts_.begin() + mine))
    receive();
  WholeBatch whole = batch(shard_sizes);
  whole.assumed = last > 0 ? last : whole.samples;
  return whole;
}

void ServerGroup::receive() {
  const NoGradGuard no_grad;
  exchange_of_parts_->wait();
  const Tensor here = arriving_.cpu();
  parts_.assign(here.data_ptr<int64_t>(), here.data_ptr<int64_t>() + here.numel());
}

bool ServerGroup::complete(WholeBatch& whole, ShardSizes shard_sizes) {
  receive();
  WholeBatch actual = batch(shard_sizes);
  if (actual.own_shards.empty()) {
    whole.samples = actual.samples;
    return true;
  }
  actual.assumed = whole.assumed;
  const WholeBatch assumed = std::exchange(whole, std::move(actual));
  return whole.seed == assumed.seed && whole.first == assumed.first && whole.total == assumed.total &&
         whole.own_shards == assumed.own_shards;
}

// All processes have the same parts in the end, so all throw the same error.
WholeBatch ServerGroup::batch(ShardSizes shard_sizes) const {
  const int size = group_->size();
  const Part own = part_of(parts_, rank());
  WholeBatch whole;
  for (int r = 0; r < size; ++r) {
    const Part of = part_of(parts_, r);
    check(of.shards == own.shards && of.step == own.step, "ParameterServer: rank ", r, " is at step ", of.step,
          " with shards = ", of.shards, ", but rank ", rank(), " at step ", own.step, " with shards = ", own.shards);
    whole.samples += of.samples;
  }
  const std::vector<int64_t> sizes = shard_sizes(whole.samples);
  whole.seed = static_cast<uint64_t>(sizes.empty() ? own.seed : part_of(parts_, 0).seed);
  if (sizes.empty()) return whole;
  whole.total = static_cast<int64_t>(sizes.size());
  check(static_cast<int>(sizes.size()) >= size, "ParameterServer: ", sizes.size(), " shards are too few for ", size,
        " processes; each needs at least one");
  for (int r = 0; r < size; ++r) {
    const int64_t first = balanced_begin(whole.total, size, r), end = balanced_begin(whole.total, size, r + 1);
    const int64_t expected = std::accumulate(sizes.begin() + first, sizes.begin() + end, int64_t{0});
    const int64_t samples = part_of(parts_, r).samples;
    check(samples == expected, "ParameterServer: rank ", r, " has ", samples, " samples, but its part of a batch of ",
          whole.samples, " in ", sizes.size(), " shards has ", expected, " (shards ", first, " to ", end - 1, ")");
    if (r == rank()) {
      whole.first = first, whole.count = end - first;
      whole.own_shards.assign(sizes.begin() + first, sizes.begin() + end);
    }
  }
  return whole;
}

bool ServerGroup::any(bool here) {
  return distributed::gather_rows(*group_, full({1}, here ? 1 : 0, kByte)).max().item<int>() != 0;
}

void ServerGroup::sum_tree(const std::vector<TreeSum::Node>& nodes, int64_t leaves, const Tensor& sum, bool accumulate,
                           double divisor) {
  exchange_.run(nodes, leaves, sum, accumulate, divisor);
}

void ServerGroup::broadcast_buffers(const std::vector<Tensor>& buffers) {
  distributed::broadcast_from(*group_, buffers, 0, bucket_bytes_);
}

void ServerGroup::fold_buffers(const std::vector<Tensor>& buffers, const std::vector<bool>& written,
                               FunctionRef<void()> copy_written, FunctionRef<void()> replay) {
  const NoGradGuard no_grad;
  const int last = group_->size() - 1;
  copy_written();
  // A buffer that was written directly takes its value from the last rank that wrote it.
  Tensor owners = full({1, static_cast<int64_t>(buffers.size())}, -1, kInt);
  for (std::size_t k = 0; k < buffers.size(); ++k)
    if (written[k]) owners.data_ptr<int>()[k] = rank();
  owners = distributed::gather_rows(*group_, owners).amax(0);
  for (int r = 0; r <= last; ++r) {
    std::vector<Tensor> of_rank;
    for (std::size_t k = 0; k < buffers.size(); ++k)
      if (owners.data_ptr<int>()[k] == r) of_rank.push_back(buffers[k]);
    distributed::broadcast_from(*group_, of_rank, r, bucket_bytes_);
  }
  // The other buffers are passed from rank to rank, because their updates depend on the previous values.
  distributed::Coalesced flat(buffers, bucket_bytes_, group_->device());
  const auto pass = [&](bool sends, int peer) {
    for (const Tensor& buffer : flat.buffers())
      (sends ? group_->send(buffer, peer) : group_->recv(buffer, peer))->wait();
  };
  if (rank() > 0) pass(false, rank() - 1), flat.unpack();
  replay();
  flat.pack();
  if (rank() < last) pass(true, rank() + 1);
  for (const Tensor& buffer : flat.buffers()) group_->broadcast(buffer, last)->wait();
  flat.unpack();
}

void ServerGroup::abort(const std::exception_ptr& error) noexcept {
  distributed::abort_with(*group_, error, "an exception");
}

}  // namespace tandem::parallel
