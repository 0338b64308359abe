// On one device, a step is captured if the device supports it; on several, a ParameterServer runs it. In both
// cases the optimizer works on the model's own parameters, so a checkpoint fits any set of devices.
#include "tandem/cli/stepper.h"

#include <algorithm>

#include "tandem/nn/captured_step.h"
#include "tandem/parallel/parameter_server.h"

namespace tandem::cli {

Stepper::Stepper(nn::Sequential model, const Recipe& recipe, Device root)
    : model_(std::move(model)), recipe_(recipe) {
  model_->to(root);
  optimizer_ = make_optimizer(recipe, model_->parameters());
  const TensorOptions here{root};
  loss_sum_ = full({}, 0.0, here.dtype(kDouble));
  correct_ = full({}, 0, here.dtype(kLong));
}

void Stepper::set_lr(double lr) {
  for (auto& group : optimizer_->param_groups()) group.options().set_lr(lr);
}

void Stepper::start(double loss_sum, int64_t correct) {
  loss_sum_.fill_(loss_sum);
  correct_.fill_(correct);
}

namespace {

Tensor loss_of(const Recipe& recipe, const Tensor& output, const Tensor& labels) {
  return cross_entropy_loss(output, labels, {}, Reduction::Mean, -100, recipe.label_smoothing);
}

Tensor count_correct(const Tensor& output, const Tensor& labels) {
  return (output.argmax(1) == labels).sum();
}

class OneDevice final : public Stepper {
 public:
  OneDevice(const nn::Sequential& model, const Recipe& recipe, Device device)
      : Stepper(model, recipe, device),
        step_([this](const Tensor& images, const Tensor& labels) { train_on(images, labels); },
              {optimizer_.get()}, cuda::CapturedStepOptions().say_changes(false)) {
    step_.watch(*model_);
  }
  void step(const std::vector<Tensor>& batch) override { step_(batch); }
  Score evaluate(const data::ImageData& data) override { return cli::evaluate(model_, data, 1000); }

 private:
  // On a GPU the whole step is captured, so nothing here may read a value back to the host.
  void train_on(const Tensor& images, const Tensor& labels) {
    optimizer_->zero_grad();
    const Tensor output = model_->forward(augmented(recipe_, images));
    const Tensor loss = loss_of(recipe_, output, labels);
    loss.backward();
    optimizer_->step();
    NoGradGuard guard;
    loss_sum_.add_(loss.detach().to(kDouble).mul_(labels.size(0)));
    correct_.add_(count_correct(output, labels));
  }
  cuda::CapturedStep step_;
};

class ByServer final : public Stepper {
 public:
  ByServer(const nn::Sequential& model, const Recipe& recipe, const Placement& placement, Timed timed)
      : Stepper(model, recipe, placement.root),
        server_(model_, placement.devices,
                {.root = placement.root,
                 .shards = placement.shards,
                 .not_finite =
                     parallel::NotFinite::kIgnore,  // diverging runs continue and show it, as on one device
                 .synchronize_timings = timed == Timed::kDevices}) {
    for (const Device& device : server_.devices())
      counted_.push_back(full({}, 0, TensorOptions(device).dtype(kLong)));
  }

  void step(const std::vector<Tensor>& batch) override {
    const parallel::StepResult result =
        server_.step(*optimizer_, batch[0], batch[1],
                     [this](nn::SequentialImpl& net, const Tensor& images, const Tensor& labels) {
                       const Tensor output = net.forward(augmented(recipe_, images));
                       count(output.detach(), labels);
                       return loss_of(recipe_, output, labels);
                     });
    NoGradGuard guard;
    const auto images = static_cast<double>(batch[1].size(0));
    for (std::size_t i = 0; i < result.losses.size();
         ++i)  // in the order of the pieces, whatever the devices
      loss_sum_.add_(result.losses[i].to(server_.root()).to(kDouble).mul_(result.weights[i] * images));
  }

  // One row per image, summed on the root, so the sums do not depend on the devices.
  Score evaluate(const data::ImageData& data) override {
    const int64_t count = data.images.size(0);
    double loss = 0, correct = 0;
    for (int64_t at = 0; at < count; at += 1000) {
      const int64_t size = std::min<int64_t>(1000, count - at);
      const Tensor rows = server_.evaluate(
          {data.images.narrow(0, at, size), data.labels.narrow(0, at, size)},
          [](nn::SequentialImpl& net, const parallel::Tensors& piece) {
            const Tensor output = net.forward(to_input(piece[0]));
            const Tensor losses = cross_entropy_loss(output, piece[1], {}, Reduction::None);
            return stack({losses.to(kDouble), (output.argmax(1) == piece[1]).to(kDouble)}, 1);
          });
      const Tensor sums = rows.sum(0).cpu();
      loss += sums[0].item<double>();
      correct += sums[1].item<double>();
    }
    return {loss / static_cast<double>(count), correct / static_cast<double>(count)};
  }

  void set_steps(int64_t steps) override {
    OrderedDict<std::string, std::string> entries{"Entry"};
    entries.insert("steps", std::to_string(steps));
    serialize::InputArchive archive(OrderedDict<std::string, Tensor>("Tensor"), std::move(entries));
    server_.load(archive);
  }
  const parallel::ServerTimings* timings() const override { return &server_.timings(); }
  void reset_timings() override { server_.reset_timings(); }

  int64_t correct() const override {
    int64_t sum = Stepper::correct();
    for (const Tensor& part : counted_) sum += part.item<int64_t>();
    return sum;
  }
  void start(double loss_sum, int64_t correct) override {
    Stepper::start(loss_sum, correct);
    for (const Tensor& part : counted_) Tensor(part).zero_();
  }

 private:
  // Runs on the device's thread, the only one that accesses its counter.
  void count(const Tensor& output, const Tensor& labels) {
    NoGradGuard guard;
    const auto& devices = server_.devices();
    const auto place = std::find(devices.begin(), devices.end(), labels.device()) - devices.begin();
    counted_[static_cast<std::size_t>(place)].add_(count_correct(output, labels));
  }
  parallel::ParameterServer<nn::SequentialImpl> server_;
  std::vector<Tensor> counted_;  // correct predictions, by device
};

}  // namespace

std::unique_ptr<Stepper> make_stepper(const nn::Sequential& model, const Recipe& recipe,
                                      const Placement& placement, Timed timed) {
  if (!placement.by_server() && timed == Timed::kNo)
    return std::make_unique<OneDevice>(model, recipe, placement.root);
  return std::make_unique<ByServer>(model, recipe, placement, timed);
}

}  // namespace tandem::cli
