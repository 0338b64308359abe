// The order of an epoch is a function of (seed, epoch), so that a place in it is two numbers.
#include "tandem/cli/trainer.h"

#include <chrono>
#include <filesystem>

#include "tandem/cli/options.h"
#include "tandem/core/profile.h"
#include "tandem/datasets/loader.h"

namespace tandem::cli {

volatile std::sig_atomic_t stop_signal = 0;

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The batches of an epoch on the device, wherever the data set lies.
class Batches {
 public:
  Batches(const data::ImageData& data, const data::BatchLoaderOptions& options,
          const optional<Stream>& side) {
    if (data.images.is_cuda()) {
      images_.emplace(data, options);
      count_ = images_->batches();
      return;
    }
    loader_.emplace(std::vector<Tensor>{data.images, data.labels}, options,
                    [](std::vector<Tensor>& batch) { batch[0] = to_input(batch[0]); });
    count_ = loader_->batches();
    if (side) feeder_.emplace(*loader_, *side);
  }
  /// Images and labels; empty at the end.
  std::vector<Tensor> next() {
    if (images_) {
      auto batch = images_->next();
      return batch ? std::vector<Tensor>{batch->images, batch->labels} : std::vector<Tensor>();
    }
    auto batch = feeder_ ? feeder_->next() : loader_->next();
    return batch ? std::move(*batch) : std::vector<Tensor>();
  }
  int64_t count() const { return count_; }

 private:
  optional<data::ImageLoader> images_;
  optional<data::BatchLoader> loader_;
  optional<data::DeviceFeeder> feeder_;
  int64_t count_ = 0;
};

ModelShape shape_of(const RunConfig& c) { return {c.input[0], c.input[1], c.input[2], c.class_count}; }

}  // namespace

Trainer::Trainer(const TrainerOptions& options, Checkpoint checkpoint, data::ImageDataPair data,
                 const Terminal& terminal)
    : options_(options),
      checkpoint_(std::move(checkpoint)),
      data_(std::move(data)),
      terminal_(terminal),
      bar_(terminal),
      model_(checkpoint_.model.keys().empty()
                 ? make_model(checkpoint_.config.model, shape_of(checkpoint_.config))
                 : make_model_for(checkpoint_.config.model, shape_of(checkpoint_.config), checkpoint_.model)),
      optimizer_(prepared_optimizer()),
      step_([this](const Tensor& images, const Tensor& labels) { train_on(images, labels); },
            {optimizer_.get()}, cuda::CapturedStepOptions().say_changes(false)) {
  step_.watch(*model_);
  if (options_.device.is_cuda() && data_.train.images.is_cpu()) side_.emplace(options_.device);
  if (!checkpoint_.model.keys().empty()) restore();
  const TensorOptions here{options_.device};
  loss_sum_ = full({}, checkpoint_.progress.loss_sum, here.dtype(kDouble));
  correct_ = full({}, checkpoint_.progress.correct, here.dtype(kLong));
}

std::unique_ptr<optim::Optimizer> Trainer::prepared_optimizer() {
  initialise(*model_, checkpoint_.config.recipe);
  model_->to(options_.device);
  return make_optimizer(checkpoint_.config.recipe, model_->parameters());
}

void Trainer::restore() try {
  const int64_t images = data_.train.images.size(0), size = checkpoint_.config.recipe.batch_size;
  const int64_t batches = (images + size - 1) / size;
  check(checkpoint_.progress.batch <= batches, "batch ", checkpoint_.progress.batch, " of ", batches);
  model_->load(checkpoint_.model);
  std::vector<std::unique_ptr<optim::OptimizerOptions>> own;
  for (const auto& group : optimizer_->param_groups()) own.push_back(group.options().clone());
  optimizer_->load(checkpoint_.optimizer);
  // The recipe alone decides; the file's copy of its numbers has not been checked as the recipe has.
  for (std::size_t i = 0; i < own.size(); ++i) optimizer_->param_groups()[i].set_options(std::move(own[i]));
  default_generator().set_current_seed(checkpoint_.progress.random_seed);
  default_generator().set_offset(checkpoint_.progress.random_offset);
} catch (const Error& error) {
  throw UsageError(concat("--resume: broken checkpoint: ", error.what()));
}

bool Trainer::run(const std::string& folder) {
  options_.folder = folder;
  saved_ = place_of(checkpoint_.progress);
  save();
  write_files();
  while (checkpoint_.progress.epoch < checkpoint_.config.epochs) {
    if (!epoch()) {
      save();
      bar_.clear();
      return false;
    }
    end_epoch();
  }
  return true;
}

// One step. On a GPU all of it is recorded, so nothing here may wait for a number.
void Trainer::train_on(const Tensor& images, const Tensor& labels) {
  const Recipe& recipe = checkpoint_.config.recipe;
  optimizer_->zero_grad();
  const Tensor output = model_->forward(augmented(recipe, images));
  const Tensor loss = cross_entropy_loss(output, labels, {}, Reduction::Mean, -100, recipe.label_smoothing);
  loss.backward();
  optimizer_->step();
  NoGradGuard guard;
  loss_sum_.add_(loss.detach().to(kDouble).mul_(labels.size(0)));
  correct_.add_((output.argmax(1) == labels).sum());
}

// False when a signal ended it.
bool Trainer::epoch() {
  const profiler::Record span("epoch", "train");
  Progress& p = checkpoint_.progress;
  const RunConfig& c = checkpoint_.config;
  Batches loader(data_.train,
                 {.batch_size = c.recipe.batch_size,
                  .shuffle = true,
                  .workers = options_.workers,
                  .seed = c.seed,
                  .epoch = p.epoch,
                  .first_batch = p.batch,
                  .pin_memory = side_.has_value()},
                 side_);
  double begun = now();
  model_->train();
  const int64_t batches = loader.count();
  for (std::vector<Tensor> batch = loader.next(); !batch.empty(); batch = loader.next()) {
    const profiler::Record step_span("step", "train");
    const int64_t step = p.epoch * batches + p.batch;
    for (auto& group : optimizer_->param_groups())
      group.options().set_lr(learning_rate(c.recipe, step, c.epochs * batches));
    step_(batch);
    p.images += batch[1].size(0);
    ++p.batch;
    show(batches, begun);
    if (stop_signal == 0 && now() - saved_at_ < options_.save_every) continue;
    p.seconds += now() - begun;
    if (stop_signal != 0) return false;
    save();
    begun = now();
  }
  collect();
  p.seconds += now() - begun;
  return true;
}

void Trainer::show(int64_t batches, double begun) {
  if (!bar_.due()) return;
  collect();
  const Progress& p = checkpoint_.progress;
  const RunConfig& c = checkpoint_.config;
  const double seconds = p.seconds + now() - begun, images = static_cast<double>(p.images);
  const double rate = images / std::max(seconds, 1e-9);
  const double left = static_cast<double>((c.epochs - p.epoch) * data_.train.images.size(0)) - images;
  bar_.draw({.title = concat("epoch ", p.epoch + 1, "/", c.epochs),
             .fraction = static_cast<double>(p.batch) / static_cast<double>(batches),
             .fields = training_fields({.loss = p.loss_sum / images,
                                        .accuracy = static_cast<double>(p.correct) / images,
                                        .images_per_second = rate,
                                        .seconds_left = left / rate})});
}

void Trainer::collect() {
  checkpoint_.progress.loss_sum = loss_sum_.item<double>();
  checkpoint_.progress.correct = correct_.item<int64_t>();
}

void Trainer::end_epoch() {
  const profiler::Record span("end of epoch", "train");
  Progress& p = checkpoint_.progress;
  const Score test = evaluate(model_, data_.test, 1000);
  const double images = static_cast<double>(p.images);
  const double loss = p.loss_sum / images, accuracy = static_cast<double>(p.correct) / images;
  p.history.push_back({{"epoch", p.epoch + 1},
                       {"train_loss", loss},
                       {"train_accuracy", accuracy},
                       {"test_loss", test.loss},
                       {"test_accuracy", test.accuracy},
                       {"seconds", p.seconds},
                       {"images_per_second", images / std::max(p.seconds, 1e-9)},
                       {"device", options_.device.str()}});
  const std::string line =
      concat("epoch ", p.epoch + 1, "/", checkpoint_.config.epochs, "  train loss ", fixed(loss, 4),
             "  accuracy ", fixed(accuracy, 4), "   test loss ", fixed(test.loss, 4), "  accuracy ",
             fixed(test.accuracy, 4), "   ", fixed(p.seconds, 2), " s  ",
             with_commas(static_cast<long long>(images / std::max(p.seconds, 1e-9))), " images/s");
  bar_.print(line);
  std::fflush(stdout);
  ++p.epoch;
  p.batch = p.images = p.correct = 0;
  p.loss_sum = p.seconds = 0;
  loss_sum_.zero_();
  correct_.zero_();
  save();
  write_files();
}

void Trainer::write_files() {
  guarded([&] { write_run_files(options_.folder, checkpoint_.config, checkpoint_.progress); });
}

// A failure to write (a full disk) names what is left.
template <class F>
void Trainer::guarded(F&& write) {
  try {
    write();
  } catch (const Error& error) {
    std::error_code ignored;
    if (!std::filesystem::exists(checkpoint_path(options_.folder), ignored)) throw;
    fail(error.what(), "; the checkpoint of ", saved_, " stands: go on with tandem train --resume ",
         options_.folder);
  }
}

void Trainer::save() {
  const profiler::Record span("save checkpoint", "train");
  collect();
  Progress& p = checkpoint_.progress;
  p.random_seed = default_generator().current_seed();
  p.random_offset = default_generator().offset();
  guarded([&] { save_checkpoint(options_.folder, checkpoint_.config, p, model_, *optimizer_); });
  saved_ = place_of(p);
  saved_at_ = now();
}

}  // namespace tandem::cli
