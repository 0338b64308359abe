// Reading the sums waits for the device, so it is not done at every step of a long epoch.
#include "tandem/cli/train/tensorboard_log.h"

#include <algorithm>

#include "tandem/autograd/ops.h"
#include "tandem/cli/json.h"
#include "tandem/core/base/clock.h"

namespace tandem::cli {
namespace {

constexpr int64_t kPointsPerEpoch = 100, kMaxImages = 64;

// What belongs to a step has the number of steps after it; only what precedes the first step has the number 0.
tensorboard::SummaryWriterOptions options_for(bool resumed, int64_t steps_done) {
  tensorboard::SummaryWriterOptions options;
  if (resumed) options.purge_step = steps_done == 0 ? 0 : steps_done + 1;
  return options;
}

}  // namespace

TensorboardLog::TensorboardLog(const Options& options, const RunConfig& config, const Progress& progress)
    : options_(options), writer_(options.folder, options_for(options.resumed, step_of(progress))) {
  if (step_of(progress) == 0) writer_.add_text("configuration", "```json\n" + json_text(to_json(config), 2) + "\n```");
}

void TensorboardLog::before_step(const Progress& p, const std::vector<Tensor>& batch, const Stepper& stepper) {
  if (!has_images_ && step_of(p) == 0 && batch[0].dim() == 4 && (batch[0].size(1) == 1 || batch[0].size(1) == 3))
    writer_.add_images("first batch", batch[0].narrow(0, 0, std::min(kMaxImages, batch[0].size(0))));
  has_images_ = true;
  labels_per_example_ = static_cast<double>(batch[1].numel()) / static_cast<double>(batch[1].size(0));
  if (epoch_ == p.epoch) return;
  epoch_ = p.epoch;
  images_ = p.images;
  loss_sum_ = stepper.loss_sum();
  correct_ = stepper.correct();
  time_ = seconds_now();
}

void TensorboardLog::after_step(const Progress& p, Stepper& stepper) {
  const int64_t every = std::max<int64_t>(1, options_.steps_per_epoch / kPointsPerEpoch);
  const int64_t pending = stepper.examples_pending(), counted = p.images - pending;
  if (p.batch % every != 0 || counted <= images_) return;
  const double loss_sum = stepper.loss_sum(), time = seconds_now();
  const int64_t batches_pending =  // at least one if any; all but the last have one size
      pending > 0 ? std::max<int64_t>(1, (2 * pending * p.batch + p.images) / (2 * p.images)) : 0;
  const int64_t correct = stepper.correct(), step = step_of(p) - batches_pending;
  const auto examples = static_cast<double>(counted - images_);
  writer_.add_scalar("train/loss", (loss_sum - loss_sum_) / examples, step);
  writer_.add_scalar("train/accuracy", static_cast<double>(correct - correct_) / (examples * labels_per_example_),
                     step);
  writer_.add_scalar("train/learning_rate", stepper.optimizer().param_groups()[0].options().get_lr(), step);
  writer_.add_scalar("train/images_per_second", examples / std::max(time - time_, 1e-9), step);
  images_ = counted, correct_ = correct, loss_sum_ = loss_sum, time_ = time;
}

void TensorboardLog::after_epoch(const Progress& p, const nn::Sequential& model) {
  const int64_t step = (p.epoch + 1) * options_.steps_per_epoch;
  for (const auto& [name, value] : p.history.back().items())
    if (value.is_number() && name != "epoch" && name != "processes")
      writer_.add_scalar("epoch/" + name, value.get<double>(), step);
  for (const auto& parameter : model->named_parameters()) {
    writer_.add_histogram("parameters/" + parameter.key(), parameter.value(), step);
    const Tensor gradient = parameter.value().grad();
    if (options_.gradients && gradient.defined()) writer_.add_histogram("gradients/" + parameter.key(), gradient, step);
  }
  writer_.flush();
}

}  // namespace tandem::cli
