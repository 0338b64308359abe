// The state of a run other than tensors is stored as JSON in the checkpoint's metadata.
#include "tandem/cli/train/run_folder.h"

#include <charconv>
#include <filesystem>
#include <initializer_list>

#include "tandem/cli/data/find_data.h"
#include "tandem/cli/data/sha256.h"
#include "tandem/cli/draw/curve_svg.h"
#include "tandem/cli/draw/terminal.h"
#include "tandem/cli/json.h"
#include "tandem/cli/message.h"
#include "tandem/cli/onnx/onnx_files.h"
#include "tandem/cli/options.h"
#include "tandem/cli/train/early_stopping.h"
#include "tandem/cli/train/run_lock.h"
#include "tandem/cli/train/sharded_run.h"
#include "tandem/core/base/atomic_file.h"
#include "tandem/core/base/atomic_folder.h"
#include "tandem/nn/optim/optim.h"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;
// The format number changes whenever the entries change.
constexpr const char* kFormatName = "tandem-run-";
constexpr int64_t kFormat = 5;

// The only list of the entries that each position has: calls f(name, value) for each.
template <class P, class F>
void each_entry(P& p, F&& f) {
  f("epoch", p.epoch);
  f("batch", p.batch);
  f("images", p.images);
  f("loss_sum", p.loss_sum);
  f("correct", p.correct);
  f("seconds", p.seconds);
  f("random_seed", p.random_seed);
  f("random_offset", p.random_offset);
  f("loss_scale", p.loss_scale);
  f("loss_scale_steps", p.loss_scale_steps);
  f("history", p.history);
}

Json to_json(const Progress& p) {
  Json json;
  each_entry(p, [&](const char* name, const auto& value) { json[name] = value; });
  if (!p.points.examples.empty()) json["points"] = to_json(p.points);
  if (!p.step_hashes.empty()) json["step_hashes"] = p.step_hashes;
  return json;
}

bool is_hexadecimal(const std::string& text) { return text.find_first_not_of("0123456789abcdef") == std::string::npos; }

Progress progress_from_json(const Json& json) {
  Progress p;
  each_entry(p, [&]<class T>(const char* name, T& value) { value = get_entry<T>(json, name); });
  if (json.contains("points")) p.points = epoch_points_from_json(json["points"]);
  if (json.contains("step_hashes")) p.step_hashes = get_entry<std::string>(json, "step_hashes");
  check(is_hexadecimal(p.step_hashes) && p.step_hashes.size() % kStepDigits == 0, "invalid \"step_hashes\"");
  check(p.epoch >= 0 && p.batch >= 0 && p.images >= 0, "negative progress");
  check(p.correct >= 0 && p.seconds >= 0, "negative progress");
  const std::vector<int64_t>& points = p.points.examples;
  check(points.empty() || (points.back() <= p.images && static_cast<int64_t>(points.size()) <= p.batch),
        "invalid \"points\"");
  check(p.loss_scale > 0 && p.loss_scale <= 0x1p127 && p.loss_scale_steps >= 0 &&
            p.loss_scale_steps < amp::GradScalerOptions().growth_interval,
        "invalid \"loss_scale\"");
  check(p.epoch <= kMaxEpochs, "invalid \"epoch\" ", p.epoch);
  for (const Json& line : p.history) {
    check(line.is_object(), "an entry of \"history\" is not an object");
    for (const char* figure : {"train_loss", "train_accuracy", "test_loss", "test_accuracy"})
      get_entry<double>(line, figure);
  }
  return p;
}

void check_format(const std::string& tag) {
  const std::string name = kFormatName;
  int64_t number = 0;
  const char* end = tag.data() + tag.size();
  const bool known = tag.starts_with(name) && std::from_chars(tag.data() + name.size(), end, number).ptr == end;
  check(known && number > 0, "unknown format ", tag);
  check(number == kFormat, "written by ", number < kFormat ? "an older" : "a newer", " version of tandem (format ",
        number, ", this one reads ", kFormat, "); ",
        number < kFormat ? "continue with that version, or start a new run" : "update tandem");
}

// The path as shown in errors, shortened if it is very long.
std::string shown(const std::string& path) {
  return path.size() <= 120 ? path : path.substr(0, 60) + "..." + path.substr(path.size() - 30);
}

}  // namespace

Json to_json(const RunConfig& c) {
  Json json{{"model", c.model},     {"data", c.data},       {"data_folder", c.data_folder},
            {"input", c.input},     {"classes", c.classes}, {"class_count", c.class_count},
            {"epochs", c.epochs},   {"seed", c.seed},       {"data_sum", c.data_sum},
            {"devices", c.devices}, {"root", c.root},       {"shards", c.shards}};
  write_recipe(json, c.recipe);
  if (c.fully_sharded) json["fully_sharded"] = true;
  if (c.text) json["text"] = to_json(*c.text);
  if (c.skip_broken) json["skip_broken"] = true;
  if (c.validation > 0) json["validation"] = c.validation;
  if (c.validation_folder) json["validation_folder"] = true;
  if (c.hash_steps > 0) json["hash_steps"] = c.hash_steps;
  if (!c.reproducible.empty()) json["reproducible"] = c.reproducible;
  if (!c.start_sha256.empty()) json["start_sha256"] = c.start_sha256;
  if (!c.onnx_sha256.empty()) json["onnx_sha256"] = c.onnx_sha256;
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
              .seed = get_entry<uint64_t>(json, "seed"),
              .data_sum = get_entry<std::string>(json, "data_sum"),
              .devices = get_entry<std::vector<std::string>>(json, "devices"),
              .root = get_entry<std::string>(json, "root"),
              .shards = get_entry<int64_t>(json, "shards")};
  for (const auto& [key, set] :
       {std::pair("skip_broken", &c.skip_broken), std::pair("validation_folder", &c.validation_folder),
        std::pair("fully_sharded", &c.fully_sharded)}) {
    *set = json.contains(key);
    check(!*set || json[key] == true, "invalid \"", key, "\"");
  }
  if (json.contains("validation")) {
    c.validation = get_entry<double>(json, "validation");
    check(c.validation > 0 && c.validation <= kMaxValidation && !c.validation_folder, "invalid \"validation\" ",
          c.validation);
  }
  if (json.contains("hash_steps")) {
    c.hash_steps = get_entry<int64_t>(json, "hash_steps");
    check(c.hash_steps >= 1, "invalid \"hash_steps\" ", c.hash_steps);
  }
  if (json.contains("reproducible")) {
    c.reproducible = get_entry<std::string>(json, "reproducible");
    check(c.reproducible == "on" || c.reproducible == "strict", "invalid \"reproducible\"");
  }
  for (const auto& [key, sum] :
       {std::pair("start_sha256", &c.start_sha256), std::pair("onnx_sha256", &c.onnx_sha256)}) {
    if (!json.contains(key)) continue;
    *sum = get_entry<std::string>(json, key);
    check(sum->size() == 64 && is_hexadecimal(*sum), "invalid \"", key, "\"");
  }
  check(is_onnx(c.model) == !c.onnx_sha256.empty(), "invalid \"onnx_sha256\"");
  check(!c.devices.empty() && c.devices.size() <= 128, "invalid \"devices\"");
  check(c.shards >= 0 && c.shards <= kMaxShards, "invalid \"shards\" ", c.shards);
  if (json.contains("text")) {
    c.text = text_config_from_json(json["text"]);
    check(is_text_model(c.model), "model ", c.model, " is not for texts");
  }
  check(!c.text || !c.validates(), "invalid \"validation\" of a text");  // which has its own entry
  check(c.input.size() == (c.text ? 0 : 3), "\"input\" must be channels, height, width");
  for (int64_t size : c.input) check(size >= 1 && size <= 65536, "invalid \"input\" size ", size);
  check(c.class_count >= 1 && (c.text || c.class_count <= 1 << 20), "invalid \"class_count\" ", c.class_count);
  check(c.epochs >= 0 && c.epochs <= kMaxEpochs, "invalid \"epochs\" ", c.epochs);
  return c;
}

std::string place_of(const Progress& p) {
  return counted(p.epoch, "epoch", "epochs") + " and " + counted(p.batch, "batch", "batches");
}

std::string data_label(const RunConfig& c) {
  const fs::path path(c.data);
  return is_data_name(c.data) ? c.data : (c.text ? path.stem() : path.filename()).string();
}

std::string checkpoint_path(const std::string& folder) {
  return (fs::path(folder) / "checkpoint.safetensors").string();
}

namespace {

void write_position(serialize::OutputArchive& all, const RunConfig& config, const Progress& progress) {
  all.write("format", concat(kFormatName, kFormat));
  all.write("config", json_text(to_json(config)));
  all.write("progress", json_text(to_json(progress)));
}

}  // namespace

void save_position(const std::string& folder, const RunConfig& config, const Progress& progress) {
  serialize::OutputArchive all;
  write_position(all, config, progress);
  all.save_to(checkpoint_path(folder));
}

void save_checkpoint(const std::string& folder, const RunConfig& config, const Progress& progress,
                     const nn::Sequential& model, const optim::Optimizer& optimizer, const Kept& kept) {
  serialize::OutputArchive all, parameters, state;
  model->save(parameters);
  optimizer.save(state);
  write_position(all, config, progress);
  all.write("model", parameters);
  all.write("optimizer", state);
  if (kept.average != nullptr) {
    serialize::OutputArchive average;
    kept.average->save(average);
    all.write("average", average);
  }
  if (kept.best != nullptr)
    for (const auto& item : *kept.best) all.write("best." + item.key(), item.value());
  all.save_to(checkpoint_path(folder));
}

void check_checkpoint(const std::string& folder) {
  const std::string path = checkpoint_path(folder);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (error && status.type() != fs::file_type::not_found) fail(shown(folder), ": ", error.message());
  check(fs::exists(status), shown(folder), " does not contain a run: ", shown(path), " is missing");
  check(fs::is_regular_file(status), shown(path), ": not a regular file");
}

Checkpoint load_checkpoint(const std::string& folder) {
  check_checkpoint(folder);
  const std::string path = checkpoint_path(folder);
  serialize::InputArchive all;
  all.load_from(path);
  try {
    const auto entry = [&all](const char* key) {
      check(all.contains(key), "missing entry \"", key, "\": not the checkpoint of a run");
      std::string text;
      all.read(key, text);
      return text;
    };
    check_format(entry("format"));
    Checkpoint out{config_from_json(parse_json(entry("config"))),
                   progress_from_json(parse_json(entry("progress"))),
                   {},
                   {},
                   {},
                   {}};
    for (const Json& line : out.progress.history) get_entry<double>(line, deciding_figure(out.config));
    if (out.config.fully_sharded) {
      out.tensors = readable_folder(tensor_folder(folder, out.progress));
      check(fs::is_directory(out.tensors), "its tensors in ", out.tensors, " are missing");
      return out;
    }
    all.read("model", out.model);
    all.read("optimizer", out.optimizer);
    all.read("average", out.average);
    all.read("best", out.best);
    return out;
  } catch (const std::exception& error) {
    fail(path, ": ", error.what());
  }
}

serialize::InputArchive& Checkpoint::result() {
  if (!best.keys().empty()) return best;
  return average.keys().empty() ? model : average;
}

std::string sha256_of_onnx(const std::string& path) {
  constexpr int64_t kMaxBytes = int64_t{1} << 31;  // protobuf's limit
  return sha256_of_content(path, kMaxBytes);
}

void find_onnx_file(const std::string& folder, RunConfig& c) {
  if (c.onnx_sha256.empty()) return;
  c.onnx_file = (fs::path(folder) / kOnnxFile).string();
  check(sha256_of_onnx(c.onnx_file) == c.onnx_sha256, shown(c.onnx_file),
        ": is not the network that the run was started with");
}

void check_run_folder(const std::string& wanted) {
  const fs::path base(wanted);
  std::error_code error;
  require(!fs::exists(fs::status(checkpoint_path(wanted), error)), "--out ", wanted,
          ": already contains a run; continue it with --resume ", quoted_for_shell(wanted),
          ", or choose another folder");
  const auto check_absent = [&](std::initializer_list<const char*> files) {
    for (const char* file : files)
      require(!fs::exists(fs::symlink_status(base / file, error)), "--out ", wanted, ": contains ", file,
              " but no run to continue with --resume; choose another folder");
  };
  check_absent(
      {"config.json", "metrics.jsonl", "curve.svg", "model.safetensors", "model.safetensors.index.json", "epochs"});
  // These are written before the checkpoint: beside a lock, they are of a run that was killed while it began.
  if (!fs::exists(fs::symlink_status(base / kLockFile, error)))
    check_absent({"tokenizer.json", "vocab.json", "merges.txt", kOnnxFile});
  const fs::file_status status = fs::status(base, error);
  require(!error || status.type() == fs::file_type::not_found, "--out ", shown(wanted), ": ", error.message());
  require(!fs::exists(status) || fs::is_directory(status), "--out ", wanted, ": is not a folder");
}

std::string make_run_folder(const std::string& wanted, const std::string& name) {
  std::error_code error;
  if (!wanted.empty()) {
    fs::create_directories(wanted, error);
    require(!error, "--out ", shown(wanted), ": ", error.message());
    return wanted;
  }
  fs::create_directories("runs", error);
  for (int number = 1;; ++number) {  // processes that start simultaneously get different folders
    const std::string folder = concat("runs/", name, "-", number);
    const bool made = !error && fs::create_directory(folder, error);
    require(!error, shown(folder), ": ", error.message(), "; name a folder with --out");
    if (made) return folder;
  }
}

std::string epoch_folder(const std::string& folder, int64_t epoch) {
  return (fs::path(folder) / "epochs" / std::to_string(epoch)).string();
}

void make_epoch_folder(const std::string& folder, int64_t epoch) {
  const fs::path own = epoch_folder(folder, epoch);
  for (const fs::path& path : {own.parent_path(), own}) {
    std::error_code error;
    fs::create_directory(path, error);
    check(!error, shown(path.string()), ": ", error.message());
  }
}

std::string config_text(const RunConfig& config) {
  Json described = to_json(config);
  if (config.text) add_transformers_entries(described, *config.text);
  return json_text(described, 2) + "\n";
}

void write_run_files(const std::string& folder, const RunConfig& config, const Progress& progress) {
  const fs::path base(folder);
  write_file_atomically((base / "config.json").string(), config_text(config));
  std::string lines;
  Curves curves{.title = config.model + " on " + data_label(config),
                .note = concat(describe(config.recipe), ", seed ", config.seed,
                               stopped_early(config, progress) ? ", stopped early" : ""),
                .of_text = config.text.has_value(),
                .kept = config.recipe.keep == "best" ? result_epoch(config, progress.history) : 0};
  for (const Json& line : progress.history) {
    lines += json_text(line) + "\n";
    curves.train_loss.push_back(get_entry<double>(line, "train_loss"));
    curves.train_accuracy.push_back(get_entry<double>(line, "train_accuracy"));
    curves.test_loss.push_back(get_entry<double>(line, "test_loss"));
    curves.test_accuracy.push_back(get_entry<double>(line, "test_accuracy"));
  }
  write_file_atomically((base / "metrics.jsonl").string(), lines);
  write_curve_svg((base / "curve.svg").string(), curves);
}

}  // namespace tandem::cli
