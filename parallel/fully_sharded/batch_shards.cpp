#include "tandem/parallel/fully_sharded/batch_shards.h"

#include <cmath>
#include <unordered_map>
#include <utility>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/shards.h"
#include "tandem/parallel/fully_sharded/unit_schedule.h"
#include "tandem/parallel/shards/part_exchange.h"
#include "tandem/parallel/shards/shard_buffers.h"
#include "tandem/parallel/shards/tree_exchange.h"
#include "tandem/parallel/shared/model_sync.h"

namespace tandem::distributed {
namespace {

constexpr const char* kName = "BatchShards";

/// The sums of a part's gradients over this process's shards.
struct PartTree {
  explicit PartTree(FlatPart& of) : part(of) {
    for (const FlatPart::Place& place : part.places()) parameters.push_back(place.parameter);
  }
  parallel::FlatSum make() const {
    parallel::FlatSum sum{zeros({part.size()}, part.slice().options()), {}};
    for (const FlatPart::Place& place : part.places())
      sum.views.push_back(alias(sum.flat, place.sizes, place.strides, place.offset));
    return sum;
  }

  FlatPart& part;
  std::vector<Tensor> parameters;
  parallel::TreeSum tree;
};

}  // namespace

struct BatchShards::Impl {
  Impl(std::shared_ptr<FullyShardedDataParallelBase> of, const BatchShardsOptions& with)
      : model(std::move(of)), options(with), group(model->process_group()), exchange(group, kName) {
    for (const ShardedUnit& unit : model->schedule_->units()) {
      trees.emplace_back();
      for (const auto& part : unit.parts) trees.back().push_back(std::make_unique<PartTree>(*part));
    }
    unused.discard();
  }

  template <class F>
  void for_trained(const F& f) {
    for (auto& unit : trees)
      for (auto& tree : unit)
        if (tree->part.trains()) f(*tree);
  }

  // Gradients are collected while it is alive.
  struct Collecting {
    explicit Collecting(Impl& s) : impl(s), whole_gradients(s.model->no_sync()) {}
    Collecting(const Collecting&) = delete;
    Collecting& operator=(const Collecting&) = delete;
    ~Collecting() { impl.model->schedule_->set_collector(nullptr); }
    Impl& impl;
    const FullyShardedDataParallelBase::NoSync whole_gradients;
  };

  parallel::StepResult backward(const Tensors& batch, Loss loss) {
    const int64_t samples = parallel::batch_size(batch, kName);
    exchange.begin(samples, options.shards, steps, /*wait=*/true);
    const parallel::ShardRun own =
        exchange.own_run(parallel::piece_sizes(exchange.samples(), options.shards, options.chunks));
    // Weights are sizes, and the sum is divided once, as ParameterServer does.
    const std::vector<parallel::Piece> pieces = parallel::make_pieces(own.sizes, own.first, 1, options.loss);
    buffers.begin(model->wrapped());
    for_trained([&](PartTree& each) { each.tree.begin(own.total); });

    parallel::StepResult result;
    {
      const Collecting collecting(*this);
      const AutoGradMode recording(true);
      for (const parallel::Piece& piece : pieces) run(piece, own.seed, batch, loss, result, /*counts=*/true);
      // All processes gather units as often: one with a shard less runs its last one once more, without effect.
      const int64_t most = balanced_begin(own.total, group->size(), 1);
      if (static_cast<int64_t>(pieces.size()) < most)
        run(pieces.back(), own.seed, batch, loss, result, /*counts=*/false);
    }
    for (const parallel::Piece& piece : pieces)
      result.weights.push_back(parallel::loss_share(options.loss, piece.size, exchange.samples()));
    if (options.not_finite == NotFinite::kSkip)
      result.skipped = gather_rows(*group, full({1}, result.skipped, kByte)).any().item<bool>();
    if (!result.skipped) {
      parallel::fold_buffers({&buffers}, model->wrapped().buffers(), group.get(), int64_t{4} << 20);
      add_gradients(own.total, parallel::loss_share(options.loss, exchange.samples(), 1));
    }
    ++steps;
    return result;
  }

  // A shard whose loss is not finite runs backward, too, because the other processes do.
  void run(const parallel::Piece& piece, uint64_t seed, const Tensors& batch, Loss loss, parallel::StepResult& result,
           bool counts) {
    Tensors shard;
    for (const Tensor& t : batch) shard.push_back(t.narrow(0, piece.start, piece.size));
    if (counts)
      for_trained([&](PartTree& each) {
        each.tree.begin_leaf(piece.number, each.parameters.size(), [&] { return each.make(); });
      });
    model->schedule_->set_collector([this, counts](std::size_t unit, std::size_t part, std::size_t place) {
      PartTree& each = *trees[unit][part];
      if (counts)
        each.tree.collect(place, each.parameters[place]);
      else
        each.parameters[place].mutable_grad().reset();
    });
    const parallel::PieceRun same{"shard", seed, steps, options.not_finite};
    autograd::BufferLog* const log = counts ? buffers.log() : &unused;
    Tensor value = parallel::loss_of_piece(same, piece, log, group->device(), [&] { return loss(shard); });
    if (counts) {
      result.losses.push_back(value.detach());
      if (!parallel::check_finite(same, piece, value)) result.skipped = true;
    }
    parallel::run_backward(std::move(value), piece);
    if (counts) for_trained([](PartTree& each) { each.tree.end_leaf(each.parameters); });
    buffers.end_shard();
  }

  // Where no process has the unit's gradients, all have zeros.
  void add_gradients(int64_t total, double divisor) {
    const NoGradGuard no_grad;
    for_trained([&](PartTree& each) {
      const Tensor sum = TreeExchange(group, /*bytes=*/0).scatter(each.tree.nodes(), total, divisor);
      each.tree = {};
      Tensor& grad = each.part.slice().mutable_grad();
      if (grad.defined())
        grad.add_(sum);
      else
        grad = sum.clone();  // without the gradients that were received
    });
  }

  // Norms of the whole gradients, in the order of the module's parameters.
  std::vector<double> norms(double norm_type) {
    std::unordered_map<const TensorImpl*, double> of;
    for_trained([&](PartTree& each) {
      const Tensor own = each.part.slice().grad();
      if (!own.defined()) return;
      const Tensor whole = empty({each.part.size()}, own.options());
      group->all_gather(whole, own)->wait();
      for (const FlatPart::Place& place : each.part.places())
        of[place.parameter.impl()] =
            alias(whole, place.sizes, place.strides, place.offset).norm(norm_type).item<double>();
    });
    std::vector<double> out;
    for (const Tensor& p : model->wrapped().parameters())
      if (const auto found = of.find(p.impl()); found != of.end()) out.push_back(found->second);
    return out;
  }

  const std::shared_ptr<FullyShardedDataParallelBase> model;
  const BatchShardsOptions options;
  const std::shared_ptr<ProcessGroup> group;
  parallel::PartExchange exchange;
  parallel::ShardBuffers buffers;
  autograd::BufferLog unused;
  std::vector<std::vector<std::unique_ptr<PartTree>>> trees;  // by unit and part
  int64_t steps = 0;
};

BatchShards::BatchShards(std::shared_ptr<FullyShardedDataParallelBase> model, const BatchShardsOptions& options) {
  check(model != nullptr, kName, ": no model given");
  check(options.shards > 0, kName, ": shards must be positive, got ", options.shards);
  check(options.loss == Reduction::Mean || options.loss == Reduction::Sum, kName, ": options.loss must be Mean or Sum");
  impl_ = std::make_unique<Impl>(std::move(model), options);
}
BatchShards::~BatchShards() = default;

parallel::StepResult BatchShards::backward(const Tensors& batch, Loss loss) {
  return or_abort(*impl_->group, [&] { return impl_->backward(batch, loss); });
}

std::vector<double> BatchShards::gradient_norms(double norm_type) {
  check(norm_type > 0, kName, ".gradient_norms: norm_type must be positive, got ", norm_type);
  return or_abort(*impl_->group, [&] { return impl_->norms(norm_type); });
}

double BatchShards::clip_grad_norm_(double max_norm, double norm_type) {
  double total = 0;
  for (const double norm : gradient_norms(norm_type)) {
    if (std::isinf(norm_type))
      total = std::isnan(norm) || norm > total ? norm : total;
    else
      total += std::pow(norm, norm_type);
  }
  if (!std::isinf(norm_type)) total = std::pow(total, 1 / norm_type);
  impl_->model->clip_gradients(max_norm, total);
  return total;
}

int64_t BatchShards::steps() const { return impl_->steps; }
void BatchShards::set_steps(int64_t steps) {
  check(steps >= 0, kName, ".set_steps: steps must not be negative, got ", steps);
  impl_->steps = steps;
}

}  // namespace tandem::distributed
