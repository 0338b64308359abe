// The order of an epoch is a function of (seed, epoch), so two numbers, epoch and batch, locate a run's position.
#include "tandem/cli/train/trainer.h"

#include <cmath>
#include <filesystem>

#include "tandem/autograd/ops.h"
#include "tandem/cli/message.h"
#include "tandem/cli/onnx/onnx_files.h"
#include "tandem/cli/options.h"
#include "tandem/cli/signals.h"
#include "tandem/cli/text/text_data.h"
#include "tandem/cli/text/text_model.h"
#include "tandem/cli/text/text_report.h"
#include "tandem/cli/train/early_stopping.h"
#include "tandem/cli/train/frozen.h"
#include "tandem/cli/train/hash_chain.h"
#include "tandem/cli/train/model_guess.h"
#include "tandem/cli/train/weight_files.h"
#include "tandem/core/base/clock.h"
#include "tandem/core/profile.h"
#include "tandem/nn/files/safetensors.h"
#include "tandem/nn/init.h"
#include "tandem/parallel/shared/model_sync.h"

namespace tandem::cli {
namespace {

[[noreturn]] void broken(const Error& error) { refuse("--resume: broken checkpoint: ", error.what()); }

OrderedDict<std::string, Tensor> copy_of(const nn::Module& model) {
  OrderedDict<std::string, Tensor> out("Tensor");
  for (const auto& item : model.state_dict()) out.insert(item.key(), item.value().to(Device(kCPU, 0)).clone());
  return out;
}

nn::Sequential model_of(const Checkpoint& checkpoint) {
  const RunConfig& c = checkpoint.config;
  const bool values_here = !checkpoint.model.keys().empty();
  std::optional<nn::init::SkipGuard> values_follow;
  if (!checkpoint.tensors.empty()) values_follow.emplace();
  if (!values_here) return c.text ? make_text_model(*c.text) : make_model(c.model_or_file(), c.shape());
  try {
    if (c.text) return make_text_model_for(*c.text, checkpoint.model);
    return make_model_for(c.model_or_file(), c.shape(), checkpoint.model);
  } catch (const Error& error) {
    broken(error);
  }
}

// "  train loss 0.5123  accuracy 0.8123 …", of images.
std::vector<LinePart> described(const Json& line) {
  const auto number = [&](const std::string& name) { return get_entry<double>(line, name.c_str()); };
  std::vector<LinePart> parts;
  for (const std::string part : {"train", "validation", "test"}) {
    if (!line.contains(part + "_loss")) continue;
    const bool tested = part == "test";
    parts.push_back({concat(parts.empty() ? "  " : "   ", part), tested ? 0 : 2});
    parts.push_back({concat(" loss ", fixed(number(part + "_loss"), 4), " "), tested ? 1 : 2});
    parts.push_back({concat(" accuracy ", fixed(number(part + "_accuracy"), 4)), tested ? 0 : 3});
  }
  if (line.contains("test_accuracy_without_average"))
    parts.push_back({concat(" (without average ", fixed(number("test_accuracy_without_average"), 4), ")"), 1});
  parts.push_back({concat("   ", fixed(number("seconds"), 2), " s"), 4});
  parts.push_back({concat("  ", with_commas(static_cast<long long>(number("images_per_second"))), " images/s"), 5});
  return parts;
}

}  // namespace

Trainer::Trainer(const TrainerOptions& options, Checkpoint checkpoint, ImageSetPair data, const Terminal& terminal)
    : options_(options),
      checkpoint_(std::move(checkpoint)),
      data_(std::move(data)),
      terminal_(terminal),
      bar_(options.placement.team.leads() ? terminal : Terminal()),
      construction_(build_in_parts(options.placement, checkpoint_, options.weights)),
      model_(model_of(checkpoint_)) {
  if (checkpoint_.tensors.empty() && !is_onnx(checkpoint_.config.model))  // which have values of their own
    initialise(*model_, checkpoint_.config.recipe);
  if (!options_.weights.empty()) load_weights();
  freeze(checkpoint_.config.model, model_, checkpoint_.config.recipe.freeze);
  check_last_batch();
  stepper_ = make_stepper(model_, checkpoint_.config.recipe, options_.placement);
  construction_.reset();
  const Device root = options_.placement.root;
  if (root.is_cuda() && data_.train.images.is_cpu()) side_.emplace(root);
  if (!checkpoint_.is_new()) restore();
  stepper_->start(checkpoint_.progress.loss_sum, checkpoint_.progress.correct);
  first_batch_ = checkpoint_.progress.batch;
}

// One image may be one value per channel, which BatchNorm refuses: at the end of an epoch, if nobody looks before.
void Trainer::check_last_batch() const {
  const RunConfig& c = checkpoint_.config;
  if (c.text || c.fully_sharded || examples() - (batches() - 1) * c.recipe.batch_size != 1) return;
  const auto copy = std::dynamic_pointer_cast<nn::SequentialImpl>(model_->clone());
  train_unfrozen(*copy);
  const NoGradGuard no_grad;
  const uint64_t offset = default_generator().offset();
  try {
    copy->forward(zeros({1, c.input[0], c.input[1], c.input[2]}));
  } catch (const Error& error) {
    refuse("the last batch of an epoch has one image, with which ", c.model, " cannot train: ", error.what(),
           "; choose another --batch-size than ", c.recipe.batch_size);
  }
  default_generator().set_offset(offset);
}

void Trainer::load_weights() try {
  if (checkpoint_.config.text) {
    gpt2_in(model_)->load_state_dict(
        read_text_weights(options_.weights, checkpoint_.config.text->model.n_head(), options_.key).state);
    return;
  }
  start_from(checkpoint_.config.model, model_, read_state(options_.weights, options_.key));
} catch (const Error& error) {
  const RunConfig& c = checkpoint_.config;
  refuse("--weights ", options_.weights, ": ", error.what(),
         c.text ? "" : looks_like(options_.weights, options_.key, c.model, c.shape()));
}

void Trainer::restore() try {
  const Recipe& recipe = checkpoint_.config.recipe;
  const int64_t batch = checkpoint_.progress.batch;
  check(batch <= batches(), "batch ", batch, " of ", batches());
  check(batch % recipe.accumulate == 0 || batch == batches(), "batch ", batch, " is within a step of ",
        recipe.accumulate, " batches");
  const bool whole = stepper_->sharded() == nullptr;
  if (whole && recipe.keep == "best" && !checkpoint_.progress.history.empty()) {
    model_->load(checkpoint_.best);
    best_ = copy_of(*model_);
  }
  if (whole) model_->load(checkpoint_.model);
  optim::Optimizer& optimizer = stepper_->optimizer();
  std::vector<std::unique_ptr<optim::OptimizerOptions>> own;
  for (const auto& group : optimizer.param_groups()) own.push_back(group.options().clone());
  const int64_t epoch = checkpoint_.progress.epoch, steps = steps_in(recipe, batches());
  const int64_t done = epoch * steps + steps_in(recipe, batch);
  if (whole)
    optimizer.load(checkpoint_.optimizer);
  else
    load_sharded(checkpoint_.tensors, *stepper_->sharded(), optimizer, stepper_->average(), done);
  // Only the recipe counts: unlike it, the optimizer's copy of its values in the file has not been validated.
  for (std::size_t i = 0; i < own.size(); ++i) optimizer.param_groups()[i].set_options(std::move(own[i]));
  if (done > 0)  // the rate is part of the state
    stepper_->set_lr(learning_rate(recipe, done - 1, checkpoint_.config.epochs * steps));
  if (whole && stepper_->average() != nullptr) stepper_->average()->load(checkpoint_.average);
  stepper_->set_steps(epoch * batches() + batch);
  amp::GradScalerState scaling = stepper_->scaler().state_dict();
  scaling.scale = checkpoint_.progress.loss_scale;
  scaling.growth_tracker = checkpoint_.progress.loss_scale_steps;
  stepper_->scaler().load_state_dict(scaling);
  default_generator().set_current_seed(checkpoint_.progress.random_seed);
  default_generator().set_offset(checkpoint_.progress.random_offset);
} catch (const Error& error) {
  broken(error);
}

std::pair<int64_t, int64_t> Trainer::parameter_counts() const {
  std::pair<int64_t, int64_t> counts;
  const auto add = [&](int64_t numel, bool trains) {
    counts.first += numel;
    if (trains) counts.second += numel;
  };
  if (sharded() == nullptr) {
    for (const Tensor& each : model_->parameters()) add(each.numel(), each.requires_grad());
    return counts;
  }
  for (const distributed::ShardedSlice& slice : sharded()->slices())
    for (const auto& each : slice.parameters) add(each.numel, slice.slice.requires_grad());
  return counts;
}

int64_t Trainer::batches() const {
  const RunConfig& c = checkpoint_.config;
  if (c.text) return batches_of_epoch(data_.train, c.recipe.batch_size, *c.text);
  return (data_.train.count() + c.recipe.batch_size - 1) / c.recipe.batch_size;
}

double Trainer::rate_of(int64_t batch) const {
  const RunConfig& c = checkpoint_.config;
  const int64_t steps = steps_in(c.recipe, batches());
  return learning_rate(c.recipe, checkpoint_.progress.epoch * steps + batch / c.recipe.accumulate, c.epochs * steps);
}

int64_t Trainer::examples() const {
  return std::min(data_.train.count(), batches() * checkpoint_.config.recipe.batch_size);
}

StateHash Trainer::hash() const {
  if (sharded() == nullptr) return state_hash(*model_, stepper_->optimizer());
  return state_hash(*stepper_->sharded(), stepper_->optimizer(), checkpoint_.config.recipe);
}

std::string Trainer::model_hash() const {
  return sharded() == nullptr ? model_sha256(*model_) : model_sha256(*stepper_->sharded());
}

bool Trainer::run(const std::string& folder) {
  options_.folder = folder;
  distributed::FullyShardedDataParallelBase* const sharded = stepper_->sharded();
  if (sharded != nullptr) options_.folder = distributed::exchange_texts(*sharded->process_group(), folder)[0];
  saved_ = place_of(checkpoint_.progress);
  if (checkpoint_.is_new() && takes_part()) checkpoint_.config.start_sha256 = model_hash();
  save();
  write_files();
  const Progress& p = checkpoint_.progress;
  while (p.epoch < checkpoint_.config.epochs && !out_of_patience(checkpoint_.config, p.history))
    if (!next_epoch()) return false;
  if (options_.verbose && !fused_told_ && leads())
    print_error("captured step",
                "none: it needs one device, more than three steps of a kind, and --accumulate up to 32");
  return true;
}

bool Trainer::next_epoch() {
  if (epoch()) {
    end_epoch();
    return true;
  }
  save();
  bar_.clear();
  return false;
}

// Returns false if a signal ended it.
bool Trainer::epoch() {
  const profiler::Record span("epoch", "train");
  Progress& p = checkpoint_.progress;
  const RunConfig& c = checkpoint_.config;
  Batches loader(c.text ? ImageSet{windows_of_epoch(data_.train, c.seed, p.epoch)} : data_.train, c.recipe,
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
  train_unfrozen(*model_);
  const int64_t batches = this->batches();
  StepRequest pending;  // agreed on, for the end of a group of batches
  for (std::vector<Tensor> batch = next(loader); p.batch < batches && !batch.empty(); batch = next(loader)) {
    const profiler::Record step_span("step", "train");
    const GroupPlace place = place_in_group(c.recipe, p.batch, examples());
    stepper_->set_lr(rate_of(p.batch));
    if (log_ != nullptr) guarded([&] { log_->before_step(p, batch, *stepper_); });
    stepper_->step(batch, place);
    if (options_.verbose && !fused_told_) tell_fused();
    p.images += std::min(c.recipe.batch_size, examples() - p.batch * c.recipe.batch_size);
    ++p.batch;
    if (place.last && c.hash_steps > 0 && takes_part() && steps_in(c.recipe, p.batch) % c.hash_steps == 0)
      p.step_hashes += hash().sum.substr(0, kStepDigits);
    const StepRequest agreed =
        stepper_->agree({stop_signal, leads() && seconds_now() - saved_at_ >= options_.save_every});
    pending = {std::max(pending.stop, agreed.stop), pending.save || agreed.save};
    show(batches, begun);
    if (is_epoch_point(p.batch - 1, batches)) add_point();
    if (log_ != nullptr) guarded([&] { log_->after_step(p, *stepper_); });
    if (!place.last || (pending.stop == 0 && !pending.save)) continue;  // gradients are not part of a checkpoint
    p.seconds += seconds_now() - begun;
    if (pending.stop != 0) {
      stop_signal = pending.stop;
      return false;
    }
    save(Later::kYes);
    pending = {};
    begun = seconds_now();
  }
  collect();
  p.seconds += seconds_now() - begun;
  return true;
}

// Of several processes, the losses of a step arrive after the next one.
void Trainer::add_point() {
  Progress& p = checkpoint_.progress;
  const int64_t counted = p.images - stepper_->examples_pending();
  const bool full = static_cast<int64_t>(p.points.examples.size()) == kEpochPoints;  // after a stop among several
  if (!leads() || full || counted <= (p.points.examples.empty() ? 0 : p.points.examples.back())) return;
  p.points.examples.push_back(counted);
  p.points.loss_sum.push_back(stepper_->loss_sum());
}

void Trainer::show(int64_t batches, double begun) {
  Progress& p = checkpoint_.progress;
  if (!bar_.due() || p.images <= stepper_->examples_pending()) return;
  p.loss_sum = stepper_->loss_sum();
  p.correct = stepper_->correct();
  check_losses();
  const RunConfig& c = checkpoint_.config;
  const double seconds = p.seconds + seconds_now() - begun, examples = static_cast<double>(p.images);
  const auto counted = static_cast<double>(p.images - stepper_->examples_pending());
  const double rate = examples / std::max(seconds, 1e-9);
  const double left = static_cast<double>((c.epochs - p.epoch) * this->examples()) - examples;
  bar_.draw({.title = concat("epoch ", p.epoch + 1, "/", c.epochs),
             .fraction = static_cast<double>(p.batch) / static_cast<double>(batches),
             .fields = c.text ? text_fields(p.loss_sum / counted, rate * static_cast<double>(labels_per_example()),
                                            left / rate)
                              : training_fields({.loss = p.loss_sum / counted,
                                                 .accuracy = static_cast<double>(p.correct) / counted,
                                                 .images_per_second = rate,
                                                 .seconds_left = left / rate})});
}

void Trainer::tell_fused() {
  const std::optional<FusionCounts> fused = stepper_->fused();
  if (!fused || !leads()) return;
  fused_told_ = true;
  bar_.clear();
  if (fused->calls == 0) return print_error("captured step", "its kernels are called without tape and allocations");
  print_error("captured step",
              concat(counted(static_cast<int64_t>(fused->calls), "elementwise kernel", "elementwise kernels"),
                     " became ", fused->kernels, "; they move ", byte_size(static_cast<double>(fused->bytes_after)),
                     " instead of ", byte_size(static_cast<double>(fused->bytes_before))));
}

void Trainer::check_losses() {
  const Progress& p = checkpoint_.progress;
  if (options_.keep_going || p.batch == first_batch_) return;
  const bool skipped = stepper_->scaler().is_enabled() && p.batch == batches() && stepper_->examples_pending() == 0 &&
                       stepper_->finite_batches() == 0;
  if (std::isfinite(p.loss_sum) && !skipped) return;
  diverged(concat("from batch ", first_batch_ + stepper_->finite_batches() + 1, " of epoch ", p.epoch + 1,
                  " on, the loss is ",
                  skipped                  ? "not finite"
                  : std::isnan(p.loss_sum) ? "nan"
                                           : "infinite"));
}

void Trainer::check_weights() {
  if (options_.keep_going) return;
  const auto state = sharded() != nullptr ? sharded()->state_dict() : model_->state_dict();
  int64_t count = count_not_finite(state);
  if (sharded() != nullptr) count = static_cast<int64_t>(options_.placement.team.sum(static_cast<double>(count)));
  if (!not_finite_at_start_) not_finite_at_start_ = count;
  if (count > *not_finite_at_start_)
    diverged(concat("after ", place_of(checkpoint_.progress), ", ",
                    sharded() != nullptr ? concat(with_commas(count), " weights are not finite") : not_finite(state)));
}

void Trainer::diverged(const std::string& problem) {
  const std::string text =
      problem + ": the training has diverged; try a lower --lr, or --clip 1 (--keep-going trains on all the same)";
  bar_.clear();
  if (writes()) guarded([&] { fail(text); });
  fail(text);
}

void Trainer::collect() {
  stepper_->settle();
  checkpoint_.progress.loss_sum = stepper_->loss_sum();
  checkpoint_.progress.correct = stepper_->correct();
  const amp::GradScalerState scaling = stepper_->scaler().state_dict();
  checkpoint_.progress.loss_scale = scaling.scale;
  checkpoint_.progress.loss_scale_steps = scaling.growth_tracker;
  check_losses();
}

// A file of images may have become unreadable since the run has started.
std::vector<Tensor> Trainer::next(Batches& loader) const try {
  return loader.next();
} catch (const std::exception& error) {
  if (data_.train.files == nullptr || !writes()) throw;
  fail(error.what(), "; the checkpoint of ", saved_, " is intact: continue with ", called_as(), " train --resume ",
       quoted_for_shell(options_.folder));
}

// The line of metrics.jsonl for the epoch that has ended.
Json Trainer::figures(const Scores& scores) const {
  const Progress& p = checkpoint_.progress;
  const double examples = static_cast<double>(p.images);
  Json line{
      {"epoch", p.epoch + 1},
      {"train_loss", p.loss_sum / examples},
      {"train_accuracy", static_cast<double>(p.correct) / (examples * static_cast<double>(labels_per_example()))}};
  if (scores.validation) {
    line["validation_loss"] = scores.validation->loss;
    line["validation_accuracy"] = scores.validation->accuracy;
  }
  line["test_loss"] = scores.test.loss;
  line["test_accuracy"] = scores.test.accuracy;
  if (scores.without_average) {
    line["test_loss_without_average"] = scores.without_average->loss;
    line["test_accuracy_without_average"] = scores.without_average->accuracy;
  }
  line["within_epoch"] = described(p.points, p.images, [this](int64_t count) {
    return rate_of((count - 1) / checkpoint_.config.recipe.batch_size);
  });
  line["seconds"] = p.seconds;
  line["images_per_second"] = examples / std::max(p.seconds, 1e-9);
  line["device"] = names_of(options_.placement.devices);
  line["processes"] = options_.placement.team.size();
  return line;
}

// Called while the model has the values that have been evaluated.
void Trainer::keep(const Scores& scores) {
  Progress& p = checkpoint_.progress;
  const RunConfig& c = checkpoint_.config;
  p.history.push_back(figures(scores));
  if (c.recipe.keep == "best" && best_epoch(c, p.history) == p.epoch + 1) {
    if (sharded() == nullptr)
      best_ = copy_of(*model_);
    else if (!options_.folder.empty())
      written(Later::kNo, [&] { save_best(options_.folder, p.epoch + 1, *stepper_->sharded()); });
  }
  if (c.recipe.keep != "all" || !writes()) return;
  guarded([&] {
    make_epoch_folder(options_.folder, p.epoch + 1);
    if (sharded() != nullptr) return;  // end_epoch() writes the model from the checkpoint
    serialize::save_safetensors(epoch_folder(options_.folder, p.epoch + 1) + ".safetensors", exported(c.model, model_));
  });
}

void Trainer::record_hashes() {
  const profiler::Record span("hash state", "train");
  Progress& p = checkpoint_.progress;
  last_hash_ = hash();
  Json& line = p.history.back();
  line["state_sha256"] = last_hash_.sum;
  line["tensor_hashes"] = last_hash_.tensors;
  if (checkpoint_.config.hash_steps > 0) line["step_hashes"] = p.step_hashes;
  extend_chain(checkpoint_.config, p.history);
}

void Trainer::end_epoch() {
  const profiler::Record span("end of epoch", "train");
  Progress& p = checkpoint_.progress;
  Scores scores;
  // The records of older versions, which have begun with the full decay, do not have it.
  if (checkpoint_.config.recipe.ema_warmup) scores.without_average = stepper_->evaluate(data_.test);
  {
    const auto averaged = stepper_->with_average();
    if (data_.validation.count() > 0) scores.validation = stepper_->evaluate(data_.validation);
    scores.test = stepper_->evaluate(data_.test);
    keep(scores);
  }
  Json& said = p.history.back();
  const bool stops = p.epoch + 1 < checkpoint_.config.epochs && out_of_patience(checkpoint_.config, p.history);
  if (stops) said["stopped_early"] = reason_to_stop(checkpoint_.config, p.history);
  std::vector<LinePart> parts =
      checkpoint_.config.text ? complete_text_epoch(said, labels_per_example()) : described(said);
  parts.insert(parts.begin(), {concat("epoch ", p.epoch + 1, "/", checkpoint_.config.epochs)});
  const std::string line = fitted(parts, terminal_.interactive ? columns_of(1) : 0);
  if (takes_part()) record_hashes();  // when the line is complete
  if (log_ != nullptr) guarded([&] { log_->after_epoch(p, model_); });
  if (writes()) bar_.print(line);
  if (writes() && stops) bar_.print(reason_to_stop(checkpoint_.config, p.history));
  if (!writes()) bar_.clear();
  std::fflush(stdout);
  ++p.epoch;
  p.batch = p.images = p.correct = 0;
  p.loss_sum = p.seconds = 0;
  p.points = {};
  p.step_hashes.clear();
  stepper_->start(0, 0);
  first_batch_ = 0;
  if (checkpoint_.config.recipe.keep == "all") {
    const std::string kept = epoch_folder(options_.folder, p.epoch);
    save_to(kept);
    if (sharded() != nullptr && writes())
      guarded([&] { export_sharded(result_folder(kept, checkpoint_.config, p), kept, checkpoint_.config.model); });
  }
  const bool last = p.epoch == checkpoint_.config.epochs || stops;
  const Later later = last ? Later::kNo : Later::kYes;
  if (save(later)) write_files(later);  // never newer than the checkpoint
}

void Trainer::take_result() {
  if (best_)
    model_->load_state_dict(*best_);
  else if (stepper_->average() != nullptr && stepper_->average()->updates() > 0)
    model_->load_state_dict(stepper_->average()->state_dict());
}

void Trainer::write_files(Later later) {
  if (writes()) written(later, [&] { write_run_files(options_.folder, checkpoint_.config, checkpoint_.progress); });
}

bool Trainer::written(Later later, const std::function<void()>& write) {
  try {
    guarded(write);
    return true;
  } catch (const distributed::DistributedError&) {
    throw;
  } catch (const Error& error) {
    if (later == Later::kNo && !leads()) throw ReportedElsewhere{1};
    if (later == Later::kNo) throw;
    bar_.clear();
    if (leads()) print_error("warning", concat("saving is tried again later: ", error.what()));
    return false;
  }
}

// On a write error (e.g. a full disk), the message says which checkpoint remains.
template <class F>
void Trainer::guarded(F&& write) {
  try {
    write();
  } catch (const distributed::DistributedError&) {
    throw;
  } catch (const Error& error) {
    std::error_code ignored;
    if (!std::filesystem::exists(checkpoint_path(options_.folder), ignored)) throw;
    fail(error.what(), "; the checkpoint of ", saved_, " is intact: continue with ", called_as(), " train --resume ",
         quoted_for_shell(options_.folder));
  }
}

bool Trainer::save(Later later) {
  const bool good = save_to(options_.folder, later);
  if (good) saved_ = place_of(checkpoint_.progress);
  saved_at_ = seconds_now();
  return good;
}

bool Trainer::save_to(const std::string& folder, Later later) {
  const profiler::Record span("save checkpoint", "train");
  collect();
  check_weights();
  Progress& p = checkpoint_.progress;
  p.random_seed = default_generator().current_seed();
  p.random_offset = default_generator().offset();
  if (options_.folder.empty()) return true;
  if (stepper_->sharded() != nullptr)
    return written(later, [&] {
      save_sharded(folder, checkpoint_.config, p, *stepper_->sharded(), stepper_->optimizer(), stepper_->average());
    });
  if (!writes()) return true;
  return written(later, [&] {
    save_checkpoint(folder, checkpoint_.config, p, model_, stepper_->optimizer(),
                    {stepper_->average(), best_ ? &*best_ : nullptr});
  });
}

}  // namespace tandem::cli
