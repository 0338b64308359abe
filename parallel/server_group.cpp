#include "tandem/parallel/server_group.h"

#include <algorithm>
#include <numeric>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/generator.h"
#include "tandem/core/shards.h"
#include "tandem/parallel/model_sync.h"

namespace tandem::parallel {

using distributed::WorkPtr;

ServerGroup::ServerGroup(std::shared_ptr<distributed::ProcessGroup> group, const nn::Module& net,
                         int64_t bucket_bytes)
    : group_(std::move(group)), bucket_bytes_(bucket_bytes), exchange_(group_, bucket_bytes) {
  group_->check_member("ParameterServer");
  check(bucket_bytes > 0, "ParameterServer: bucket_bytes must be positive, got ", bucket_bytes);
  distributed::compare_models(*group_, net, "ParameterServer");
  distributed::broadcast_from(*group_, net.parameters(), 0, bucket_bytes);
  broadcast_buffers(net.buffers());
}

// All processes see the same table, so all throw the same error.
WholeBatch ServerGroup::begin_step(int64_t samples, int64_t shards, int64_t step, int64_t pieces,
                                   FunctionRef<std::vector<int64_t>(int64_t samples)> shard_sizes) {
  constexpr int kEntries = 5;
  const int size = group_->size();
  Tensor own = empty({1, kEntries}, kLong);
  int64_t* entry = own.data_ptr<int64_t>();
  entry[0] = samples, entry[1] = shards, entry[2] = step;
  entry[3] = static_cast<int64_t>(default_generator().current_seed());
  entry[4] = pieces;
  const Tensor all = distributed::gather_rows(*group_, own);
  const int64_t* table = all.data_ptr<int64_t>();

  WholeBatch whole;
  whole.seed = static_cast<uint64_t>(table[3]);
  for (int r = 0; r < size; ++r) {
    const int64_t* of = table + r * kEntries;
    check(of[1] == shards && of[2] == step, "ParameterServer: rank ", r, " is at step ", of[2],
          " with shards = ", of[1], ", but rank ", rank(), " at step ", step, " with shards = ", shards);
    whole.samples += of[0];
    if (r < rank()) whole.first += of[4];
  }
  const std::vector<int64_t> sizes = shard_sizes(whole.samples);
  if (sizes.empty()) return whole;
  whole.first = 0;
  whole.total = static_cast<int64_t>(sizes.size());
  check(static_cast<int>(sizes.size()) >= size, "ParameterServer: ", sizes.size(), " shards are too few for ",
        size, " processes; each needs at least one");
  for (int r = 0; r < size; ++r) {
    const int64_t first = balanced_begin(whole.total, size, r),
                  end = balanced_begin(whole.total, size, r + 1);
    const int64_t expected = std::accumulate(sizes.begin() + first, sizes.begin() + end, int64_t{0});
    check(table[r * kEntries] == expected, "ParameterServer: rank ", r, " has ", table[r * kEntries],
          " samples, but its part of a batch of ", whole.samples, " in ", sizes.size(), " shards has ",
          expected, " (shards ", first, " to ", end - 1, ")");
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

void ServerGroup::sum(const Tensor& gradients) {
  const int64_t step = std::max<int64_t>(1, bucket_bytes_ / static_cast<int64_t>(gradients.element_size()));
  std::vector<WorkPtr> works;
  for (int64_t at = 0; at < gradients.numel(); at += step)
    works.push_back(group_->all_reduce(gradients.narrow(0, at, std::min(step, gradients.numel() - at)),
                                       distributed::ReduceOp::SUM, static_cast<int>(works.size())));
  for (const WorkPtr& work : works) work->wait();
}

void ServerGroup::sum_tree(const std::vector<TreeSum::Node>& nodes, int64_t leaves, const Tensor& sum,
                           bool accumulate) {
  exchange_.run(nodes, leaves, sum, accumulate);
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
