// A run's state: its checkpoint, its best epoch, points within an epoch, the chain of hashes, folders and the lock.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <limits>

#include "tandem/cli/json.h"
#include "tandem/cli/options.h"
#include "tandem/cli/train/early_stopping.h"
#include "tandem/cli/train/hash_chain.h"
#include "tandem/cli/train/run_folder.h"
#include "tandem/cli/train/run_lock.h"
#include "tandem/cli/train/sharded_memory.h"
#include "tandem/cli/train/sharded_run.h"
#include "tandem/tandem.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::cli;
using tandem::test::error_of;
using tandem::test::TempFolder;

namespace {

RunConfig config_of_run() {
  return {.model = "linear",
          .data = "/somewhere/digits",
          .data_folder = "/somewhere/digits",
          .input = {1, 28, 28},
          .classes = {"a", "b"},
          .class_count = 2,
          .epochs = 9,
          .recipe = {},
          .seed = 3,
          .data_sum = "sum",
          .devices = {"cpu:0"},
          .root = "cpu:0"};
}

Json line_of(double accuracy, double loss = 1, double validation = 0) {
  return {{"train_loss", 1.0},         {"train_accuracy", 0.5},  {"test_loss", loss},
          {"test_accuracy", accuracy}, {"validation_loss", 1.0}, {"validation_accuracy", validation}};
}

std::vector<Json> history_of(const std::vector<double>& accuracies) {
  std::vector<Json> out;
  for (const double accuracy : accuracies) out.push_back(line_of(accuracy));
  return out;
}

const std::string kHash = std::string(60, '0') + "9abf";

}  // namespace

TEST_CASE("a checkpoint's configuration and position are read as they were written") {
  const TempFolder folder;
  RunConfig config = config_of_run();
  config.shards = 8;
  config.skip_broken = true;
  config.hash_steps = 5;
  config.validation = 0.25;
  config.start_sha256 = kHash;
  config.reproducible = "strict";
  Progress progress{.epoch = 2,
                    .batch = 3,
                    .images = 30,
                    .loss_sum = 1.5,
                    .correct = 4,
                    .seconds = 0.5,
                    .random_seed = 7,
                    .random_offset = 8,
                    .loss_scale = 1024,
                    .loss_scale_steps = 6,
                    .points = {{10, 20}, {0.5, 1.0}},
                    .step_hashes = std::string(2 * kStepDigits, 'a'),
                    .history = {line_of(0.25, 1, 0.5)}};
  save_position(folder.path(), config, progress);
  const Checkpoint read = load_checkpoint(folder.path());
  CHECK(json_text(to_json(read.config)) == json_text(to_json(config)));
  CHECK(read.progress.epoch == 2);
  CHECK(read.progress.batch == 3);
  CHECK(read.progress.images == 30);
  CHECK(read.progress.loss_sum == 1.5);
  CHECK(read.progress.correct == 4);
  CHECK(read.progress.seconds == 0.5);
  CHECK(read.progress.random_seed == 7);
  CHECK(read.progress.random_offset == 8);
  CHECK(read.progress.loss_scale == 1024);
  CHECK(read.progress.loss_scale_steps == 6);
  CHECK(read.progress.points.examples == std::vector<int64_t>{10, 20});
  CHECK(read.progress.points.loss_sum == std::vector<double>{0.5, 1.0});
  CHECK(read.progress.step_hashes == progress.step_hashes);
  CHECK(read.progress.history == progress.history);
  CHECK(read.is_new());
  CHECK(place_of(progress) == "2 epochs and 3 batches");
  progress.epoch = progress.batch = 1;
  CHECK(place_of(progress) == "1 epoch and 1 batch");
}

TEST_CASE("a checkpoint with another configuration than a run can have is refused") {
  const TempFolder folder;
  const auto refusal = [&](const std::function<void(RunConfig&)>& change) {
    RunConfig config = config_of_run();
    change(config);
    save_position(folder.path(), config, Progress());
    const std::string error = error_of([&] { load_checkpoint(folder.path()); });
    const std::string start = checkpoint_path(folder.path()) + ": ";
    return error.starts_with(start) ? error.substr(start.size()) : error;
  };
  const std::string accepted;
  CHECK(refusal([](RunConfig& c) { c.validation = 0.9; }) == accepted);
  CHECK(refusal([](RunConfig& c) { c.validation = 0.91; }) == "invalid \"validation\" 0.91");
  CHECK(refusal([](RunConfig& c) {
          c.validation = 0.5;
          c.validation_folder = true;
        }) == "invalid \"validation\" 0.5");
  CHECK(refusal([](RunConfig& c) { c.validation_folder = true; }) == accepted);
  for (const char* value : {"on", "strict"}) CHECK(refusal([&](RunConfig& c) { c.reproducible = value; }) == accepted);
  CHECK(refusal([](RunConfig& c) { c.reproducible = "off"; }) == "invalid \"reproducible\"");
  for (const std::string& sum :
       {std::string("0"), kHash + "0", std::string(63, '0') + "g", std::string(63, '0') + "A"}) {
    CHECK(refusal([&](RunConfig& c) { c.start_sha256 = sum; }) == "invalid \"start_sha256\"");
    CHECK(refusal([&](RunConfig& c) {
            c.model = "net.onnx";
            c.onnx_sha256 = sum;
          }) == "invalid \"onnx_sha256\"");
  }
  CHECK(refusal([](RunConfig& c) { c.onnx_sha256 = kHash; }) == "invalid \"onnx_sha256\"");
  CHECK(refusal([](RunConfig& c) { c.model = "net.onnx"; }) == "invalid \"onnx_sha256\"");
  CHECK(refusal([](RunConfig& c) {
          c.model = "net.onnx";
          c.onnx_sha256 = kHash;
        }) == accepted);
  CHECK(refusal([](RunConfig& c) { c.devices.clear(); }) == "invalid \"devices\"");
  CHECK(refusal([](RunConfig& c) { c.devices.assign(128, "cpu:0"); }) == accepted);
  CHECK(refusal([](RunConfig& c) { c.devices.assign(129, "cpu:0"); }) == "invalid \"devices\"");
  CHECK(refusal([](RunConfig& c) { c.shards = kMaxShards; }) == accepted);
  CHECK(refusal([](RunConfig& c) { c.shards = kMaxShards + 1; }) == "invalid \"shards\" 4097");
  CHECK(refusal([](RunConfig& c) { c.shards = -1; }) == "invalid \"shards\" -1");
  CHECK(refusal([](RunConfig& c) { c.input = {28, 28}; }) == "\"input\" must be channels, height, width");
  CHECK(refusal([](RunConfig& c) { c.input = {}; }) == "\"input\" must be channels, height, width");
  for (std::size_t at = 0; at < 3; ++at) {
    CHECK(refusal([&](RunConfig& c) { c.input[at] = 65536; }) == accepted);
    CHECK(refusal([&](RunConfig& c) { c.input[at] = 65537; }) == "invalid \"input\" size 65537");
    CHECK(refusal([&](RunConfig& c) { c.input[at] = 0; }) == "invalid \"input\" size 0");
  }
  CHECK(refusal([](RunConfig& c) { c.class_count = 1 << 20; }) == accepted);
  CHECK(refusal([](RunConfig& c) { c.class_count = (1 << 20) + 1; }) == "invalid \"class_count\" 1048577");
  CHECK(refusal([](RunConfig& c) { c.class_count = 0; }) == "invalid \"class_count\" 0");
  CHECK(refusal([](RunConfig& c) { c.epochs = 0; }) == accepted);
  CHECK(refusal([](RunConfig& c) { c.epochs = kMaxEpochs; }) == accepted);
  CHECK(refusal([](RunConfig& c) { c.epochs = kMaxEpochs + 1; }) == "invalid \"epochs\" 1000000001");
  CHECK(refusal([](RunConfig& c) { c.epochs = -1; }) == "invalid \"epochs\" -1");
  CHECK(refusal([](RunConfig& c) { c.fully_sharded = true; }).find("its tensors in ") == 0);
  TextConfig text;
  text.model.vocab_size(2).n_positions(128).n_embd(8).n_layer(1).n_head(2);
  const auto of_text = [&](RunConfig& c) {
    c.model = "gpt2";
    c.input = {};
    c.text = text;
  };
  CHECK(refusal(of_text) == accepted);
  CHECK(refusal([&](RunConfig& c) {
          of_text(c);
          c.model = "linear";
        }) == "model linear is not for texts");
  CHECK(refusal([&](RunConfig& c) {
          of_text(c);
          c.validation = 0.5;
        }) == "invalid \"validation\" of a text");
  CHECK(refusal([&](RunConfig& c) {
          of_text(c);
          c.input = {1, 28, 28};
        }) == "\"input\" must be channels, height, width");
  CHECK(refusal([&](RunConfig& c) {
          of_text(c);
          c.class_count = 1 << 21;
        }) == accepted);
}

TEST_CASE("a checkpoint with another position than a run can have is refused") {
  const TempFolder folder;
  const auto refusal = [&](const std::function<void(Progress&)>& change, const RunConfig& config = config_of_run()) {
    Progress progress;
    change(progress);
    save_position(folder.path(), config, progress);
    const std::string error = error_of([&] { load_checkpoint(folder.path()); });
    const std::string start = checkpoint_path(folder.path()) + ": ";
    return error.starts_with(start) ? error.substr(start.size()) : error;
  };
  const std::string accepted, negative = "negative progress";
  CHECK(refusal([](Progress& p) { p.epoch = -1; }) == negative);
  CHECK(refusal([](Progress& p) { p.batch = -1; }) == negative);
  CHECK(refusal([](Progress& p) { p.images = -1; }) == negative);
  CHECK(refusal([](Progress& p) { p.correct = -1; }) == negative);
  CHECK(refusal([](Progress& p) { p.seconds = -1; }) == negative);
  CHECK(refusal([](Progress& p) { p.epoch = kMaxEpochs; }) == accepted);
  CHECK(refusal([](Progress& p) { p.epoch = kMaxEpochs + 1; }) == "invalid \"epoch\" 1000000001");
  for (const std::string& wrong : {std::string(kStepDigits, 'g'), std::string(kStepDigits - 1, 'a'),
                                   std::string(kStepDigits + 1, '0'), std::string(kStepDigits, 'F')})
    CHECK(refusal([&](Progress& p) { p.step_hashes = wrong; }) == "invalid \"step_hashes\"");
  const std::string scale = "invalid \"loss_scale\"";
  CHECK(refusal([](Progress& p) { p.loss_scale = 0; }) == scale);
  CHECK(refusal([](Progress& p) { p.loss_scale = 0x1p127; }) == accepted);
  CHECK(refusal([](Progress& p) { p.loss_scale = 0x1p128; }) == scale);
  CHECK(refusal([](Progress& p) { p.loss_scale = std::nan(""); }) == scale);
  CHECK(refusal([](Progress& p) { p.loss_scale_steps = -1; }) == scale);
  CHECK(refusal([](Progress& p) { p.loss_scale_steps = 1999; }) == accepted);
  CHECK(refusal([](Progress& p) { p.loss_scale_steps = 2000; }) == scale);
  const auto with_points = [](std::vector<int64_t> examples, std::vector<double> sums, int64_t images, int64_t batch) {
    return [=](Progress& p) {
      p.points = {examples, sums};
      p.images = images;
      p.batch = batch;
    };
  };
  const std::string points = "invalid \"points\"";
  CHECK(refusal(with_points({1, 2}, {1, 2}, 2, 2)) == accepted);
  CHECK(refusal(with_points({1, 2}, {1, 2}, 1, 2)) == points);
  CHECK(refusal(with_points({1, 2}, {1, 2}, 2, 1)) == points);
  CHECK(refusal(with_points({0, 2}, {1, 2}, 2, 2)) == points);
  CHECK(refusal(with_points({2, 2}, {1, 2}, 2, 2)) == points);
  CHECK(refusal(with_points({1, 2}, {1}, 2, 2)) == points);
  std::vector<int64_t> many(21);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<int64_t>(i) + 1;
  CHECK(refusal(with_points(many, std::vector<double>(21, 1), 21, 21)) == points);
  many.pop_back();
  CHECK(refusal(with_points(many, std::vector<double>(20, 1), 20, 20)) == accepted);
  CHECK(refusal([](Progress& p) { p.history = {Json(1)}; }) == "an entry of \"history\" is not an object");
  for (const char* figure : {"train_loss", "train_accuracy", "test_loss", "test_accuracy"})
    CHECK(refusal([&](Progress& p) {
            p.history = {line_of(1)};
            p.history[0].erase(figure);
          }) == concat("missing entry \"", figure, "\""));
  RunConfig validated = config_of_run();
  validated.validation = 0.5;
  CHECK(refusal(
            [](Progress& p) {
              p.history = {line_of(1)};
              p.history[0].erase("validation_accuracy");
            },
            validated) == "missing entry \"validation_accuracy\"");
}

TEST_CASE("the best epoch, and when a run has no patience left") {
  RunConfig c = config_of_run();
  CHECK(best_epoch(c, {}) == 0);
  CHECK(best_epoch(c, history_of({0.5})) == 1);
  CHECK(best_epoch(c, history_of({0.5, 0.75, 0.25})) == 2);
  CHECK(best_epoch(c, history_of({0.5, 0.75, 0.75})) == 2);  // the first of equal ones
  CHECK(best_epoch(c, history_of({0.5, 0.75, 0.8})) == 3);
  CHECK(result_epoch(c, history_of({0.75, 0.5})) == 2);
  CHECK(deciding_name(c) == std::string("test accuracy"));

  RunConfig validated = c;
  validated.validation = 0.5;
  const std::vector<Json> lines = {line_of(0.9, 1, 0.25), line_of(0.1, 1, 0.5), line_of(0.2, 1, 0.125)};
  CHECK(best_epoch(validated, lines) == 2);
  CHECK(best_epoch(c, lines) == 1);
  CHECK(deciding_name(validated) == std::string("validation accuracy"));
  validated.recipe.keep = "best";
  CHECK(result_epoch(validated, lines) == 2);
  Progress p{.epoch = 3};
  p.history = lines;
  CHECK(described_result(validated, p) == "after 2 epochs, the best of 3 by its validation accuracy, 0.5000");
  c.recipe.keep = "best";
  CHECK(described_result(c, p) == "after 1 epoch, the best of 3");
  CHECK(described_result(c, Progress()) == "after 0 epochs");
  c.recipe.keep = "last";
  CHECK(described_result(c, p) == "after 3 epochs");

  RunConfig text = config_of_run();
  text.text.emplace();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto losses = [](const std::vector<double>& values) {
    std::vector<Json> out;
    for (const double value : values) out.push_back(line_of(0.5, value));
    return out;
  };
  CHECK(best_epoch(text, losses({3, 2, 2, 4})) == 2);
  CHECK(best_epoch(text, losses({nan, 4, 5})) == 2);
  CHECK(best_epoch(text, losses({3, nan, 4})) == 1);
  CHECK(deciding_name(text) == std::string("validation loss"));
  text.recipe.patience = 2;
  CHECK(reason_to_stop(text, losses({3, 2, 2.5, 2})) ==
        "stopped early: the validation loss has not improved for 2 epochs since 2.0000 after epoch 2");

  CHECK(!out_of_patience(c, history_of({0.5, 0.4, 0.3})));  // any number
  c.recipe.patience = 2;
  CHECK(!out_of_patience(c, {}));
  CHECK(!out_of_patience(c, history_of({0.5, 0.4})));
  CHECK(out_of_patience(c, history_of({0.5, 0.4, 0.5})));
  CHECK(!out_of_patience(c, history_of({0.5, 0.4, 0.6})));
  Progress stopped{.epoch = 3};
  stopped.history = history_of({0.5, 0.4, 0.3});
  CHECK(stopped_early(c, stopped));
  c.epochs = 3;
  CHECK(!stopped_early(c, stopped));
  c.recipe.patience = 1;
  CHECK(reason_to_stop(c, history_of({0.8125, 0.4})) ==
        "stopped early: the test accuracy has not improved for 1 epoch since 0.8125 after epoch 1");
}

TEST_CASE("points within an epoch") {
  for (const int64_t batches : {1, 7, 20, 21, 1000}) {
    int64_t count = 0;
    for (int64_t batch = 0; batch < batches; ++batch) count += is_epoch_point(batch, batches);
    CHECK(count == std::min<int64_t>(batches, 20));
    CHECK(is_epoch_point(batches - 1, batches));
  }
  CHECK(!is_epoch_point(48, 1000));
  CHECK(is_epoch_point(49, 1000));
  const Json said =
      described({{10, 30}, {5.0, 25.0}}, 40, [](int64_t examples) { return 0.5 * static_cast<double>(examples); });
  CHECK(said["place"] == Json({0.25, 0.75}));
  CHECK(said["train_loss"] == Json({0.5, 1.0}));
  CHECK(said["learning_rate"] == Json({5.0, 15.0}));
  CHECK(error_of([] { epoch_points_from_json(Json(3)); }) == "invalid \"points\"");
}

TEST_CASE("the chain of hashes notices every change, and nothing else") {
  RunConfig c = config_of_run();
  std::vector<Json> history;
  for (const double accuracy : {0.25, 0.5, 0.75}) {
    history.push_back(line_of(accuracy));
    extend_chain(c, history);
  }
  CHECK(first_broken_link(c, history) == 0);
  for (std::size_t at = 0; at < 3; ++at) {
    std::vector<Json> changed = history;
    changed[at]["test_loss"] = 2.0;
    CHECK(first_broken_link(c, changed) == at + 1);
    changed = history;
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(at));
    CHECK(first_broken_link(c, changed) == (at == 2 ? 0 : at + 1));
    changed = history;
    changed[at].erase("chain");
    CHECK(first_broken_link(c, changed) == (at == 0 ? 0 : at + 1));
  }
  const auto with = [&](const std::function<void(RunConfig&)>& change) {
    RunConfig other = c;
    change(other);
    return first_broken_link(other, history);
  };
  CHECK(with([](RunConfig& o) { o.data = "/else"; }) == 0);
  CHECK(with([](RunConfig& o) { o.data_folder = "/else"; }) == 0);
  CHECK(with([](RunConfig& o) { o.classes = {"x", "y"}; }) == 0);
  CHECK(with([](RunConfig& o) { o.devices = {"cpu:1"}; }) == 0);
  CHECK(with([](RunConfig& o) { o.root = "cpu:1"; }) == 0);
  CHECK(with([](RunConfig& o) { o.epochs = 10; }) == 0);  // of a constant rate
  CHECK(with([](RunConfig& o) { o.seed = 4; }) == 1);
  CHECK(with([](RunConfig& o) { o.data_sum = "other"; }) == 1);
  CHECK(with([](RunConfig& o) { o.recipe.lr = 0.1; }) == 1);
  for (const bool cosine : {false, true}) {
    RunConfig scheduled = config_of_run();
    if (cosine)
      scheduled.recipe.schedule = "cosine";
    else
      scheduled.recipe.warmup = 0.5;
    std::vector<Json> lines = {line_of(0.5)};
    extend_chain(scheduled, lines);
    CHECK(first_broken_link(scheduled, lines) == 0);
    scheduled.epochs = 10;
    CHECK(first_broken_link(scheduled, lines) == 1);
  }
  std::vector<Json> older = {line_of(0.25), line_of(0.5)};  // of a version without hashes
  CHECK(first_broken_link(c, older) == 0);
  older.push_back(line_of(0.75));
  extend_chain(c, older);
  CHECK(first_broken_link(c, older) == 0);
  older[0]["test_loss"] = 2.0;
  CHECK(first_broken_link(c, older) == 3);

  CHECK(has_hashes({{"state_sha256", std::string(64, 'a')}, {"tensor_hashes", "b"}}));
  CHECK(!has_hashes({{"state_sha256", std::string(63, 'a')}, {"tensor_hashes", "b"}}));
  CHECK(!has_hashes({{"state_sha256", std::string(64, 'a')}, {"tensor_hashes", ""}}));
  CHECK(!has_hashes({{"state_sha256", std::string(64, 'a')}}));
  CHECK(!has_hashes(Json::object()));
}

TEST_CASE("names of folders, data and results") {
  RunConfig c = config_of_run();
  CHECK(data_label(c) == "digits");
  c.data = "mnist";
  CHECK(data_label(c) == "mnist");
  c.data = "/somewhere/a.b";
  CHECK(data_label(c) == "a.b");
  c.text.emplace();
  CHECK(data_label(c) == "a");
  CHECK(checkpoint_path("runs/a") == "runs/a/checkpoint.safetensors");
  CHECK(epoch_folder("runs/a", 3) == "runs/a/epochs/3");
  Progress p{.epoch = 3, .batch = 120};
  CHECK(tensor_folder("runs/a", p) == "runs/a/checkpoint-3-120");
  c = config_of_run();
  CHECK(result_folder("runs/a", c, p) == "runs/a/checkpoint-3-120");
  c.recipe.ema = 0.5;
  CHECK(result_folder("runs/a", c, p) == "runs/a/checkpoint-3-120-average");
  c.recipe.keep = "best";
  CHECK(result_folder("runs/a", c, p) == "runs/a/checkpoint-3-120-average");
  p.history = history_of({0.5, 0.75, 0.25});
  CHECK(result_folder("runs/a", c, p) == "runs/a/best-2");
  const TempFolder folder;
  make_epoch_folder(folder.path(), 2);
  make_epoch_folder(folder.path(), 2);
  CHECK(std::filesystem::is_directory(epoch_folder(folder.path(), 2)));
  CHECK(error_of([&] { make_epoch_folder(folder / "none", 1); }).find(folder / "none/epochs: ") == 0);
  CHECK(error_of([&] { load_checkpoint(folder.path()); }) ==
        concat(folder.path(), " does not contain a run: ", checkpoint_path(folder.path()), " is missing"));
  const std::string deep = "/" + std::string(200, 'x');
  CHECK(error_of([&] { check_checkpoint(deep); }).find(deep.substr(0, 60) + "..." + std::string(30, 'x')) == 0);
}

TEST_CASE("tensors of other checkpoints are removed") {
  const TempFolder folder;
  RunConfig c = config_of_run();
  c.recipe.ema = 0.5;
  const Progress p{.epoch = 3, .batch = 1};
  const std::vector<std::string> kept = {
      "checkpoint-3-1", ".checkpoint-3-1.old", "checkpoint-3-1-average", ".checkpoint-3-1-average.old", "epochs",
      "other"};
  const std::vector<std::string> removed = {"checkpoint-2-1",      "checkpoint-3-0",      "best-2",
                                            ".checkpoint-2-1.old", ".checkpoint-3-1.new", "checkpoint-2-1-average"};
  for (const auto* names : {&kept, &removed})
    for (const std::string& name : *names) std::filesystem::create_directories(folder / name);
  std::ofstream(folder / "checkpoint-1-1") << "a file";
  remove_other_tensors(folder.path(), c, p);
  for (const std::string& name : kept) CHECK_MESSAGE(std::filesystem::exists(folder / name), name);
  for (const std::string& name : removed) CHECK_MESSAGE(!std::filesystem::exists(folder / name), name);
  CHECK(std::filesystem::exists(folder / "checkpoint-1-1"));
}

TEST_CASE("one process holds the lock of a folder") {
  const TempFolder folder;
  {
    const RunLock lock(folder.path());
    CHECK(error_of([&] { RunLock second(folder.path()); }) ==
          concat(folder.path(), ": process ", ::getpid(), " is training in this folder"));
    std::ofstream(folder / kLockFile) << "x1";
    CHECK(error_of([&] { RunLock second(folder.path()); }) ==
          folder.path() + ": another process is training in this folder");
  }
  CHECK(!std::filesystem::exists(folder / kLockFile));
  const RunLock again(folder.path());
  CHECK(error_of([&] { RunLock none(folder / "none"); }).find(folder / "none: cannot be written: ") == 0);
}

TEST_CASE("what killed processes have left is removed, and nothing else") {
  const TempFolder folder;
  for (const char* path : {"epochs/2", "epochs/2.x"}) std::filesystem::create_directories(folder / path);
  const std::vector<std::string> left = {".checkpoint.safetensors.12-0.tmp",
                                         ".model.safetensors.12-1.tmp",
                                         ".config.json.1-1.tmp",
                                         ".metrics.jsonl.1-1.tmp",
                                         ".curve.svg.1-1.tmp",
                                         ".network.onnx.1-1.tmp",
                                         ".model.safetensors.index.json.1-1.tmp",
                                         ".model-00001-of-00002.safetensors.1-0.tmp",
                                         "epochs/.3.safetensors.12-0.tmp",
                                         "epochs/2/.checkpoint.safetensors.3-4.tmp",
                                         "epochs/2/.model-00001-of-00002.safetensors.1-0.tmp"};
  const std::vector<std::string> kept = {"checkpoint.safetensors",     ".mine.tmp",
                                         ".other.safetensors.1-0.tmp", "epochs/3.safetensors",
                                         "epochs/.mine.1-0.tmp",       "epochs/2/.mine.tmp"};
  for (const auto* names : {&left, &kept})
    for (const std::string& name : *names) std::ofstream(folder / name) << "x";
  remove_leftovers(folder.path());
  for (const std::string& name : left) CHECK_MESSAGE(!std::filesystem::exists(folder / name), name);
  for (const std::string& name : kept) CHECK_MESSAGE(std::filesystem::exists(folder / name), name);
}

TEST_CASE("the memory of a process that has a slice") {
  const double mib = 1 << 20;
  CHECK(described_bytes({{"a", 8 * mib, true}, {"b", 4 * mib, true}, {"b", 4 * mib, false}}, 2, 2, 0) ==
        "26.0 MiB of parameters, gradients and optimizer state, and in a step values or gradients of up to three of 2 "
        "units, each at most 8.0 MiB");
  CHECK(described_bytes({{"", 8 * mib, true}}, 1, 0, 0) ==
        "16.0 MiB of parameters, gradients and optimizer state, and 8.0 MiB of whole parameters in a step");
  CHECK(
      described_bytes({{"", 2 * mib, true}, {"a", 4 * mib, true}}, 1, 1, 0) ==
      "18.0 MiB of parameters, gradients and optimizer state, and 2.0 MiB of whole parameters in a step with values or "
      "gradients of up to three of 1 unit, each at most 4.0 MiB");
  for (const auto& each : std::vector<std::pair<int64_t, const char*>>{
           {1, "8.0 MiB"}, {2, "8.0 MiB"}, {4, "8.0 MiB"}, {5, "16.0 MiB"}, {8, "16.0 MiB"}, {10, "24.0 MiB"}}) {
    const std::string text = described_bytes({{"", 8 * mib, true}, {"", 8 * mib, false}}, 2, 0, each.first);
    CHECK_MESSAGE(text.ends_with(concat(" in a step, and ", each.second, " of sums over shards")), each.first, ": ",
                  text);
  }
}
