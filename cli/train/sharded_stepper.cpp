// With --fully-sharded, the optimizer works on this process's slices of the model.
#include <algorithm>

#include "tandem/autograd/ops.h"
#include "tandem/cli/train/augmentation.h"
#include "tandem/cli/train/sharded_run.h"
#include "tandem/cli/train/team_stepper.h"
#include "tandem/core/random/generator.h"
#include "tandem/core/random/splitmix64.h"
#include "tandem/parallel/fully_sharded/batch_shards.h"
#include "tandem/parallel/fully_sharded/fully_sharded_data_parallel.h"
#include "tandem/parallel/shared/model_sync.h"

namespace tandem::cli {

namespace {

// Each process keeps a slice of the model, and a part of each batch. Without shards, the mean over the processes of their
// gradients is that of the batch if their parts are equally large; otherwise each loss is multiplied by its share.
class FullySharded final : public TeamStepper {
 public:
  FullySharded(const nn::Sequential& model, const Recipe& recipe, const Placement& placement)
      : TeamStepper(model, recipe, placement),
        net_(model_, {.process_group = placement.team.group_for(placement.root),
                      .gather_rounded = recipe.half(),
                      .is_unit = units_of(model_)}) {
    Recipe elementwise = recipe;  // a slice is a vector of matrices and others
    if (recipe.decay == "matrices") {
      elementwise.decay = "all";
      elementwise.weight_decay = 0;
      find_matrices();
    }
    train(net_.ptr(), elementwise);
    if (placement.shards > 0)
      shards_.emplace(net_.ptr(), distributed::BatchShardsOptions{.shards = placement.shards,
                                                                  .not_finite = parallel::NotFinite::kIgnore});
    exchange_.emplace(team_, most_pieces(placement));
  }

  distributed::FullyShardedDataParallelBase* sharded() override { return net_.get(); }
  void set_steps(int64_t steps) override {
    steps_ = steps;
    if (shards_) shards_->set_steps(steps);
  }

  // All processes run each forward pass; one that has no batch left takes part with the last one again. A pass has the
  // same images in any number of processes.
  Score evaluate(const ImageSet& data) override {
    distributed::broadcast_from(*net_->process_group(), model_->buffers(), 0);
    const NoGradGuard no_grad;
    net_->eval();
    const int64_t count = data.count(), most = evaluation_batch(data);
    const Tensor sums = zeros({(count + most - 1) / most, 2}, kDouble);
    for (int64_t first = 0; first < sums.size(0); first += team_.size()) {
      const int64_t own = first + team_.rank(), k = std::min(own, sums.size(0) - 1), at = k * most;
      const int64_t size = std::min(most, count - at);
      const Tensor images = data.rows(at, size).to(loss_sum_.device());
      const auto mixed = in_precision(recipe_, images.device());
      const Tensor rows =
          scores(net_->forward(to_input(images)), data.labels.narrow(0, at, size).to(loss_sum_.device()));
      if (own == k) sums[k].copy_(rows.sum(0));
    }
    net_->train();
    return score_of(sums, count);
  }

 private:
  void add_batch(const std::vector<Tensor>& batch, const GroupPlace& place) override {
    if (place.first) net_->zero_grad();
    const Device root = loss_sum_.device();
    const Tensor images = batch[0].to(root), labels = batch[1].to(root);
    if (shards_) {
      backward_in_shards({images, labels}, place);
      if (place.last) take_step();
      return;
    }
    const int64_t own = labels.size(0);
    const double share = static_cast<double>(own) / static_cast<double>(place.images);
    const double scale = own * team_.size() == place.images ? place.share : place.share * share * team_.size();
    Tensor output, loss;
    {
      // The same streams as those of a ParameterServer without shards.
      const auto rank = static_cast<uint64_t>(team_.rank()) << 32;
      const uint64_t seed = default_generator().current_seed();
      const GeneratorGuard stream(Generator(mixed(mixed(mixed(seed) ^ static_cast<uint64_t>(steps_)) ^ rank)));
      const auto reduced = in_precision(recipe_, root);
      output = net_->forward(augmented(recipe_, images));
      loss = loss_of(output, labels);
    }
    ++steps_;
    scaler_.scale(scale == 1 ? loss : loss * scale).backward();
    if (place.last) take_step();
    const NoGradGuard no_grad;
    report_ = {.request = {},
               .examples = own,
               .correct = correct_in(output, labels).sum().item<int64_t>(),
               .losses = {loss.item<double>()},
               .weights = {share}};
  }

  void backward_in_shards(const std::vector<Tensor>& batch, const GroupPlace& place) {
    const Tensor correct = full({}, 0, TensorOptions(loss_sum_.device()).dtype(kLong)), uncounted = correct.clone();
    int64_t left = batch[1].size(0);  // then a shard that runs once more because other processes have more of them
    const parallel::StepResult result = shards_->backward(batch, [&](const std::vector<Tensor>& shard) {
      const auto reduced = in_precision(recipe_, loss_sum_.device());
      const Tensor& counter = left > 0 ? correct : uncounted;
      left -= shard[1].size(0);
      return scaled_loss(net_->forward(augmented(recipe_, shard[0])), shard[1], place, counter);
    });
    report(result, batch[1].size(0), place.share * scaler_.get_scale());
    report_.correct = correct.item<int64_t>();
  }

  // Adds norms as the other steppers do.
  void clip() {
    if (recipe_.clip == 0) return;
    if (!shards_) {
      net_->clip_grad_norm_(recipe_.clip);
      return;
    }
    const Tensor scale = clip_scale(tensor(shards_->gradient_norms(2), TensorOptions(kDouble)));
    for (const Tensor& p : optimizer_->parameters())
      if (p.grad().defined()) p.grad().detach().mul_(scale);
  }

  // Whether it is taken does not depend on a process's own slices.
  void take_step() {
    const NoGradGuard no_grad;
    Tensor found;
    if (scaler_.is_enabled()) {
      found = scaler_.divide_gradients(*optimizer_).to(kDouble).cpu().view({1});
      team_.sum(found);
    }
    clip();
    if (!found.defined() || found.item<double>() == 0) decay();
    scaler_.step(*optimizer_, found.defined() ? found.to(kFloat) : found);
    scaler_.update();
  }

  // The matrices' elements in the slices: narrow(0, first, count) of each.
  struct Elements {
    Tensor slice;
    int64_t first, count;
  };

  void find_matrices() {
    for (const distributed::ShardedSlice& each : net_->slices()) {
      if (!each.slice.requires_grad()) continue;
      const int64_t length = each.slice.numel(), begin = team_.rank() * length;
      for (const auto& parameter : each.parameters) {
        const int64_t from = std::max(parameter.offset, begin);
        const int64_t to = std::min(parameter.offset + parameter.numel, begin + length);
        if (parameter.sizes.size() >= 2 && from < to) matrices_.push_back({each.slice, from - begin, to - from});
      }
    }
  }

  // What the optimizer would do to matrices only.
  void decay() {
    const double rate = optimizer_->param_groups()[0].options().get_lr();
    for (const Elements& each : matrices_) {
      Tensor values = each.slice.detach().narrow(0, each.first, each.count);
      if (!each.slice.grad().defined()) continue;
      if (recipe_.optimizer == "adamw")
        values.mul_(1 - rate * recipe_.weight_decay);
      else
        Tensor(each.slice.grad().narrow(0, each.first, each.count)).add_(values, recipe_.weight_decay);
    }
  }

  distributed::FullyShardedDataParallel<nn::SequentialImpl> net_;
  std::optional<distributed::BatchShards> shards_;
  std::vector<Elements> matrices_;  // that decay apart from the optimizer
  int64_t steps_ = 0;               // so far, on which random numbers depend
};

}  // namespace

std::unique_ptr<Stepper> make_sharded_stepper(const nn::Sequential& model, const Recipe& recipe,
                                              const Placement& placement) {
  return std::make_unique<FullySharded>(model, recipe, placement);
}

}  // namespace tandem::cli
