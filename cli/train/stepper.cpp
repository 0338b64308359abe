// On one device, a step is captured if the device supports it; on several, a ParameterServer runs it. In both
// cases the optimizer works on the model's own parameters, so a checkpoint fits any set of devices.
#include "tandem/cli/train/stepper.h"

#include <algorithm>

#include "tandem/autograd/ops.h"
#include "tandem/cli/train/augmentation.h"
#include "tandem/cli/train/team_stepper.h"
#include "tandem/parallel/parameter_server/parameter_server.h"

namespace tandem::cli {

GroupPlace place_in_group(const Recipe& recipe, int64_t batch, int64_t images) {
  const int64_t size = recipe.batch_size, batches = (images + size - 1) / size;
  const int64_t begin = batch - batch % recipe.accumulate, end = std::min(batches, begin + recipe.accumulate);
  const auto images_in = [&](int64_t from, int64_t to) {
    return static_cast<double>(std::min(images, to * size) - from * size);
  };
  return {images_in(batch, batch + 1) / images_in(begin, end), batch == begin, batch + 1 == end,
          static_cast<int64_t>(images_in(batch, batch + 1))};
}

int64_t steps_in(const Recipe& recipe, int64_t batches) {
  return (batches + recipe.accumulate - 1) / recipe.accumulate;
}

Stepper::Stepper(nn::Sequential model, const Recipe& recipe, Device root)
    : model_(std::move(model)),
      recipe_(recipe),
      scaler_(amp::GradScalerOptions{.enabled = recipe.precision == "fp16"}) {
  model_->to(root);
  choose_layout(*model_, recipe_, root);
  const TensorOptions here{root};
  loss_sum_ = full({}, 0.0, here.dtype(kDouble));
  correct_ = full({}, 0, here.dtype(kLong));
  finite_ = full({}, 0, here.dtype(kLong));
}

void Stepper::train(const std::shared_ptr<nn::Module>& module, const Recipe& recipe) {
  std::vector<Tensor> trained;
  for (const Tensor& p : module->parameters())
    if (p.requires_grad()) trained.push_back(p);
  optimizer_ = make_optimizer(recipe, trained);
  if (recipe.ema > 0)
    average_.emplace(module, recipe.ema, recipe.ema_warmup ? nn::EmaWarmup::kYes : nn::EmaWarmup::kNo);
}

void Stepper::step(const std::vector<Tensor>& batch, const GroupPlace& place) {
  add_batch(batch, place);
  if (place.last && average_) average_->update();
}

std::unique_ptr<nn::ExponentialMovingAverage::Use> Stepper::with_average() {
  return average_ ? std::make_unique<nn::ExponentialMovingAverage::Use>(*average_) : nullptr;
}

Tensor Stepper::loss_of(const Tensor& output, const Tensor& labels) const {
  return cross_entropy_of(output, labels, Reduction::Mean, recipe_.label_smoothing);
}

// In the order of the parameters, whatever the devices.
void Stepper::clip_gradients() {
  if (recipe_.clip == 0) return;
  NoGradGuard no_grad;
  std::vector<Tensor> gradients, norms;
  for (const Tensor& p : optimizer_->parameters())
    if (p.grad().defined()) gradients.push_back(p.grad().detach());
  for (const Tensor& g : gradients) norms.push_back(g.norm(2).to(kDouble));
  const Tensor scale = clip_scale(stack(norms));
  for (Tensor& g : gradients) g.mul_(scale);
}

Tensor Stepper::clip_scale(const Tensor& norms) const {
  return (recipe_.clip / (norms.norm(2) + 1e-6)).clamp_max(1).to(kFloat);
}

void Stepper::finish_step(const std::function<void()>& take) {
  if (scaler_.is_enabled()) scaler_.unscale_(*optimizer_);
  clip_gradients();
  scaler_.step(*optimizer_, take);
  scaler_.update();
}

Tensor Stepper::counted(const Tensor& loss) const { return scaler_.is_enabled() ? nan_to_num(loss, 0, 0, 0) : loss; }

void Stepper::count_finite(const Tensor& batch_loss) {
  finite_.add_(isfinite(scaler_.is_enabled() ? batch_loss : loss_sum_));
}

void Stepper::set_lr(double lr) {
  for (auto& group : optimizer_->param_groups()) group.options().set_lr(lr);
}

void Stepper::start(double loss_sum, int64_t correct) {
  loss_sum_.fill_(loss_sum);
  correct_.fill_(correct);
  finite_.zero_();
}

namespace {

class OneDevice final : public Stepper {
 public:
  OneDevice(const nn::Sequential& model, const Recipe& recipe, Device device) : Stepper(model, recipe, device) {
    train(model_.ptr(), recipe);
    step_.emplace([this](const std::vector<Tensor>& group) { return train_on_all(group); }, stepped(),
                  CapturedStepOptions{.say_changes = false});
    step_->watch(*model_);
    if (device.is_cuda() && scaler_.is_enabled()) scaler_.keep_on(device);
  }
  Score evaluate(const ImageSet& data) override {
    const auto mixed = in_precision(recipe_, loss_sum_.device());
    return cli::evaluate(model_, data, evaluation_batch(data));
  }
  int64_t examples_pending() const override {
    int64_t examples = 0;
    for (std::size_t i = 1; i < group_.size(); i += 2) examples += group_[i].size(0);
    return examples;
  }
  std::optional<FusionCounts> fused() const override {
    return step_->captured() ? std::optional(step_->fused()) : std::nullopt;
  }

 private:
  static constexpr int64_t kMostCaptured = 32;  // batches: their kernels are all in one recording

  // In fp16 the optimizer steps after the captured step: whether it does is known on the host.
  std::vector<optim::Optimizer*> stepped() const {
    return scaler_.is_enabled() ? std::vector<optim::Optimizer*>() : std::vector{optimizer_.get()};
  }

  // A captured step replaces the gradients, so it has all batches of a group. On the CPU the scale of fp16's losses is a
  // number, which a recording would keep.
  void add_batch(const std::vector<Tensor>& batch, const GroupPlace& place) override {
    const Device root = loss_sum_.device();
    const std::vector<Tensor> here{batch[0].to(root), batch[1].to(root)};
    if (recipe_.accumulate > kMostCaptured || (root.is_cpu() && scaler_.is_enabled()))
      return finish_group(train_on(here[0], here[1], place));
    if (place.first) forget_group();  // of a step that has thrown
    group_.insert(group_.end(), here.begin(), here.end());
    places_.push_back(place);
    if (!place.last) return;
    finish_group((*step_)(group_));
    forget_group();
  }

  void forget_group() {
    group_.clear();
    places_.clear();
  }

  void finish_group(const std::vector<Tensor>& found) {
    if (found.empty()) return;
    scaler_.step(*optimizer_, found[0]);
    scaler_.update();
  }

  std::vector<Tensor> train_on_all(const std::vector<Tensor>& group) {
    std::vector<Tensor> found;
    for (std::size_t i = 0; i < places_.size(); ++i) found = train_on(group[2 * i], group[2 * i + 1], places_[i]);
    return found;
  }

  // This is captured, so nothing here may read a value on the host, and numbers may depend only on the sizes of the
  // group's batches, as the shares do. In fp16 it ends before the optimizer's step, and returns what
  // decides about that.
  std::vector<Tensor> train_on(const Tensor& images, const Tensor& labels, const GroupPlace& place) {
    if (place.first) optimizer_->zero_grad();
    Tensor output, loss;
    {
      const auto mixed = in_precision(recipe_, images.device());
      output = model_->forward(augmented(recipe_, images));
      loss = loss_of(output, labels);
    }
    scaler_.scale(place.alone() ? loss : loss * place.share).backward();
    std::vector<Tensor> found;
    if (place.last) {
      if (scaler_.is_enabled()) found.push_back(scaler_.divide_gradients(*optimizer_));
      clip_gradients();
      if (!scaler_.is_enabled()) optimizer_->step();
    }
    NoGradGuard guard;
    loss = loss.detach().to(kDouble);
    loss_sum_.add_(counted(loss) * labels.size(0));
    count_finite(loss);
    correct_.add_(correct_in(output, labels).sum());
    return found;
  }

  std::vector<Tensor> group_;  // images and labels of the batches that the next step takes
  std::vector<GroupPlace> places_;
  std::optional<CapturedStep> step_;
};

class ByServer final : public TeamStepper {
 public:
  ByServer(const nn::Sequential& model, const Recipe& recipe, const Placement& placement, Timed timed)
      : TeamStepper(model, recipe, placement),
        server_(model_, placement.devices,
                {.root = placement.root,
                 .shards = placement.shards,
                 .not_finite = parallel::NotFinite::kIgnore,  // the trainer looks at the sum of the losses
                 .group = placement.team.group_for(placement.root),
                 .synchronize_timings = timed == Timed::kDevices}) {
    train(model_.ptr(), recipe);
    for (const Device& device : server_.devices()) counted_.push_back(full({}, 0, TensorOptions(device).dtype(kLong)));
    if (team_.several()) exchange_.emplace(team_, most_pieces(placement));
  }

  void add_batch(const std::vector<Tensor>& batch, const GroupPlace& place) override {
    const parallel::StepResult result = backward(batch, place);
    if (exchange_) return report_counted(result, batch[1].size(0));
    NoGradGuard guard;
    const auto examples = static_cast<double>(batch[1].size(0)) / scale_;  // the losses have been multiplied
    const bool skips = scaler_.is_enabled();
    const Tensor whole = skips ? zeros({}, loss_sum_.options()) : loss_sum_;
    for (std::size_t i = 0; i < result.losses.size(); ++i) {  // in the order of the pieces, whatever the devices
      const Tensor loss = result.losses[i].to(server_.root()).to(kDouble);
      loss_sum_.add_(counted(loss) * (result.weights[i] * examples));
      if (skips) whole.add_(loss);
    }
    count_finite(whole);
  }

  // One row per image, summed on the root. Each forward pass has the same images on any number of devices and
  // processes, because the bits of a row may depend on how many rows there are. Processes take turns.
  Score evaluate(const ImageSet& data) override {
    const int64_t count = data.count(), most = evaluation_batch(data);
    const Tensor sums = zeros({(count + most - 1) / most, 2}, kDouble);
    std::vector<int64_t> whole;  // batches that wait until there is one for each device
    for (int64_t k = team_.rank(); k < sums.size(0); k += team_.size()) {
      if (most * (k + 1) <= count) whole.push_back(k);
      if (whole.size() == server_.devices().size()) {
        evaluate_together(data, whole, most, sums);
        whole.clear();
      } else if (most * (k + 1) > count) {
        sums[k].copy_(evaluate_one(data, most * k, count - most * k));
      }
    }
    for (const int64_t k : whole) sums[k].copy_(evaluate_one(data, most * k, most));
    return score_of(sums, count);
  }

  void set_steps(int64_t steps) override { server_.set_steps(steps); }
  const parallel::ServerTimings* timings() const override { return &server_.timings(); }
  void reset_timings() override { server_.reset_timings(); }

  int64_t correct() const override {
    int64_t sum = TeamStepper::correct();
    if (!exchange_)
      for (const Tensor& part : counted_) sum += part.item<int64_t>();
    return sum;
  }
  void start(double loss_sum, int64_t correct) override {
    TeamStepper::start(loss_sum, correct);
    for (const Tensor& part : counted_) Tensor(part).zero_();
  }

 private:
  Tensor rows_of(nn::SequentialImpl& net, const Tensor& images, const Tensor& labels) const {
    const auto mixed = in_precision(recipe_, images.device());
    return scores(output_of(net, images), labels);
  }

  // Each device evaluates one of the batches.
  void evaluate_together(const ImageSet& data, const std::vector<int64_t>& batches, int64_t size, const Tensor& sums) {
    std::vector<Tensor> images, labels;
    for (const int64_t k : batches) {
      images.push_back(data.rows(k * size, size));
      labels.push_back(data.labels.narrow(0, k * size, size));
    }
    const Tensor rows = server_.evaluate(
        {cat(images), cat(labels)},
        [this](nn::SequentialImpl& net, const parallel::Tensors& piece) { return rows_of(net, piece[0], piece[1]); });
    for (std::size_t i = 0; i < batches.size(); ++i)
      sums[batches[i]].copy_(rows.narrow(0, static_cast<int64_t>(i) * size, size).sum(0));
  }

  Tensor evaluate_one(const ImageSet& data, int64_t at, int64_t size) {
    const NoGradGuard no_grad;
    model_->eval();
    const Tensor rows =
        rows_of(*model_, data.rows(at, size).to(server_.root()), data.labels.narrow(0, at, size).to(server_.root()));
    model_->train();
    return rows.sum(0);
  }

  // Forward and backward; after the last batch of a group also the optimizer's step, in one pass with the sum of the
  // gradients if nothing comes between them.
  parallel::StepResult backward(const std::vector<Tensor>& batch, const GroupPlace& place) {
    scale_ = place.share * scaler_.get_scale();
    const auto loss = [this, &place](nn::SequentialImpl& net, const Tensor& images, const Tensor& labels) {
      const auto mixed = in_precision(recipe_, images.device());
      return scaled_loss(net.forward(augmented(recipe_, images)), labels, place, counter(labels.device()));
    };
    if (place.alone() && recipe_.clip == 0 && !scaler_.is_enabled())
      return server_.step(*optimizer_, batch[0], batch[1], loss);
    std::optional<parallel::ServerCore::NoSync> more;
    if (!place.last) more.emplace(server_);
    parallel::StepResult result = server_.backward(batch, loss);
    if (!place.last) return result;
    const DeviceGuard guard(server_.root());
    finish_step([this] { server_.update(*optimizer_); });
    return result;
  }

  // Of correct predictions. Only the device's thread accesses it.
  const Tensor& counter(Device device) const {
    const auto& devices = server_.devices();
    return counted_[static_cast<std::size_t>(std::find(devices.begin(), devices.end(), device) - devices.begin())];
  }

  void report_counted(const parallel::StepResult& result, int64_t examples) {
    report(result, examples, scale_);
    for (const Tensor& part : counted_) {
      report_.correct += part.item<int64_t>();
      Tensor(part).zero_();
    }
  }

  parallel::ParameterServer<nn::SequentialImpl> server_;
  std::vector<Tensor> counted_;  // correct predictions, by device
  double scale_ = 1;             // what the losses of the last step have been multiplied by
};

}  // namespace

std::unique_ptr<Stepper> make_stepper(const nn::Sequential& model, const Recipe& recipe, const Placement& placement,
                                      Timed timed) {
  if (placement.fully_sharded) return make_sharded_stepper(model, recipe, placement);
  if (!placement.by_server() && timed == Timed::kNo) return std::make_unique<OneDevice>(model, recipe, placement.root);
  return std::make_unique<ByServer>(model, recipe, placement, timed);
}

}  // namespace tandem::cli
