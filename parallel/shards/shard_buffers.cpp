#include "tandem/parallel/shards/shard_buffers.h"

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/parallel/shared/model_sync.h"

namespace tandem::parallel {

void ShardBuffers::begin(const nn::Module& net) {
  NoGradGuard no_grad;
  std::vector<Tensor> now = net.buffers();
  initial_.resize(now.size());
  stamps_.resize(now.size());
  for (std::size_t k = 0; k < now.size(); ++k) {
    if (k < buffers_.size() && buffers_[k].is_same(now[k]) && stamp(now[k]) == stamps_[k]) continue;
    if (initial_[k].defined() && initial_[k].sizes() == now[k].sizes() && initial_[k].dtype() == now[k].dtype() &&
        initial_[k].device() == now[k].device())
      initial_[k].copy_(now[k]);
    else
      initial_[k] = now[k].clone();
    stamps_[k] = stamp(now[k]);
  }
  buffers_ = std::move(now);
  written_.assign(buffers_.size(), {});
  log_.watch(buffers_);
}

void ShardBuffers::end_shard() {
  NoGradGuard no_grad;
  for (std::size_t k = 0; k < buffers_.size(); ++k)
    if (stamp(buffers_[k]) != stamps_[k]) written_[k] = buffers_[k].clone();
  restore();
}

void ShardBuffers::restore() {
  NoGradGuard no_grad;
  for (std::size_t k = 0; k < buffers_.size(); ++k) {
    if (stamp(buffers_[k]) == stamps_[k]) continue;
    buffers_[k].copy_(initial_[k]);
    stamps_[k] = stamp(buffers_[k]);
  }
}

void fold_buffers(const std::vector<ShardBuffers*>& replicas, const std::vector<Tensor>& buffers,
                  distributed::ProcessGroup* group, int64_t bytes) {
  const NoGradGuard no_grad;
  for (const ShardBuffers* replica : replicas)
    for (std::size_t k = 0; k < buffers.size(); ++k)
      if (replica->wrote(k)) Tensor(buffers[k]).copy_(replica->written_[k], /*non_blocking=*/true);
  const auto replay = [&] {
    for (ShardBuffers* replica : replicas) replica->log_.replay(buffers);
  };
  if (group == nullptr || buffers.empty()) return replay();
  const int rank = group->rank(), last = group->size() - 1;
  // A buffer that was written directly takes its value from the last rank that wrote it.
  Tensor owners = full({1, static_cast<int64_t>(buffers.size())}, -1, kInt);
  for (std::size_t k = 0; k < buffers.size(); ++k)
    for (const ShardBuffers* replica : replicas)
      if (replica->wrote(k)) owners.data_ptr<int>()[k] = rank;
  owners = distributed::gather_rows(*group, owners).amax(0);
  for (int r = 0; r <= last; ++r) {
    std::vector<Tensor> of_rank;
    for (std::size_t k = 0; k < buffers.size(); ++k)
      if (owners.data_ptr<int>()[k] == r) of_rank.push_back(buffers[k]);
    distributed::broadcast_from(*group, of_rank, r, bytes);
  }
  // The other buffers are passed from rank to rank, because their updates depend on the previous values.
  distributed::Coalesced flat(buffers, bytes, group->device());
  const auto pass = [&](bool sends, int peer) {
    for (const Tensor& buffer : flat.buffers()) (sends ? group->send(buffer, peer) : group->recv(buffer, peer))->wait();
  };
  if (rank > 0) pass(false, rank - 1), flat.unpack();
  replay();
  flat.pack();
  if (rank < last) pass(true, rank + 1);
  for (const Tensor& buffer : flat.buffers()) group->broadcast(buffer, last)->wait();
  flat.unpack();
}

}  // namespace tandem::parallel
