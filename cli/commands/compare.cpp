// tandem compare: the same training on several lists of devices, alternating by epoch so that other load on
// the machine affects all of them equally.
#include <cstdio>
#include <filesystem>

#include "tandem/autograd/ops.h"
#include "tandem/cli/commands/add_options.h"
#include "tandem/cli/compare/candidates.h"
#include "tandem/cli/compare/comparison.h"
#include "tandem/cli/data/load_data.h"
#include "tandem/cli/device_list.h"
#include "tandem/cli/draw/progress.h"
#include "tandem/cli/json.h"
#include "tandem/cli/launch/many_processes.h"
#include "tandem/cli/message.h"
#include "tandem/cli/onnx/onnx_files.h"
#include "tandem/cli/options.h"
#include "tandem/cli/signals.h"
#include "tandem/cli/train/augmentation.h"
#include "tandem/cli/train/batches.h"
#include "tandem/cli/train/frozen.h"
#include "tandem/cli/train/models.h"
#include "tandem/cli/train/run_folder.h"
#include "tandem/cli/train/state_hash.h"
#include "tandem/cli/train/stepper.h"
#include "tandem/core/base/atomic_file.h"
#include "tandem/core/base/clock.h"
#include "tandem/core/threads/parallel_for.h"
#include "tandem/core/threads/usable_cores.h"

namespace tandem::cli {
namespace {

constexpr int kTimedSteps = 40, kWarmUpSteps = 5;

// One candidate with one batch size: its own model, and everything that the training needs.
struct Contender {
  Placement placement;
  bool takes_part = true;
  int logical = 1, threads = 1;  // logical CPU devices while it runs, and threads per device
  Recipe recipe;
  Generator generator;
  ImageSetPair data{};
  nn::Sequential model{nullptr};
  std::unique_ptr<Stepper> stepper{};
  std::optional<Stream> side{};
  Measured measured{};
  int64_t timed_steps = 0;

  bool on_gpu() const { return placement.root.is_cuda(); }
};

// Switches devices, threads and random numbers to `c`'s for its lifetime.
class ContenderGuard {
 public:
  explicit ContenderGuard(const Contender& c) : random_(c.generator) {
    cpu::set_device_count(c.logical);
    set_num_threads(c.threads * c.logical);
    device_.emplace(c.placement.root);
  }

 private:
  GeneratorGuard random_;
  std::optional<DeviceGuard> device_;
};

struct Setting {
  const CompareOptions& o;
  Recipe recipe;
  RunConfig config;
  ImageSetPair data;
};

Setting load(const CompareOptions& o) {
  Setting s{o, make_recipe({o.model, has_image_files(o.data)}, o.recipe, "source"), {}, {}};
  s.config = {.model = o.model, .data = o.data, .epochs = o.epochs, .recipe = s.recipe, .seed = o.seed};
  model_parameters(o.model, {});
  LoadedData loaded =
      load_data(o.data, {.image_size = image_size_for(o.model), .keep_files = changes_each_image(s.recipe)});
  s.config.classes = loaded.classes;
  s.config.class_count = loaded.class_count;
  s.config.input = loaded.input();
  s.data = std::move(loaded.images);
  ImageSet& train = s.data.train;
  require(o.images <= train.count(), "--images ", o.images, ": the number of training images is only ", train.count());
  if (o.images > 0) train = train.head(o.images);
  return s;
}

nn::Sequential fresh_model(const Setting& s) {
  manual_seed(s.o.seed);
  nn::Sequential model = make_model(s.o.model, s.config.shape());
  if (!is_onnx(s.o.model)) initialise(*model, s.recipe);  // it has its own values
  freeze(s.o.model, model, s.recipe.freeze);
  train_unfrozen(*model);
  return model;
}

// Starts the thread pools of all devices here rather than in the middle of a step.
void start_threads(const Contender& c) try {
  for (const Device& device : c.placement.devices) {
    if (!device.is_cpu()) continue;
    const DeviceGuard guard(device);
    device_num_threads();
  }
} catch (const Error& error) {
  refuse("--threads ", c.threads, ": ", error.what());
}

Contender make_contender(const Setting& s, const Candidate& candidate, int threads, int64_t batch, bool weak) {
  const Placement& placement = candidate.placement;
  Contender c{.placement = placement,
              .takes_part = candidate.takes_part,
              .logical = logical_of(placement),
              .threads = threads,
              .recipe = s.recipe,
              .generator = Generator(s.o.seed)};
  c.recipe.batch_size = batch;
  if (!c.takes_part) return c;
  check_parts(placement.team, s.data.train.count(), batch, placement.shards);
  const ContenderGuard guard(c);
  start_threads(c);
  Measured& m = c.measured;
  for (const Device& device : placement.devices) m.devices.push_back(name_of(device));
  m.label = candidate.label;
  m.processes = candidate.processes;
  m.stands_on = describe_devices(placement.devices);
  m.on_cpu = !c.on_gpu();
  m.one_gpu = share_a_gpu(placement.devices);
  m.threads = threads;
  m.weak = weak;
  m.batch = batch;
  c.data = {placed_for(s.recipe, s.data.train, placement.root), placed(s.data.test, placement.root)};
  c.model = fresh_model(s);
  c.stepper = make_stepper(c.model, c.recipe, placement, c.on_gpu() ? Timed::kNo : Timed::kHost);
  if (c.on_gpu() && c.data.train.images.is_cpu()) c.side.emplace(placement.root);
  return c;
}

// The first list, then each other list with the same batch, a larger batch, or both.
std::vector<Contender> make_contenders(const Setting& s, const std::vector<Candidate>& candidates, int threads) {
  const int64_t batch = s.recipe.batch_size;
  const auto first = candidates.front().workers();
  std::vector<Contender> out;
  for (const Candidate& p : candidates) {
    const bool base = out.empty();
    const int64_t larger = std::max<int64_t>(1, batch * p.workers() / first);
    if (base || s.o.scaling != "weak" || larger == batch) out.push_back(make_contender(s, p, threads, batch, false));
    if (!base && s.o.scaling != "strong" && larger != batch) out.push_back(make_contender(s, p, threads, larger, true));
  }
  return out;
}

data::BatchLoaderOptions loading(const Contender& c, const CompareOptions& o, int64_t epoch) {
  return {.batch_size = c.recipe.batch_size,
          .shuffle = true,
          .workers = o.workers,
          .seed = o.seed,
          .epoch = epoch,
          .pin_memory = c.side.has_value(),
          .part = c.placement.team.part(c.placement.shards)};
}

// Updates the mean seconds of the phases with the steps of `t`.
void add_timings(const parallel::ServerTimings& t, Contender& c) {
  if (t.steps == 0) return;
  PhaseSeconds sum{};
  const auto devices = static_cast<double>(t.devices.size());
  for (const parallel::DeviceTimings& d : t.devices) {
    sum[kCopyIn] += d.copy_in / devices;
    sum[kForward] += d.forward / devices;
    sum[kBackward] += d.backward / devices;
    sum[kBroadcast] += d.broadcast / devices;
    sum[kIdle] += d.idle / devices;
  }
  sum[kDataWait] = t.data_wait;
  sum[kReduce] = t.reduce;
  sum[kOptimizer] = t.optimizer;
  double known = 0;
  for (const double seconds : sum) known += seconds;
  sum[kOther] = std::max(0.0, t.total + t.data_wait - known);
  const auto before = static_cast<double>(c.timed_steps);
  c.timed_steps += t.steps;
  for (std::size_t i = 0; i < sum.size(); ++i)
    c.measured.step[i] = (c.measured.step[i] * before + sum[i]) / static_cast<double>(c.timed_steps);
}

// Returns false if a signal ended the epoch, which is then not counted.
bool epoch(Contender& c, const CompareOptions& o, int64_t number, ProgressBar& bar) {
  const ContenderGuard guard(c);
  Stepper& stepper = *c.stepper;
  train_unfrozen(*c.model);
  stepper.start(0, 0);
  stepper.reset_timings();
  const double begun = seconds_now(), cpu_begun = cpu_seconds_now();
  Batches loader(c.data.train, c.recipe, loading(c, o, number), c.side);
  const int64_t steps = steps_in(c.recipe, loader.count());
  int64_t done = 0;
  for (auto batch = loader.next(); !batch.empty(); batch = loader.next(), ++done) {
    stepper.set_lr(learning_rate(c.recipe, number * steps + done / c.recipe.accumulate, o.epochs * steps));
    stepper.step(batch, place_in_group(c.recipe, done, c.data.train.count()));
    if (const int stop = stepper.agree({stop_signal, false}).stop; stop != 0) {
      stop_signal = stop;
      return false;
    }
    if (bar.due())
      bar.draw({.title = concat(c.measured.label, "  epoch ", number + 1, "/", o.epochs),
                .fraction = static_cast<double>(done + 1) / static_cast<double>(loader.count())});
  }
  stepper.settle();
  stepper.loss_sum();  // synchronises with the devices
  const double seconds = std::max(seconds_now() - begun, 1e-9);
  c.measured.seconds.push_back(seconds);
  c.measured.cores.push_back(c.placement.team.sum(cpu_seconds_now() - cpu_begun) / seconds);
  if (const auto* timings = stepper.timings(); timings != nullptr && !c.on_gpu()) add_timings(*timings, c);
  {
    const auto averaged = stepper.with_average();
    c.measured.accuracy = stepper.evaluate(c.data.test).accuracy;
  }
  c.measured.parameters = model_sha256(*c.model);
  if (c.placement.team.leads())
    bar.print(concat(c.measured.label, c.measured.weak ? concat(" (", c.measured.batch, " images per step)") : "",
                     "  epoch ", number + 1, "/", o.epochs, "  ", fixed(seconds, 2), " s  ",
                     with_commas(std::llround(static_cast<double>(c.data.train.count()) / seconds)), " images/s"));
  std::fflush(stdout);
  return true;
}

// GPUs run asynchronously, so their phases are timed separately by waiting after each phase, on a model that
// is discarded.
void time_phases(Contender& c, const Setting& s) {
  const ContenderGuard guard(c);
  const auto stepper = make_stepper(fresh_model(s), c.recipe, c.placement, Timed::kDevices);
  Batches loader(c.data.train, c.recipe, loading(c, s.o, 0), c.side);
  int64_t done = 0;
  for (auto batch = loader.next(); !batch.empty() && stop_signal == 0; batch = loader.next()) {
    stepper->step(batch, place_in_group(c.recipe, done, c.data.train.count()));
    if (++done == kWarmUpSteps) stepper->reset_timings();
    if (done == kWarmUpSteps + kTimedSteps) break;
  }
  add_timings(*stepper->timings(), c);
}

Comparison comparison_of(const Setting& s, const std::vector<Contender>& contenders, int threads) {
  Comparison out{.model = s.o.model,
                 .data = printable(data_label(s.config)),
                 .recipe = describe(s.recipe),
                 .images = s.data.train.count(),
                 .epochs = s.o.epochs,
                 .shards = shards_of(s.o),
                 .seed = s.o.seed,
                 .cores = usable_cores(),
                 .stopped_by = stop_signal};
  bool cpu = false, gpu = false;
  for (const Contender& c : contenders) {
    out.runs.push_back(c.measured);
    (c.on_gpu() ? gpu : cpu) = true;
  }
  out.note = concat(with_commas(out.images), " images, ", out.recipe,
                    out.shards > 0 ? concat(", ", counted(out.shards, "shard", "shards")) : "",
                    cpu ? concat("; each CPU device uses ", counted(threads, "thread", "threads"), " of ",
                                 counted(out.cores, "core", "cores"))
                        : "",
                    gpu ? "; phases of GPU steps measured in a separate pass" : "");
  return out;
}

void announce(const Setting& s, const std::vector<Contender>& contenders, int threads, const std::string& folder) {
  const Comparison c = comparison_of(s, contenders, threads);
  say(concat("model    ", c.model, " on ", c.data));
  for (const Measured& run : c.runs)
    say(concat("devices  ", run.label, ": ", run.stands_on, ", ", counted(run.batch, "image", "images"), " per step"));
  say(concat("measured ", c.note, "; ", counted(c.epochs, "epoch", "epochs"), " per list, alternating"));
  say("folder   " + printable(folder));
  std::fflush(stdout);
}

void write_files(const Comparison& c, const std::string& folder) {
  const std::filesystem::path base(folder);
  write_file_atomically((base / "compare.json").string(), json_text(comparison_json(c), 2) + "\n");
  write_file_atomically((base / "compare.svg").string(), comparison_svg(c));
}

void check_folder(const std::string& wanted) {
  std::error_code error;
  for (const char* file : {"compare.json", "compare.svg"})
    require(!std::filesystem::exists(std::filesystem::symlink_status(std::filesystem::path(wanted) / file, error)),
            "--out ", wanted, ": already contains ", file, "; choose another folder");
}

// Whether a signal has come to some process. Processes wait here while others have their turn.
bool stopped(const Team& team) {
  if (team.sum(static_cast<double>(stop_signal)) != 0 && stop_signal == 0) stop_signal = SIGTERM;
  return stop_signal != 0;
}

// Measures all epochs, or stops at a signal.
void measure(const Setting& s, std::vector<Contender>& contenders, int threads, const std::string& folder,
             const Terminal& terminal, const Team& team) {
  ProgressBar bar(team.leads() ? terminal : Terminal());
  for (Contender& c : contenders) {  // start threads and allocate memory before anything is timed
    if (!c.takes_part) continue;
    const ContenderGuard guard(c);
    c.stepper->evaluate(c.data.test.head(std::min<int64_t>(64, c.data.test.count())));
    if (c.on_gpu()) time_phases(c, s);
  }
  for (int64_t number = 0; number < s.o.epochs; ++number) {
    for (Contender& c : contenders) {
      if (c.takes_part && stop_signal == 0) epoch(c, s.o, number, bar);
      if (stopped(team)) return;
    }
    if (team.leads()) write_files(comparison_of(s, contenders, threads), folder);
  }
}

int present(const Comparison& c, const std::string& folder, const Terminal& terminal) {
  if (c.runs.front().empty()) {
    std::printf("stopped before the end of the first epoch; nothing was measured\n");
    return 128 + stop_signal;
  }
  std::printf("\n%s\n", comparison_table(c, terminal).c_str());
  for (const Measured& run : c.runs)
    if (const std::string text = what_limits(c, run); !text.empty()) print_wrapped(text, 2);
  for (const std::string& text : {same_bits_note(c), sums_note(c), disturbance(c)})
    if (!text.empty()) print_wrapped(text, 2);
  write_files(c, folder);
  std::printf("%sresults are in %s: compare.json, compare.svg\n", stop_signal != 0 ? "stopped early; " : "",
              printable(folder).c_str());
  return stop_signal != 0 ? 128 + stop_signal : 0;
}

int compare(const CompareOptions& o, const Team& team) {
  if (team.several()) install_handlers(/*second_ends=*/false);
  const Terminal terminal = detect_terminal();
  std::vector<Candidate> candidates;
  int threads = 0;
  team.together([&] {
    check_candidates(o);
    if (!o.out.empty()) check_folder(o.out);
    candidates = candidates_of(o, team);
    threads = threads_of(o, candidates);
  });
  std::optional<Setting> setting;
  team.together([&] {
    if (team.leads()) fetch_data(o.data);
  });
  team.together([&] { setting.emplace(load(o)); });
  std::vector<Contender> contenders;
  team.together([&] {
    check_workers(o.workers);
    contenders = make_contenders(*setting, candidates, threads);
  });
  std::string folder;
  team.together([&] {
    if (team.leads()) folder = make_run_folder(o.out, "compare");
  });
  if (!team.several()) install_handlers();
  if (team.leads()) announce(*setting, contenders, threads, folder);
  measure(*setting, contenders, threads, folder, terminal, team);
  if (!team.leads()) return stop_signal != 0 ? 128 + stop_signal : 0;
  return present(comparison_of(*setting, contenders, threads), folder, terminal);
}

// With --processes, as many processes as the largest number run this; those that a turn does not need wait.
int compare_command(const CompareOptions& o) {
  const int most = o.processes.empty() ? 1 : *std::max_element(o.processes.begin(), o.processes.end());
  const Team team = most > 1 && distributed::Environment::read().launcher_has_store ? Team::join() : Team();
  if (most > 1 && team.size() != most) return start_processes("compare", o.line.words, most);
  return team.guarded([&] { return compare(o, team); });
}

}  // namespace

Command add_compare(CLI::App& app) {
  static CompareOptions o;
  CLI::App* c = app.add_subcommand("compare",
                                   "train on several lists of devices alternately; report the speed of each "
                                   "and what limits it; writes compare.json and compare.svg");
  begin_group(c, "Compared");
  add_text(c, "--devices", o.devices, kDeviceType,
           "a list of devices, such as cpu:0,cpu:1; with --processes, at least two in all")
      ->allow_extra_args(false);
  add_numbers(c, "--processes", o.processes, Range<int>{1, 4096},
              "a number of processes, each on one device; may be given several times")
      ->allow_extra_args(false);
  add_known_text(c, "--scaling", o.scaling, "strong|weak|both",
                 "strong: the same batch on every list; weak: the same batch per device; or both");
  add_known(c, "--epochs", o.epochs, {1, kMaxEpochs}, "epochs per list");
  add_number(c, "--shards", o.shards, Range<int64_t>{0, kMaxShards},
             "pieces of each batch; 0: one piece per device. Default: 0, or 8 with --processes");
  add_known(c, "--threads", o.threads, kThreads,
            "threads per CPU device, in every run; 0: the cores divided by the largest number of CPU devices in a "
            "list");
  add_known(c, "--workers", o.workers, {0, 256}, "threads that load batches ahead");
  begin_group(c, "Model and data");
  add_known_text(c, "--model", o.model, kModelType, kTrainable);
  add_known_text(c, "--data", o.data, kDataType, kData);
  add_known(c, "--images", o.images, {0, 1'000'000'000}, "training images to use; 0: all");
  begin_group(c, "Optimisation");
  add_recipe(c, o.recipe,
             "source, unlike train, so that results stay comparable with those of examples/; of published models "
             "images");
  add_augment(c, o.recipe);
  add_known(c, "--seed", o.seed, {0, UINT64_MAX}, "random seed of parameters and batch order");
  begin_group(c, "Output");
  add_text(c, "--out", o.out, kFolderType, "folder for the results; default: runs/compare-N");
  c->footer(
      "Examples:\n"
      "  tandem compare --devices cpu:0 --devices cpu:0,cpu:1\n"
      "  tandem compare --processes 1 --processes 2 --model mlp --epochs 1");
  return [](const CommandLine& line) {
    o.line = line;
    return compare_command(o);
  };
}

}  // namespace tandem::cli
