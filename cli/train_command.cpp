// tandem train: what is asked for is checked, said, and done.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "tandem/cli/find_data.h"
#include "tandem/cli/json.h"
#include "tandem/cli/options.h"
#include "tandem/cli/plot.h"
#include "tandem/cli/trainer.h"
#include "tandem/core/backend.h"
#include "tandem/core/parallel_for.h"

namespace tandem::cli {
namespace {

void on_signal(int signal) {
  if (stop_signal != 0) _exit(128 + signal);  // asked twice: the last checkpoint stands
  stop_signal = signal;
}

void require(bool good, const std::string& text) {
  if (!good) throw UsageError(text);
}

void check_options(const TrainOptions& o) {
  require(o.epochs >= 1, concat("--epochs ", o.epochs, ": expected at least 1"));
  require(o.workers >= 0 && o.workers <= 256, concat("--workers ", o.workers, ": expected 0 to 256"));
  require(o.save_every > 0, concat("--save-every ", o.save_every, ": expected a positive number of seconds"));
  require(o.out.empty() || o.resume.empty(), "--out and --resume: a resumed run stays in its folder");
  require(o.devices.size() <= 1, "--devices: training on several devices at once is not there yet; name one");
}

// A resumed run keeps what decides its result; more epochs, other threads, workers and devices are fine.
void check_resume(const TrainOptions& o, const RunConfig& c) {
  const auto same = [](bool equal, const char* name) {
    require(equal,
            concat("--", name, ": the run that is resumed was started with another value; leave it out"));
  };
  for (const std::string& name : o.given) {
    if (name == "model") same(o.model == c.model, "model");
    if (name == "data") same(o.data == c.data, "data");
    if (name == "seed") same(o.seed == c.seed, "seed");
    require(name != "recipe", "--recipe: a resumed run keeps its own; leave it out");
  }
  check_same(o.recipe, c.recipe);
}

bool was_given(const TrainOptions& o, const char* name) {
  return std::find(o.given.begin(), o.given.end(), name) != o.given.end();
}

Checkpoint resumed(const TrainOptions& o) {
  Checkpoint checkpoint;
  try {
    checkpoint = load_checkpoint(o.resume);
  } catch (const Error& error) {
    throw UsageError(concat("--resume ", error.what()));
  }
  check_resume(o, checkpoint.config);
  if (was_given(o, "epochs")) {
    require(o.epochs >= checkpoint.progress.epoch,
            concat("--epochs ", o.epochs, ": the run has done ", checkpoint.progress.epoch, " already"));
    require(
        o.epochs > checkpoint.progress.epoch || checkpoint.progress.batch == 0,
        concat("--epochs ", o.epochs, ": the run is in the midst of epoch ", checkpoint.progress.epoch + 1));
    checkpoint.config.epochs = o.epochs;
  }
  return checkpoint;
}

Checkpoint fresh(const TrainOptions& o) {
  Checkpoint checkpoint;
  checkpoint.config = {
      .model = o.model, .data = o.data, .epochs = o.epochs, .recipe = make_recipe(o.recipe), .seed = o.seed};
  manual_seed(o.seed);
  return checkpoint;
}

data::ImageDataPair read_data(RunConfig& c, const Terminal& terminal) {
  const data::DatasetFiles files = find_data(c.data, terminal);
  data::ImageDataPair data = read_image_data(files);
  const std::vector<int64_t> input{1, data.train.images.size(1), data.train.images.size(2)};
  check(c.input.empty() || c.input == input, c.data, ": pictures of ", input, ", the run was started with ",
        c.input);
  c.input = input;
  c.data_folder = files.folder;
  c.classes = files.classes;
  c.class_count = std::max<int64_t>(data.train.classes, static_cast<int64_t>(files.classes.size()));
  return data;
}

void announce(const TrainOptions& o, const data::ImageDataPair& data, Trainer& trainer,
              const std::string& folder, Device device) {
  const RunConfig& c = trainer.config();
  int64_t parameters = 0;
  for (const Tensor& p : trainer.model()->parameters()) parameters += p.numel();
  const DeviceInfo info = backend(device).runtime.device_info(device.index());
  std::printf("model    %s, %s parameters\n", c.model.c_str(), with_commas(parameters).c_str());
  std::printf("data     %s: %s training and %s test images of %lld x %lld, %lld classes (%s)\n",
              c.data.c_str(), with_commas(data.train.images.size(0)).c_str(),
              with_commas(data.test.images.size(0)).c_str(), static_cast<long long>(c.input[1]),
              static_cast<long long>(c.input[2]), static_cast<long long>(c.class_count),
              c.data_folder.c_str());
  std::printf("device   %s, %s, %d threads, %d workers\n", device.str().c_str(), info.name.c_str(),
              info.threads, o.workers);
  std::printf("training %lld epochs, %s, seed %llu\n", static_cast<long long>(c.epochs),
              describe(c.recipe).c_str(), static_cast<unsigned long long>(c.seed));
  std::printf("folder   %s%s\n", folder.c_str(), o.resume.empty() ? "" : ", resumed");
  if (!o.resume.empty())
    std::printf("resumed  after %lld epochs and %lld batches\n",
                static_cast<long long>(trainer.progress().epoch),
                static_cast<long long>(trainer.progress().batch));
  std::fflush(stdout);
}

void finish(const std::string& folder, Trainer& trainer, const Terminal& terminal) {
  serialize::save_safetensors((std::filesystem::path(folder) / "model.safetensors").string(),
                              trainer.model()->state_dict());
  LinePlot plot{.title = "test accuracy"};
  for (const Json& line : trainer.progress().history)
    plot.values.push_back(get_entry<double>(line, "test_accuracy"));
  std::printf("\n%s\n", line_plot(plot, terminal).c_str());
  std::printf("test accuracy %.4f after %lld epoch%s; everything is in %s\n",
              plot.values.empty() ? 0.0 : plot.values.back(),
              static_cast<long long>(trainer.progress().epoch), trainer.progress().epoch == 1 ? "" : "s",
              folder.c_str());
}

}  // namespace

int train_command(const TrainOptions& o) {
  check_options(o);
  use_threads(o.threads);
  const Device device = use_device(o.devices.empty() ? "" : o.devices.front());
  const DeviceGuard guard(device);
  const Terminal terminal = detect_terminal();
  Checkpoint checkpoint = o.resume.empty() ? fresh(o) : resumed(o);
  if (o.resume.empty()) make_model(o.model, {});  // a wrong name is said before anything is loaded
  data::ImageDataPair data = read_data(checkpoint.config, terminal);
  manual_seed(checkpoint.config.seed);
  const std::string folder =
      o.resume.empty()
          ? make_run_folder(o.out, o.model + "-" + std::filesystem::path(o.data).filename().string())
          : o.resume;
  data.train = {data.train.images.to(device), data.train.labels.to(device), data.train.classes};
  data.test = {data.test.images.to(device), data.test.labels.to(device), data.test.classes};

  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  Trainer trainer({folder, device, o.workers, o.save_every}, std::move(checkpoint), data, terminal);
  announce(o, data, trainer, folder, device);
  write_run_files(folder, trainer.config(), trainer.progress());
  if (!trainer.run()) {
    const Progress& p = trainer.progress();
    std::printf("\nstopped after %lld epochs and %lld batches; go on with: tandem train --resume %s\n",
                static_cast<long long>(p.epoch), static_cast<long long>(p.batch), folder.c_str());
    return 128 + stop_signal;
  }
  finish(folder, trainer, terminal);
  return 0;
}

}  // namespace tandem::cli
