// Sums the gradients of shards in a fixed binary tree (tree_sum.h), on any number of devices and processes, and applies
// their changes of buffers as if they had run sequentially: devices, and processes, hold consecutive runs of shards.
#include <numeric>
#include <optional>
#include <utility>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/random/generator.h"
#include "tandem/core/shards.h"
#include "tandem/parallel/parameter_server/gradient_reduction.h"
#include "tandem/parallel/shards/part_exchange.h"
#include "tandem/parallel/shards/tree_exchange.h"
#include "tandem/parallel/shards/tree_sum.h"
#include "tandem/parallel/shared/model_sync.h"

namespace tandem::parallel {
namespace {

/// The buffers of a replica while it computes shards; each shard starts with their values before the step.
class ShardBuffers {
 public:
  /// Call before the first shard, once the buffers of `net` have their values. Skips the copy of a buffer that has not
  /// been written since the last step.
  void begin(const nn::Module& net) {
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
  /// The log to use in the forward of a shard.
  autograd::BufferLog* log() { return buffers_.empty() ? nullptr : &log_; }
  /// Call after each shard: keeps what it wrote and restores the initial values.
  void end_shard() {
    NoGradGuard no_grad;
    for (std::size_t k = 0; k < buffers_.size(); ++k)
      if (stamp(buffers_[k]) != stamps_[k]) written_[k] = buffers_[k].clone();
    restore();
  }
  /// Restores the initial values after a shard that failed.
  void restore() {
    NoGradGuard no_grad;
    for (std::size_t k = 0; k < buffers_.size(); ++k) {
      if (stamp(buffers_[k]) == stamps_[k]) continue;
      buffers_[k].copy_(initial_[k]);
      stamps_[k] = stamp(buffers_[k]);
    }
  }
  /// Copies into each buffer the value from the last shard of this replica that wrote it.
  void copy_written(const std::vector<Tensor>& buffers) const {
    NoGradGuard no_grad;
    for (std::size_t k = 0; k < written_.size(); ++k)
      if (written_[k].defined()) Tensor(buffers.at(k)).copy_(written_[k], /*non_blocking=*/true);
  }
  /// Whether a shard of this replica wrote buffer k directly.
  bool wrote(std::size_t k) const { return k < written_.size() && written_[k].defined(); }
  void replay(const std::vector<Tensor>& buffers) { log_.replay(buffers); }

 private:
  struct Stamp {
    const void* data = nullptr;
    uint32_t version = 0;
    bool operator==(const Stamp&) const = default;
  };
  static Stamp stamp(const Tensor& t) { return {t.data_ptr(), t._version()}; }
  std::vector<Tensor> buffers_, initial_, written_;
  std::vector<Stamp> stamps_;  // stamps of the buffers while they equal initial_
  autograd::BufferLog log_;
};

class TreeReduction final : public GradientReduction {
 public:
  // Gradients move into the tree as they arrive; otherwise all of them would be in memory twice at the end of backward.
  TreeReduction(const Replicas& replicas, std::size_t root, const ServerOptions& options)
      : GradientReduction(replicas, root, options, "shard"), devices_(replicas.size()) {
    if (options.group) parts_.emplace(options.group);
    for (std::size_t i = 0; i < replicas.size(); ++i) {
      TreeSum& tree = devices_[i].tree;
      const std::vector<Tensor>& parameters = replicas[i]->flat.parameters();
      replicas[i]->report_gradients([&](std::size_t p) { tree.collect(p, parameters[p]); },
                                    [&](std::size_t p) { tree.check_arriving(p); });
    }
  }

  // Assumed sizes of other processes' parts change nothing but the divisor of the sum: a run of shards that has at
  // least two samples per shard is cut in the same way in every batch in which it has as many samples.
  void begin_step(int64_t samples, int64_t step) override {
    samples_ = samples;
    if (parts_) {
      const int size = options_.group->size(), rank = options_.group->rank();
      const int64_t own = balanced_begin(options_.shards, size, rank + 1) - balanced_begin(options_.shards, size, rank);
      parts_->begin(samples, options_.shards, step, options_.chunks || samples < 2 * own);
      samples_ = parts_->samples();
    }
    set_shards(own_shards());
  }

  void begin_device(std::size_t device) override {
    const ServerReplica& replica = *replicas_[device];
    for (const Tensor& p : replica.flat.parameters()) p.mutable_grad().reset();
    const bool kept = accumulating_ && device == root_;  // the sum of earlier calls must stay where it is
    devices_[device].tree.begin(shards_.total, kept ? FlatSum{} : flat_sum(replica.flat.grad(), replica.flat));
    if (device != root_) devices_[device].buffers.begin(*replica.net);
  }

  void before_backward(std::size_t device, const Piece& piece) override {
    devices_[device].tree.begin_leaf(piece.number, replicas_[device]->flat);
    replicas_[device]->reports = true;
  }

  void after_backward(std::size_t device) override {
    replicas_[device]->reports = false;
    devices_[device].tree.end_leaf(replicas_[device]->flat.parameters());
    devices_[device].buffers.end_shard();
  }

  autograd::BufferLog* log(std::size_t device) override { return devices_[device].buffers.log(); }

  bool complete(bool /*failed*/) override {
    if (!parts_) return true;
    parts_->complete();
    samples_ = parts_->samples();
    Shards actual = own_shards();
    if (actual == shards_) return true;
    devices_[root_].buffers.restore();
    set_shards(std::move(actual));
    return false;
  }

  void finish(const optim::Optimizer* /*next*/) override {
    fold_buffers();
    const NoGradGuard no_grad;
    const DeviceGuard guard(root().device);
    TreeSum total;
    total.begin(shards_.total);
    for (std::size_t i = 0; i < used_; ++i)
      for (const TreeSum::Node& node : devices_[i].tree.nodes())
        total.add(node.level, node.index, seen_from(root().device, node.sum.flat));
    const Tensor& sum = root().flat.grad();
    const double divisor = share(samples_, 1);
    if (options_.group) {
      distributed::TreeExchange(options_.group, options_.bucket_bytes)
          .run(total.nodes(), shards_.total, sum, accumulating_, divisor);
    } else {
      const Tensor& here = total.nodes()[0].sum.flat;
      if (divisor != 1) here.div_(divisor);
      if (accumulating_)
        sum.add_(here);
      else if (!here.is_same(sum))
        sum.copy_(here);
    }
    const FlatSum views = flat_sum(sum, root().flat);
    for (std::size_t i = 0; i < views.views.size(); ++i) root().flat.parameters()[i].mutable_grad() = views.views[i];
    leaf.mutable_grad() = sum;
    accumulating_ = held_back > 0;
  }

  void drop(bool failed) override {
    GradientReduction::drop(failed);
    devices_[root_].buffers.restore();
  }

 private:
  struct DeviceSums {
    TreeSum tree;
    ShardBuffers buffers;
  };
  /// The shards of this process, of all processes' batch.
  struct Shards {
    uint64_t seed = 0;  // of the default generator on rank 0
    int64_t total = 0, first = 0;
    std::vector<int64_t> sizes;  // of shards first, first + 1, …
    bool operator==(const Shards&) const = default;
  };

  Shards own_shards() const {
    const std::vector<int64_t> sizes = cut(samples_, static_cast<std::size_t>(options_.shards));
    const auto total = static_cast<int64_t>(sizes.size());
    if (!parts_) return {default_generator().current_seed(), total, 0, sizes};
    const std::vector<PartExchange::Part>& parts = parts_->parts();
    const auto ranks = static_cast<int64_t>(parts.size());
    check(total >= ranks, "ParameterServer: ", total, " shards are too few for ", ranks,
          " processes; each needs at least one");
    Shards own;
    for (int64_t r = 0; r < ranks; ++r) {
      const int64_t first = balanced_begin(total, ranks, r), end = balanced_begin(total, ranks, r + 1);
      const int64_t expected = std::accumulate(sizes.begin() + first, sizes.begin() + end, int64_t{0});
      const int64_t samples = parts[static_cast<std::size_t>(r)].samples;
      check(samples == expected, "ParameterServer: rank ", r, " has ", samples, " samples, but its part of a batch of ",
            samples_, " in ", total, " shards has ", expected, " (shards ", first, " to ", end - 1, ")");
      if (r == options_.group->rank())
        own = {static_cast<uint64_t>(parts[0].seed), total, first, {sizes.begin() + first, sizes.begin() + end}};
    }
    return own;
  }

  // The weights of shards are their sizes, and the sum is divided once: a size of the whole batch that comes late does
  // not matter then.
  void set_shards(Shards shards) {
    shards_ = std::move(shards);
    seed_ = shards_.seed;
    set_pieces(shards_.sizes, shards_.first, 1);
    devices_[root_].buffers.begin(*root().net);
  }

  void fold_buffers() {
    const std::vector<Tensor> buffers = root().net->buffers();
    for (std::size_t i = 0; i < used_; ++i) devices_[i].buffers.copy_written(buffers);
    if (options_.group && !buffers.empty()) return fold_over_processes(buffers);
    for (std::size_t i = 0; i < used_; ++i) devices_[i].buffers.replay(buffers);
  }

  void fold_over_processes(const std::vector<Tensor>& buffers) {
    const NoGradGuard no_grad;
    distributed::ProcessGroup& group = *options_.group;
    const int rank = group.rank(), last = group.size() - 1;
    // A buffer that was written directly takes its value from the last rank that wrote it.
    Tensor owners = full({1, static_cast<int64_t>(buffers.size())}, -1, kInt);
    for (std::size_t k = 0; k < buffers.size(); ++k)
      for (std::size_t i = 0; i < used_; ++i)
        if (devices_[i].buffers.wrote(k)) owners.data_ptr<int>()[k] = rank;
    owners = distributed::gather_rows(group, owners).amax(0);
    for (int r = 0; r <= last; ++r) {
      std::vector<Tensor> of_rank;
      for (std::size_t k = 0; k < buffers.size(); ++k)
        if (owners.data_ptr<int>()[k] == r) of_rank.push_back(buffers[k]);
      distributed::broadcast_from(group, of_rank, r, options_.bucket_bytes);
    }
    // The other buffers are passed from rank to rank, because their updates depend on the previous values.
    distributed::Coalesced flat(buffers, options_.bucket_bytes, group.device());
    const auto pass = [&](bool sends, int peer) {
      for (const Tensor& buffer : flat.buffers()) (sends ? group.send(buffer, peer) : group.recv(buffer, peer))->wait();
    };
    if (rank > 0) pass(false, rank - 1), flat.unpack();
    for (std::size_t i = 0; i < used_; ++i) devices_[i].buffers.replay(buffers);
    flat.pack();
    if (rank < last) pass(true, rank + 1);
    for (const Tensor& buffer : flat.buffers()) group.broadcast(buffer, last)->wait();
    flat.unpack();
  }

  std::vector<DeviceSums> devices_;
  std::optional<PartExchange> parts_;  // with other processes
  Shards shards_;
};

}  // namespace

std::unique_ptr<GradientReduction> make_tree_reduction(const GradientReduction::Replicas& replicas, std::size_t root,
                                                       const ServerOptions& options) {
  return std::make_unique<TreeReduction>(replicas, root, options);
}

}  // namespace tandem::parallel
