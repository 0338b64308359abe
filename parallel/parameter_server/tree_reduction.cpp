// Sums the gradients of shards in a fixed binary tree (tree_sum.h), on any number of devices and processes, and applies
// their changes of buffers as if they had run sequentially: devices, and processes, hold consecutive runs of shards.
#include <optional>
#include <utility>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/random/generator.h"
#include "tandem/core/shards.h"
#include "tandem/parallel/parameter_server/gradient_reduction.h"
#include "tandem/parallel/shards/part_exchange.h"
#include "tandem/parallel/shards/shard_buffers.h"
#include "tandem/parallel/shards/tree_exchange.h"
#include "tandem/parallel/shards/tree_sum.h"

namespace tandem::parallel {
namespace {

class TreeReduction final : public GradientReduction {
 public:
  // Gradients move into the tree as they arrive; otherwise all of them would be in memory twice at the end of backward.
  TreeReduction(const Replicas& replicas, std::size_t root, const ServerOptions& options)
      : GradientReduction(replicas, root, options, "shard"), devices_(replicas.size()) {
    if (options.group) parts_.emplace(options.group, "ParameterServer");
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
    const nn::FlatParameters& flat = replicas_[device]->flat;
    devices_[device].tree.begin_leaf(piece.number, flat.parameters().size(),
                                     [&] { return flat_sum(zeros_like(flat.grad()), flat); });
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
    ShardRun actual = own_shards();
    if (actual == shards_) return true;
    devices_[root_].buffers.restore();
    set_shards(std::move(actual));
    return false;
  }

  void finish(const optim::Optimizer* /*next*/) override {
    fold();
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
  ShardRun own_shards() const {
    const std::vector<int64_t> sizes = cut(samples_, static_cast<std::size_t>(options_.shards));
    if (parts_) return parts_->own_run(sizes);
    return {default_generator().current_seed(), static_cast<int64_t>(sizes.size()), 0, sizes};
  }

  // The weights of shards are their sizes, and the sum is divided once: a size of the whole batch that comes late does
  // not matter then.
  void set_shards(ShardRun shards) {
    shards_ = std::move(shards);
    seed_ = shards_.seed;
    set_pieces(shards_.sizes, shards_.first, 1);
    devices_[root_].buffers.begin(*root().net);
  }

  void fold() {
    std::vector<ShardBuffers*> used;
    for (std::size_t i = 0; i < used_; ++i) used.push_back(&devices_[i].buffers);
    fold_buffers(used, root().net->buffers(), options_.group.get(), options_.bucket_bytes);
  }

  std::vector<DeviceSums> devices_;
  std::optional<PartExchange> parts_;  // with other processes
  ShardRun shards_;
};

}  // namespace

std::unique_ptr<GradientReduction> make_tree_reduction(const GradientReduction::Replicas& replicas, std::size_t root,
                                                       const ServerOptions& options) {
  return std::make_unique<TreeReduction>(replicas, root, options);
}

}  // namespace tandem::parallel
