// tandem train: checks the request, prints a summary, trains.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include "tandem/cli/commands/add_options.h"
#include "tandem/cli/data/find_data.h"
#include "tandem/cli/data/load_data.h"
#include "tandem/cli/device_list.h"
#include "tandem/cli/draw/plot.h"
#include "tandem/cli/json.h"
#include "tandem/cli/launch/many_processes.h"
#include "tandem/cli/message.h"
#include "tandem/cli/onnx/onnx_files.h"
#include "tandem/cli/options.h"
#include "tandem/cli/report/run_record.h"
#include "tandem/cli/signals.h"
#include "tandem/cli/text/text_config.h"
#include "tandem/cli/text/text_report.h"
#include "tandem/cli/text/train_text.h"
#include "tandem/cli/train/early_stopping.h"
#include "tandem/cli/train/preparation.h"
#include "tandem/cli/train/run_lock.h"
#include "tandem/cli/train/sharded_run.h"
#include "tandem/cli/train/tensorboard_log.h"
#include "tandem/cli/train/trainer.h"
#include "tandem/core/base/atomic_file.h"
#include "tandem/core/reproducible.h"
#include "tandem/nn/files/safetensors.h"
#include "tandem/parallel/distributed/environment.h"

namespace tandem::cli {
namespace {

void check_options(const TrainOptions& o) {
  require(o.out.empty() || o.resume.empty(),
          "--out cannot be combined with --resume: a resumed run stays in its folder");
  require(o.weights.empty() || o.resume.empty(),
          "--weights cannot be combined with --resume: the run continues with its own");
  require(o.key.empty() || !o.weights.empty(), "--key: names a state dict in the file of --weights");
  require(o.weights.empty() || o.recipe.init.value_or("default") == "default", "--init ", o.recipe.init.value_or(""),
          ": cannot be combined with --weights, which are the parameters");
}

// An ONNX file is known by its name without the folder.
std::string name_of_model(const std::string& given) {
  return is_onnx(given) ? std::filesystem::path(given).filename().string() : given;
}

bool is_model_of(const RunConfig& c, const std::string& given) {
  std::error_code ignored;
  const bool there = is_onnx(given) && std::filesystem::exists(given, ignored);  // the run has the file, too
  return name_of_model(given) == c.model && (!there || sha256_of_onnx(given) == c.onnx_sha256);
}

// Whether the learning rate changes over all epochs, so that their number cannot be raised.
bool has_fixed_epochs(const Recipe& recipe) { return recipe.schedule == "cosine" || recipe.warmup != 0; }

// A resumed run keeps the options that determine its result; epochs, threads, workers and devices may change.
void check_resume(const TrainOptions& o, const RunConfig& c) {
  check_text_options(o, c.model);
  const auto same = [](bool equal, const char* name) {
    require(equal, "--", name, ": the resumed run was started with another value; leave it out");
  };
  for (const std::string& name : o.line.given) {
    if (name == "model") same(is_model_of(c, o.model), "model");
    if (name == "seed") same(o.seed == c.seed, "seed");
    if (name == "shards") same(o.shards == c.shards, "shards");
    if (name == "fully-sharded") same(c.fully_sharded, "fully-sharded");
    if (name == "reproducible")
      same(o.reproducible == (c.reproducible.empty() ? "off" : c.reproducible), "reproducible");
    if (name == "hash-steps") same(o.hash_steps == c.hash_steps, "hash-steps");
    if (name == "validation")
      same(!c.validation_folder && o.validation == (c.text ? c.text->validation : c.validation), "validation");
    if (name == "image-size") same(o.image_size == c.input[1], "image-size");
    require(name != "recipe", "--recipe: a resumed run keeps its recipe; leave it out");
  }
  if (o.skip_broken) same(c.skip_broken, "skip-broken");
  check_same(o.recipe, c.recipe);
  if (c.text) check_same(o.text, *c.text);
}

// Of several processes, the first holds the lock.
Checkpoint resumed(const TrainOptions& o, const Team& team, std::optional<RunLock>& lock) {
  Checkpoint checkpoint;
  try {
    check_checkpoint(o.resume);  // first, because the lock must not be created in a folder without a run
    if (team.leads()) lock.emplace(o.resume);
    checkpoint = load_checkpoint(o.resume);
    find_onnx_file(o.resume, checkpoint.config);
  } catch (const Error& error) {
    refuse("--resume ", error.what());
  }
  if (team.leads()) {
    remove_leftovers(o.resume);
    if (checkpoint.config.fully_sharded) remove_other_tensors(o.resume, checkpoint.config, checkpoint.progress);
  }
  check_resume(o, checkpoint.config);
  if (o.line.has("data"))
    checkpoint.config.data = checkpoint.config.text ? lasting_text_name(o.data) : lasting_name(o.data);
  if (o.line.has("epochs") && o.epochs != checkpoint.config.epochs) {
    require(!has_fixed_epochs(checkpoint.config.recipe), "--epochs ", o.epochs,
            ": this run's learning rate changes over ", counted(checkpoint.config.epochs, "epoch", "epochs"),
            checkpoint.config.recipe.schedule == "cosine" ? " (schedule cosine)" : " (warm-up)",
            ", and another number would make it jump; start a new run with --epochs ", o.epochs);
    require(o.epochs >= checkpoint.progress.epoch, "--epochs ", o.epochs, ": the run has completed ",
            counted(checkpoint.progress.epoch, "epoch", "epochs"), " already");
    require(o.epochs > checkpoint.progress.epoch || checkpoint.progress.batch == 0, "--epochs ", o.epochs,
            ": the run is in the middle of epoch ", checkpoint.progress.epoch + 1);
    checkpoint.config.epochs = o.epochs;
  }
  return checkpoint;
}

int64_t shards_of(const TrainOptions& o, const Team& team) {
  if (o.fully_sharded) return o.shards;
  const bool one_of_several = team.several() || o.processes > 0;
  return one_of_several && !o.line.has("shards") ? shards_for(team.size()) : o.shards;
}

Recipe recipe_of(const TrainOptions& o) {
  if (is_text_model(o.model)) return recipe_of_text(o);
  return make_recipe({o.model, has_image_files(o.data), !o.weights.empty()}, o.recipe, "best");
}

// Epochs are compared by images that are neither trained on nor tested with, unless the command says otherwise.
void choose_validation(const TrainOptions& o, RunConfig& c) {
  constexpr double kShare = 0.1;
  if (o.validation) {
    c.validation = *o.validation;
    return;
  }
  if (c.recipe.keep != "best" && c.recipe.patience == 0) return;
  c.validation_folder = has_validation_folder(o.data);
  if (!c.validation_folder) c.validation = kShare;
}

constexpr int64_t kTextEpochs = 5;

void start_onnx(const TrainOptions& o, RunConfig& c) try {
  check_trainable_onnx(o.model);
  c.onnx_sha256 = sha256_of_onnx(o.model);
  c.onnx_file = o.model;
} catch (const Error& error) {
  refuse("--model ", error.what());
}

std::string recorded(Reproducible mode) {
  return mode == Reproducible::kOff ? "" : mode == Reproducible::kOn ? "on" : "strict";
}

RunConfig requested(const TrainOptions& o, const Team& team) {
  const bool text = is_text_model(o.model);
  check_text_options(o, o.model);
  require(!o.skip_broken || (!text && has_image_files(o.data)), "--skip-broken: leaves out image files; ", o.data,
          " is no folder of them");
  RunConfig c{.model = name_of_model(o.model),
              .data = text ? lasting_text_name(o.data) : lasting_name(o.data),
              .epochs = text && !o.line.has("epochs") ? kTextEpochs : o.epochs,
              .recipe = recipe_of(o),
              .seed = o.seed,
              .data_sum = "",
              .shards = shards_of(o, team),
              .fully_sharded = o.fully_sharded,
              .skip_broken = o.skip_broken,
              .hash_steps = o.hash_steps,
              .reproducible = recorded(reproducible())};
  require(!has_fixed_epochs(c.recipe) || c.recipe.patience < c.epochs, "--patience ", c.recipe.patience,
          ": the run has only ", counted(c.epochs, "epoch", "epochs"));
  if (!text) choose_validation(o, c);
  if (is_onnx(o.model))
    start_onnx(o, c);
  else if (!text)
    model_parameters(o.model, {});  // reports an unknown name before anything is loaded
  return c;
}

// Whether a launcher has started a failed job again, which had begun a run.
bool is_restarted(const TrainOptions& o) {
  std::error_code error;
  return !o.out.empty() && distributed::Environment::read().restart > 0 &&
         std::filesystem::exists(checkpoint_path(o.out), error);
}

// The options of a restarted job, whose command is the one that began the run: they continue it.
TrainOptions continued(TrainOptions o) {
  o.resume = std::exchange(o.out, {});
  o.weights = o.key = o.text.tokenizer = "";
  std::erase(o.line.given, "recipe");
  return o;
}

// The first attempt may have been refused because the folder contained a run. Only the one that the command would begin
// may go on. A text's own options are compared by resumed().
void check_is_requested(const RunConfig& c, const TrainOptions& o, const Team& team) {
  Json found = to_json(c), wanted = to_json(requested(o, team));
  for (Json* each : {&found, &wanted})  // without what is known later
    for (const char* key : {"data_folder", "input", "classes", "class_count", "data_sum", "devices", "root", "text",
                            "start_sha256", "recipe", "ema_warmup"})
      each->erase(key);
  require(found == wanted, "--out ", o.out,
          ": contains a run that was started with other options; choose another folder");
}

Checkpoint fresh(const TrainOptions& o, const Team& team) {
  Checkpoint checkpoint;
  checkpoint.config = requested(o, team);
  check_run_folder(o.out);
  return checkpoint;
}

// What the parameters of a new run are at first.
std::string start_of(const TrainOptions& o, const RunConfig& c) {
  if (!o.resume.empty()) return "";
  if (!o.weights.empty() || is_onnx(c.model)) return ", from its weights";
  return c.recipe.init == "normal" ? ", initialisation normal (deviation 0.01)" : ", initialisation default";
}

// "data     photos: 120 training and 30 test images of 32 x 32, 3 classes (/data/photos)"
std::string described_images(const RunConfig& c, const Prepared& p) {
  const ImageSetPair& data = p.data;
  std::string text = concat("data     ", printable(data_label(c)), ": ", with_commas(data.train.count()), " training");
  if (c.validates()) text += concat(", ", with_commas(data.validation.count()), " validation");
  text +=
      concat(" and ", with_commas(data.test.count()), " test images", p.split ? " (a fifth of each class)" : "", " of ",
             c.input[1], " x ", c.input[2], ", ", c.class_count, " classes (", printable(c.data_folder), ")");
  if (data.train.files != nullptr) text += ", files read in each epoch";
  if (!c.validation_folder && has_validation_folder(c.data)) text += ", without its validation part";
  return text;
}

void announce(const TrainOptions& o, const Prepared& p, Trainer& trainer, const std::string& folder) {
  const Placement& placement = p.placement;
  const RunConfig& c = trainer.config();
  const auto [parameters, trained] = trainer.parameter_counts();
  say(concat("model    ", printable(c.model), ", ", with_commas(parameters), " parameters",
             trained < parameters ? concat(", of which ", with_commas(trained), " train") : ""));
  if (!o.weights.empty()) say("weights  " + printable(o.weights));
  say(p.text ? described(c, *p.text) : described_images(c, p));
  if (p.text) say(described_examples(*c.text));
  say(concat("device   ", described(placement), ", ", describe_devices(placement.devices), ", ",
             counted(o.workers, "worker", "workers"),
             c.reproducible.empty() ? "" : ", reproducible: " + c.reproducible));
  if (!p.memory.empty()) say(p.memory);
  if (trainer.sharded() != nullptr) say(described_memory(*trainer.sharded(), c.recipe, c.shards));
  const int64_t steps = steps_in(c.recipe, trainer.batches());
  say(concat("training ", counted(c.epochs, "epoch", "epochs"), " of ", counted(steps, "step", "steps"), ", ",
             describe(c.recipe), start_of(o, c), ", seed ", c.seed));
  say(concat("folder   ", printable(folder), o.resume.empty() ? "" : ", resumed"));
  if (!o.resume.empty()) say("resumed  after " + place_of(trainer.progress()));
  std::fflush(stdout);
}

// "; to train its model further, start a new run: ...". `run`: its folder, quoted.
std::string new_run(const RunConfig& c, const std::string& run) {
  if (c.model == "linear") return "";  // its only layer is the last one, which --weights leaves out
  const bool files = !c.text && has_image_files(c.data);
  return concat("; to train its model further, start a new run: ", called_as(), " train --weights ",
                c.text            ? run
                : c.fully_sharded ? run + "/model.safetensors.index.json"
                                  : run + "/model.safetensors",
                " --model ", c.onnx_file.empty() ? c.model : concat(run, "/", kOnnxFile), " --data ",
                printable(quoted_for_shell(c.data)), files ? concat(" --image-size ", c.input[1]) : "");
}

// How a run that is complete can go on. `run`: its folder, quoted.
std::string way_on(const RunConfig& c, const Progress& p, const std::string& run) {
  if (p.epoch < c.epochs) return "the run has stopped early, so there is nothing to do" + new_run(c, run);
  const bool patient = !out_of_patience(c, p.history);
  const std::string done = concat("the run has completed ", p.epoch == 1 ? "its epoch" : "all its epochs",
                                  patient ? "" : ", and its --patience has ended", ", so there is nothing to do");
  if (has_fixed_epochs(c.recipe) || !patient) return done + new_run(c, run);
  return concat(done, "; for more: ", called_as(), " train --resume ", run, " --epochs ",
                2 * std::max<int64_t>(p.epoch, 1));
}

void print_next_steps(const RunConfig& c, const std::string& run) {
  const std::string program = called_as();
  std::printf("next     %s report %s\n         %s %s %s %s\n", program.c_str(), run.c_str(), program.c_str(),
              c.text ? "generate" : "predict", run.c_str(), c.text ? "--prompt TEXT" : "IMAGE");
}

// Below its plot unless `chart` is null. `shown`: the folder.
void print_result(const RunConfig& c, const Progress& p, const std::string& shown, const Terminal* chart) {
  const bool text = c.text.has_value();
  LinePlot plot{.title = text ? "validation loss (nats per token)" : "test accuracy"};
  if (!text) plot.least = 0, plot.most = 1;
  for (const Json& line : p.history)
    plot.values.push_back(get_entry<double>(line, text ? "test_loss" : "test_accuracy"));
  if (chart != nullptr) std::printf("\n%s\n", line_plot(plot, *chart).c_str());
  const int64_t epoch = result_epoch(c, p.history);
  if (stopped_early(c, p)) std::printf("%s\n", reason_to_stop(c, p.history).c_str());
  const double value = epoch > 0 ? plot.values[static_cast<std::size_t>(epoch - 1)] : text ? std::nan("") : 0;
  const std::string result = text ? concat("validation loss ", fixed(value, 4), ", perplexity ", perplexity_text(value))
                                  : "test accuracy " + fixed(value, 4);
  std::printf("%s %s; results are in %s\n", result.c_str(), described_result(c, p).c_str(), shown.c_str());
}

void save_model(const std::string& folder, Trainer& trainer) {
  const RunConfig& c = trainer.config();
  OrderedDict<std::string, std::string> metadata("Entry");
  if (c.text) metadata.insert("format", "pt");  // which transformers expects
  serialize::save_safetensors((std::filesystem::path(folder) / "model.safetensors").string(),
                              exported(c.model, trainer.model()), metadata);
}

// `trained`: whether this process has trained at all.
void finish(const std::string& folder, Trainer& trainer, const Terminal& terminal, bool trained) {
  const RunConfig& c = trainer.config();
  const Progress& p = trainer.progress();
  if (c.fully_sharded) {
    export_sharded(result_folder(folder, c, p), folder, c.model);
  } else {
    trainer.take_result();
    save_model(folder, trainer);
  }
  // A chart of one epoch shows nothing.
  const Terminal* chart = trained && p.history.size() > 1 ? &terminal : nullptr;
  print_result(c, p, printable(folder), chart);
  const std::string run = printable(quoted_for_shell(folder));
  if (!trained) std::printf("%s\n", way_on(c, p, run).c_str());
  print_next_steps(c, run);
}

// The folder comes last: nothing is created for a run that cannot start.
std::string open_folder(const TrainOptions& o, const RunConfig& config, std::optional<RunLock>& lock) {
  if (lock) return o.resume;
  const std::string folder = make_run_folder(o.out, config.model + "-" + data_label(config));
  lock.emplace(folder);
  check_run_folder(folder);  // another process may have started and finished a run since
  remove_leftovers(folder);
  return folder;
}

void write_what_never_changes(const std::string& folder, const TextCodec& codec, const RunConfig& c) {
  const std::filesystem::path base(folder);
  for (const auto& [name, content] : codec.files) write_file_atomically((base / name).string(), content);
  if (!c.onnx_file.empty())
    write_file_atomically((base / kOnnxFile).string(), read_text(c.onnx_file, std::uintmax_t{1} << 31));
}

std::unique_ptr<TensorboardLog> tensorboard_log(const TrainOptions& o, const std::string& folder,
                                                const Trainer& trainer, const Prepared& p) {
  if (!o.tensorboard) return nullptr;
  const Placement& place = p.placement;
  // The optimizer then adds up the gradients of the devices itself, without storing the sum.
  const bool in_parts = place.devices.size() > 1 && place.shards == 0 && !place.team.several();
  try {
    return std::make_unique<TensorboardLog>(
        TensorboardLog::Options{.folder = o.tensorboard->empty() ? folder : *o.tensorboard,
                                .steps_per_epoch = trainer.batches(),
                                .resumed = !o.resume.empty(),
                                .gradients = !in_parts},
        trainer.config(), trainer.progress());
  } catch (const Error& error) {
    refuse("--tensorboard: ", error.what());
  }
}

int train(const TrainOptions& given, const Team& team) {
  const bool restarted = is_restarted(given);
  const TrainOptions o = restarted ? continued(given) : given;
  const Terminal terminal = detect_terminal();
  std::optional<RunLock> lock;
  const auto begin = [&] {
    Checkpoint state = o.resume.empty() ? fresh(o, team) : resumed(o, team, lock);
    if (restarted) check_is_requested(state.config, given, team);
    require(!state.config.fully_sharded || !o.tensorboard,
            "--tensorboard: needs the whole model in one process, so it cannot be combined with --fully-sharded");
    return state;
  };
  Prepared p = prepare(o, team, begin);
  const DeviceGuard guard(p.placement.root);
  std::optional<Trainer> trainer;
  team.together([&] {
    trainer.emplace(TrainerOptions{p.placement, o.workers, o.save_every, o.keep_going, o.weights, o.key, o.verbose},
                    std::move(p.checkpoint), p.data, terminal);
    const RunConfig& c = trainer->config();
    const int64_t steps = steps_in(c.recipe, trainer->batches());
    require(c.hash_steps <= steps || !o.resume.empty(), "--hash-steps ", c.hash_steps, ": an epoch has only ",
            counted(steps, "step", "steps"));
  });
  std::string folder;
  std::unique_ptr<TensorboardLog> log;
  team.together([&] {
    if (!team.leads()) return;
    folder = open_folder(o, trainer->config(), lock);
    if (o.resume.empty()) write_what_never_changes(folder, p.codec, trainer->config());
    log = tensorboard_log(o, folder, *trainer, p);
    trainer->observe(log.get());
  });
  if (!team.several()) install_handlers();
  if (team.leads()) announce(o, p, *trainer, folder);
  const RunConfig& c = trainer->config();
  const bool trains = trainer->progress().epoch < c.epochs && !out_of_patience(c, trainer->progress().history);
  const bool complete = trainer->run(folder);
  if (!complete && team.leads())
    std::printf("stopped after %s; continue with: %s train --resume %s\n", place_of(trainer->progress()).c_str(),
                called_as().c_str(), printable(quoted_for_shell(folder)).c_str());
  if (complete && team.leads()) finish(folder, *trainer, terminal, trains);
  return complete ? 0 : 128 + stop_signal;
}

int train_command(const TrainOptions& o) {
  check_options(o);
  return run_in_team("train", o, [&](const Team& team) { return train(o, team); });
}

}  // namespace

Command add_train(CLI::App& app) {
  static TrainOptions o;
  CLI::App* c = app.add_subcommand("train",
                                   "train a model; writes config.json, metrics.jsonl, curve.svg, "
                                   "checkpoint.safetensors and model.safetensors to the run's folder");
  add_train_options(c, o);
  c->footer(
      "Examples:\n"
      "  tandem train --model lenet --data fashion-mnist --epochs 3 --out runs/first\n"
      "  tandem train --model resnet18 --data photos --weights resnet18.safetensors --freeze all-but-head\n"
      "  tandem train --model gpt2 --data book.txt --layers 2 --context 64");
  return [](const CommandLine& line) {
    o.line = line;
    return train_command(o);
  };
}

}  // namespace tandem::cli
