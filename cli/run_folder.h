// The folder of a run: config.json, metrics.jsonl, curve.svg, checkpoint.safetensors, model.safetensors.
//
// The checkpoint is one file that appears whole or not at all, and holds everything: parameters, optimizer,
// and in its metadata the configuration, the place in the epoch, the random state and the metrics so far. The
// other files are written anew from it, so that they agree with it however a run ended.
#pragma once
#include <string>
#include <vector>

#include "tandem/cli/recipe.h"
#include "tandem/nn/files/archive.h"
#include "tandem/nn/nn.h"
#include "tandem/nn/optim/optim.h"

namespace tandem::cli {

inline constexpr int64_t kMostEpochs = 1'000'000'000;

/// What of a run's request decides its result, and what its pictures are.
struct RunConfig {
  std::string model, data, data_folder;  ///< data: a known name, or the absolute path of a folder
  std::vector<int64_t> input;            ///< channels, height, width
  std::vector<std::string> classes;
  int64_t class_count = 0, epochs = 0;
  Recipe recipe;
  uint64_t seed = 0;
  std::string data_sum;                ///< of all pictures and labels: the same data may lie elsewhere later
  std::vector<std::string> devices{};  ///< of the last session: others may go on
  std::string root{};
  int64_t shards = 0;
};
Json to_json(const RunConfig& config);
/// Throws Error on missing, mistyped or impossible entries.
RunConfig config_from_json(const Json& json);

/// Where a run stands, between two steps.
struct Progress {
  int64_t epoch = 0;    ///< epochs that are complete
  int64_t batch = 0;    ///< batches done of the next one
  int64_t images = 0;   ///< images of those
  double loss_sum = 0;  ///< over those
  int64_t correct = 0;
  double seconds = 0;  ///< of training in this epoch
  uint64_t random_seed = 0, random_offset = 0;
  std::vector<Json> history;  ///< lines of metrics.jsonl
};

/// "3 epochs and 1 batch"
std::string place_of(const Progress& progress);

struct Checkpoint {
  RunConfig config;
  Progress progress;
  serialize::InputArchive model, optimizer;  ///< empty in a run that has not begun
};

/// The data's name for people: known, or the folder's last part.
std::string data_label(const RunConfig& config);

std::string checkpoint_path(const std::string& folder);
/// Atomic. Throws Error.
void save_checkpoint(const std::string& folder, const RunConfig& config, const Progress& progress,
                     const nn::Sequential& model, const optim::Optimizer& optimizer);
/// Throws Error when there is no such file.
void check_checkpoint(const std::string& folder);
/// Throws Error when there is none or it is broken: whatever is wrong, it names the file.
Checkpoint load_checkpoint(const std::string& folder);

/// Throws UsageError when the folder holds a run, or any file that a run would overwrite.
void check_run_folder(const std::string& wanted);
/// A folder for a new run: `wanted`, or a new numbered one under runs/. Throws UsageError when it cannot be
/// made.
std::string make_run_folder(const std::string& wanted, const std::string& name);

/// config.json, metrics.jsonl and curve.svg as of a checkpoint. Atomic, each of them.
void write_run_files(const std::string& folder, const RunConfig& config, const Progress& progress);

}  // namespace tandem::cli
