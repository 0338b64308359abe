// The order of an epoch is a function of (seed, epoch), so two numbers, epoch and batch, locate a run's
// position.
#include "tandem/cli/trainer.h"

#include <filesystem>

#include "tandem/cli/options.h"
#include "tandem/cli/weight_files.h"
#include "tandem/core/clock.h"
#include "tandem/core/profile.h"

namespace tandem::cli {

namespace {

ModelShape shape_of(const RunConfig& c) { return {c.input[0], c.input[1], c.input[2], c.class_count}; }

[[noreturn]] void broken(const Error& error) {
  throw UsageError(concat("--resume: broken checkpoint: ", error.what()));
}

nn::Sequential model_of(const Checkpoint& checkpoint) {
  const RunConfig& c = checkpoint.config;
  if (checkpoint.model.keys().empty()) return make_model(c.model, shape_of(c));
  try {
    return make_model_for(c.model, shape_of(c), checkpoint.model);
  } catch (const Error& error) {
    broken(error);
  }
}

}  // namespace

Trainer::Trainer(const TrainerOptions& options, Checkpoint checkpoint, data::ImageDataPair data,
                 const Terminal& terminal)
    : options_(options),
      checkpoint_(std::move(checkpoint)),
      data_(std::move(data)),
      terminal_(terminal),
      bar_(options.placement.team.leads() ? terminal : Terminal()),
      model_(model_of(checkpoint_)) {
  initialise(*model_, checkpoint_.config.recipe);
  if (!options_.weights.empty()) load_weights();
  stepper_ = make_stepper(model_, checkpoint_.config.recipe, options_.placement);
  const Device root = options_.placement.root;
  if (root.is_cuda() && data_.train.images.is_cpu()) side_.emplace(root);
  if (!checkpoint_.model.keys().empty()) restore();
  stepper_->start(checkpoint_.progress.loss_sum, checkpoint_.progress.correct);
}

void Trainer::load_weights() try {
  start_from(checkpoint_.config.model, model_, read_state(options_.weights, "", ""));
} catch (const Error& error) {
  throw UsageError(concat("--weights ", options_.weights, ": ", error.what()));
}

void Trainer::restore() try {
  const int64_t images = data_.train.images.size(0), size = checkpoint_.config.recipe.batch_size;
  const int64_t batches = (images + size - 1) / size;
  check(checkpoint_.progress.batch <= batches, "batch ", checkpoint_.progress.batch, " of ", batches);
  model_->load(checkpoint_.model);
  optim::Optimizer& optimizer = stepper_->optimizer();
  std::vector<std::unique_ptr<optim::OptimizerOptions>> own;
  for (const auto& group : optimizer.param_groups()) own.push_back(group.options().clone());
  optimizer.load(checkpoint_.optimizer);
  // Only the recipe counts: unlike it, the optimizer's copy of its values in the file has not been validated.
  for (std::size_t i = 0; i < own.size(); ++i) optimizer.param_groups()[i].set_options(std::move(own[i]));
  stepper_->set_steps(checkpoint_.progress.epoch * batches + checkpoint_.progress.batch);
  default_generator().set_current_seed(checkpoint_.progress.random_seed);
  default_generator().set_offset(checkpoint_.progress.random_offset);
} catch (const Error& error) {
  broken(error);
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

// Returns false if a signal ended it.
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
                  .pin_memory = side_.has_value(),
                  .part = options_.placement.team.part(options_.placement.shards)},
                 side_);
  double begun = seconds_now();
  model_->train();
  const int64_t batches = loader.count();
  for (std::vector<Tensor> batch = loader.next(); !batch.empty(); batch = loader.next()) {
    const profiler::Record step_span("step", "train");
    const int64_t step = p.epoch * batches + p.batch;
    stepper_->set_lr(learning_rate(c.recipe, step, c.epochs * batches));
    if (observer_ != nullptr) guarded([&] { observer_->before_step(p, batch, *stepper_); });
    stepper_->step(batch);
    p.images += std::min(c.recipe.batch_size, data_.train.images.size(0) - p.batch * c.recipe.batch_size);
    ++p.batch;
    const Wish wish =
        stepper_->agree({stop_signal, leads() && seconds_now() - saved_at_ >= options_.save_every});
    show(batches, begun);
    if (observer_ != nullptr) guarded([&] { observer_->after_step(p, *stepper_); });
    if (wish.stop == 0 && !wish.save) continue;
    p.seconds += seconds_now() - begun;
    if (wish.stop != 0) {
      stop_signal = wish.stop;
      return false;
    }
    save();
    begun = seconds_now();
  }
  collect();
  p.seconds += seconds_now() - begun;
  return true;
}

void Trainer::show(int64_t batches, double begun) {
  Progress& p = checkpoint_.progress;
  if (!bar_.due() || p.images <= stepper_->images_pending()) return;
  p.loss_sum = stepper_->loss_sum();
  p.correct = stepper_->correct();
  const RunConfig& c = checkpoint_.config;
  const double seconds = p.seconds + seconds_now() - begun, images = static_cast<double>(p.images);
  const auto counted = static_cast<double>(p.images - stepper_->images_pending());
  const double rate = images / std::max(seconds, 1e-9);
  const double left = static_cast<double>((c.epochs - p.epoch) * data_.train.images.size(0)) - images;
  bar_.draw({.title = concat("epoch ", p.epoch + 1, "/", c.epochs),
             .fraction = static_cast<double>(p.batch) / static_cast<double>(batches),
             .fields = training_fields({.loss = p.loss_sum / counted,
                                        .accuracy = static_cast<double>(p.correct) / counted,
                                        .images_per_second = rate,
                                        .seconds_left = left / rate})});
}

void Trainer::collect() {
  stepper_->settle();
  checkpoint_.progress.loss_sum = stepper_->loss_sum();
  checkpoint_.progress.correct = stepper_->correct();
}

void Trainer::end_epoch() {
  const profiler::Record span("end of epoch", "train");
  Progress& p = checkpoint_.progress;
  const Score test = stepper_->evaluate(data_.test);
  const double images = static_cast<double>(p.images);
  const double loss = p.loss_sum / images, accuracy = static_cast<double>(p.correct) / images;
  p.history.push_back({{"epoch", p.epoch + 1},
                       {"train_loss", loss},
                       {"train_accuracy", accuracy},
                       {"test_loss", test.loss},
                       {"test_accuracy", test.accuracy},
                       {"seconds", p.seconds},
                       {"images_per_second", images / std::max(p.seconds, 1e-9)},
                       {"device", names_of(options_.placement.devices)},
                       {"processes", options_.placement.team.size()}});
  const std::string line =
      concat("epoch ", p.epoch + 1, "/", checkpoint_.config.epochs, "  train loss ", fixed(loss, 4),
             "  accuracy ", fixed(accuracy, 4), "   test loss ", fixed(test.loss, 4), "  accuracy ",
             fixed(test.accuracy, 4), "   ", fixed(p.seconds, 2), " s  ",
             with_commas(static_cast<long long>(images / std::max(p.seconds, 1e-9))), " images/s");
  if (observer_ != nullptr) guarded([&] { observer_->after_epoch(p, model_); });
  if (leads()) bar_.print(line);
  std::fflush(stdout);
  ++p.epoch;
  p.batch = p.images = p.correct = 0;
  p.loss_sum = p.seconds = 0;
  stepper_->start(0, 0);
  save();
  write_files();
}

void Trainer::write_files() {
  if (!leads()) return;
  guarded([&] { write_run_files(options_.folder, checkpoint_.config, checkpoint_.progress); });
}

// On a write error (e.g. a full disk), the message says which checkpoint remains.
template <class F>
void Trainer::guarded(F&& write) {
  try {
    write();
  } catch (const Error& error) {
    std::error_code ignored;
    if (!std::filesystem::exists(checkpoint_path(options_.folder), ignored)) throw;
    fail(error.what(), "; the checkpoint of ", saved_, " is intact: continue with tandem train --resume ",
         options_.folder);
  }
}

void Trainer::save() {
  const profiler::Record span("save checkpoint", "train");
  collect();
  Progress& p = checkpoint_.progress;
  p.random_seed = default_generator().current_seed();
  p.random_offset = default_generator().offset();
  if (leads())
    guarded([&] { save_checkpoint(options_.folder, checkpoint_.config, p, model_, stepper_->optimizer()); });
  saved_ = place_of(p);
  saved_at_ = seconds_now();
}

}  // namespace tandem::cli
