// The folder of a run: config.json, metrics.jsonl, curve.svg, checkpoint.safetensors, model.safetensors; with --keep
// all epochs/N.safetensors, the model after each epoch, and epochs/N/checkpoint.safetensors; for a text also its
// tokenizer, and network.onnx, the ONNX file whose network is trained, both of which are written before all others and
// never change.
//
// The checkpoint is one file that is written atomically and holds the complete state: parameters, optimizer, with
// --ema the average, with --keep best the model after the best epoch and, in its metadata, the configuration, the
// position in the epoch, the random state and the metrics so far. The other files are regenerated from it, so they
// agree with it however a run ended.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tandem/cli/text/text_config.h"
#include "tandem/cli/train/epoch_points.h"
#include "tandem/cli/train/models.h"
#include "tandem/cli/train/recipe.h"
#include "tandem/nn/moving_average.h"
#include "tandem/nn/sequential.h"

namespace tandem::cli {

/// The part of a request that determines the result of a run, and the description of its images. A run on a text has no
/// images: `input` and `classes` are empty, and `class_count` is the number of tokens.
struct RunConfig {
  /// model: a name, also that of an ONNX file without its folder; data: a known name, or the absolute path of a folder
  /// or a text.
  std::string model, data, data_folder;
  std::vector<int64_t> input;  ///< channels, height, width
  std::vector<std::string> classes;
  int64_t class_count = 0, epochs = 0;
  Recipe recipe;
  uint64_t seed = 0;
  std::string data_sum;                ///< fingerprint of all images and labels: the data may move between sessions
  std::vector<std::string> devices{};  ///< of the last session; the next one may use others
  std::string root{};
  int64_t shards = 0;
  bool fully_sharded = false;  ///< each process keeps a slice of the model: see sharded_run.h
  std::optional<TextConfig> text{};
  bool skip_broken = false;  ///< image files that cannot be read are left out
  int64_t hash_steps = 0;    ///< steps after which the state's hash is recorded within an epoch; 0: never
  /// Share of each class of the training images that is only evaluated, and by which epochs are compared; 0: none, they
  /// are compared by the test images.
  double validation = 0;
  bool validation_folder = false;  ///< the folder's own validation part serves for that
  std::string start_sha256{};      ///< of the model before the first step; "": of a version that did not record it
  std::string reproducible{};      ///< on or strict (TANDEM_REPRODUCIBLE); "": off, or not recorded
  std::string onnx_sha256{};       ///< of the ONNX file whose network is trained; "": none
  std::string onnx_file{};         ///< where it is now; not recorded
  bool validates() const { return validation > 0 || validation_folder; }  ///< images: a text always does
  /// What make_model takes.
  const std::string& model_or_file() const { return onnx_file.empty() ? model : onnx_file; }
  ModelShape shape() const { return {input[0], input[1], input[2], class_count}; }
};
Json to_json(const RunConfig& config);

inline constexpr std::size_t kStepDigits = 16;  ///< of the hash after a step

/// The position of a run, between two steps.
struct Progress {
  int64_t epoch = 0;    ///< completed epochs
  int64_t batch = 0;    ///< completed batches of the current epoch
  int64_t images = 0;   ///< images, or windows of tokens, in those batches
  double loss_sum = 0;  ///< summed loss over those images; for windows, of the mean loss of each
  int64_t correct = 0;  ///< images or tokens
  double seconds = 0;   ///< training time in this epoch
  uint64_t random_seed = 0, random_offset = 0;
  double loss_scale = 65536;     ///< of the next step of a run in fp16
  int64_t loss_scale_steps = 0;  ///< since its last change
  EpochPoints points{};          ///< of the losses in this epoch
  std::string step_hashes{};     ///< kStepDigits for each hash in this epoch
  std::vector<Json> history;     ///< lines of metrics.jsonl
};

/// "3 epochs and 1 batch"
std::string place_of(const Progress& progress);

struct Checkpoint {
  RunConfig config;
  Progress progress;
  serialize::InputArchive model, optimizer;  ///< empty in a run that has not started
  serialize::InputArchive average, best;     ///< empty if the run does not keep them
  std::string tensors{};                     ///< of a fully sharded run, the folder that has those of the model
  bool is_new() const { return model.keys().empty() && tensors.empty(); }  ///< the run has not started
  /// The model that the run has trained: the best, the average, or the model.
  serialize::InputArchive& result();
};

/// Further models that a run may keep.
struct Kept {
  const nn::ExponentialMovingAverage* average = nullptr;
  const OrderedDict<std::string, Tensor>* best = nullptr;  ///< state dict after the best epoch
};

/// The data's name for display: the known name, the last component of the folder,
/// or the text's name without its ending.
std::string data_label(const RunConfig& config);

std::string checkpoint_path(const std::string& folder);
/// Atomic. Throws Error.
void save_checkpoint(const std::string& folder, const RunConfig& config, const Progress& progress,
                     const nn::Sequential& model, const optim::Optimizer& optimizer, const Kept& kept);
/// The same without any tensors. Atomic. Throws Error.
void save_position(const std::string& folder, const RunConfig& config, const Progress& progress);
/// Throws Error if the folder has no checkpoint file.
void check_checkpoint(const std::string& folder);
/// Throws Error, which names the file, if the checkpoint is missing or broken. Of a fully sharded run it reads no
/// tensors.
Checkpoint load_checkpoint(const std::string& folder);

inline constexpr const char* kOnnxFile = "network.onnx";
/// Sets config.onnx_file for a run in this folder. Throws Error if the file is missing, or is not the recorded one.
void find_onnx_file(const std::string& folder, RunConfig& config);
/// The SHA-256 of an ONNX file. Throws Error if it cannot be read.
std::string sha256_of_onnx(const std::string& path);

/// Throws UsageError if the folder contains a run, or any file that a run would overwrite.
void check_run_folder(const std::string& wanted);
/// Creates the folder for a new run: `wanted`, or a new numbered one under runs/. Throws UsageError on failure.
std::string make_run_folder(const std::string& wanted, const std::string& name);

/// "FOLDER/epochs/3", which has the checkpoint after epoch 3. Beside it is 3.safetensors, the model alone.
std::string epoch_folder(const std::string& folder, int64_t epoch);
void make_epoch_folder(const std::string& folder, int64_t epoch);

/// The content of config.json.
std::string config_text(const RunConfig& config);
/// Writes config.json, metrics.jsonl and curve.svg for a checkpoint, each atomically.
void write_run_files(const std::string& folder, const RunConfig& config, const Progress& progress);

}  // namespace tandem::cli
