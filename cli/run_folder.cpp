// Everything of a run that is not a tensor travels as JSON, in the metadata of the checkpoint.
#include "tandem/cli/run_folder.h"

#include <unistd.h>

#include <filesystem>

#include "tandem/cli/curve_svg.h"
#include "tandem/cli/json.h"
#include "tandem/cli/options.h"
#include "tandem/core/atomic_file.h"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;
constexpr const char* kFormat = "tandem-run-1";

Json to_json(const Progress& p) {
  return {{"epoch", p.epoch},
          {"batch", p.batch},
          {"images", p.images},
          {"loss_sum", p.loss_sum},
          {"correct", p.correct},
          {"seconds", p.seconds},
          {"random_seed", p.random_seed},
          {"random_offset", p.random_offset},
          {"history", p.history}};
}

Progress progress_from_json(const Json& json) {
  Progress p{.epoch = get_entry<int64_t>(json, "epoch"),
             .batch = get_entry<int64_t>(json, "batch"),
             .images = get_entry<int64_t>(json, "images"),
             .loss_sum = get_entry<double>(json, "loss_sum"),
             .correct = get_entry<int64_t>(json, "correct"),
             .seconds = get_entry<double>(json, "seconds"),
             .random_seed = get_entry<uint64_t>(json, "random_seed"),
             .random_offset = get_entry<uint64_t>(json, "random_offset"),
             .history = get_entry<std::vector<Json>>(json, "history")};
  check(p.epoch >= 0 && p.batch >= 0 && p.images >= 0, "negative progress");
  return p;
}

}  // namespace

Json to_json(const RunConfig& c) {
  Json json{{"model", c.model},   {"data", c.data},       {"data_folder", c.data_folder},
            {"input", c.input},   {"classes", c.classes}, {"class_count", c.class_count},
            {"epochs", c.epochs}, {"seed", c.seed}};
  write_recipe(json, c.recipe);
  return json;
}

RunConfig config_from_json(const Json& json) {
  RunConfig c{.model = get_entry<std::string>(json, "model"),
              .data = get_entry<std::string>(json, "data"),
              .data_folder = get_entry<std::string>(json, "data_folder"),
              .input = get_entry<std::vector<int64_t>>(json, "input"),
              .classes = get_entry<std::vector<std::string>>(json, "classes"),
              .class_count = get_entry<int64_t>(json, "class_count"),
              .epochs = get_entry<int64_t>(json, "epochs"),
              .recipe = recipe_from_json(json),
              .seed = get_entry<uint64_t>(json, "seed")};
  check(c.input.size() == 3, "\"input\" must be channels, height, width");
  for (int64_t size : c.input) check(size >= 1 && size <= 65536, "impossible \"input\" size ", size);
  check(c.class_count >= 1 && c.class_count <= 1 << 20, "impossible \"class_count\" ", c.class_count);
  check(c.epochs >= 0, "impossible \"epochs\" ", c.epochs);
  return c;
}

std::string checkpoint_path(const std::string& folder) {
  return (fs::path(folder) / "checkpoint.safetensors").string();
}

void save_checkpoint(const std::string& folder, const RunConfig& config, const Progress& progress,
                     const nn::Sequential& model, const optim::Optimizer& optimizer) {
  serialize::OutputArchive all, parameters, state;
  model->save(parameters);
  optimizer.save(state);
  all.write("format", kFormat);
  all.write("config", to_json(config).dump());
  all.write("progress", to_json(progress).dump());
  all.write("model", parameters);
  all.write("optimizer", state);
  all.save_to(checkpoint_path(folder));
}

Checkpoint load_checkpoint(const std::string& folder) {
  const std::string path = checkpoint_path(folder);
  check(fs::exists(path), folder, " holds no run: ", path, " is missing");
  serialize::InputArchive all;
  all.load_from(path);
  try {
    const auto entry = [&all](const char* key) {
      check(all.contains(key), "no entry \"", key, "\": not the checkpoint of a run");
      std::string text;
      all.read(key, text);
      return text;
    };
    check(entry("format") == kFormat, "unknown format ", entry("format"));
    Checkpoint out{config_from_json(Json::parse(entry("config"))),
                   progress_from_json(Json::parse(entry("progress"))),
                   {},
                   {}};
    all.read("model", out.model);
    all.read("optimizer", out.optimizer);
    return out;
  } catch (const std::exception& error) {
    fail(path, ": ", error.what());
  }
}

std::string make_run_folder(const std::string& wanted, const std::string& name) {
  std::string folder = wanted;
  for (int number = 1; wanted.empty(); ++number) {
    folder = concat("runs/", name, "-", number);
    if (!fs::exists(folder)) break;
  }
  if (fs::exists(checkpoint_path(folder)))
    throw UsageError(concat("--out ", folder, ": holds a run already; go on with it by --resume ", folder,
                            ", or choose another folder"));
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw UsageError(concat("--out ", folder, ": ", error.message()));
  if (!fs::is_directory(folder)) throw UsageError(concat("--out ", folder, ": is not a folder"));
  try {
    write_file_atomically((fs::path(folder) / "config.json").string(), "{}\n");
  } catch (const Error& failed) {
    throw UsageError(concat("--out ", failed.what()));
  }
  return folder;
}

void write_run_files(const std::string& folder, const RunConfig& config, const Progress& progress) {
  const fs::path base(folder);
  write_file_atomically((base / "config.json").string(), to_json(config).dump(2) + "\n");
  std::string lines;
  Curves curves{.title = config.model + " on " + config.data,
                .note = concat(describe(config.recipe), ", seed ", config.seed)};
  for (const Json& line : progress.history) {
    lines += line.dump() + "\n";
    curves.train_loss.push_back(get_entry<double>(line, "train_loss"));
    curves.train_accuracy.push_back(get_entry<double>(line, "train_accuracy"));
    curves.test_loss.push_back(get_entry<double>(line, "test_loss"));
    curves.test_accuracy.push_back(get_entry<double>(line, "test_accuracy"));
  }
  write_file_atomically((base / "metrics.jsonl").string(), lines);
  write_curve_svg((base / "curve.svg").string(), curves);
}

}  // namespace tandem::cli
