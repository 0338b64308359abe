// The folder of a run: config.json, metrics.jsonl, curve.svg, checkpoint.safetensors, model.safetensors.
//
// The checkpoint is one file that appears whole or not at all, and holds everything: parameters, optimizer,
// and in its metadata the configuration, the place in the epoch, the random state and the metrics so far. The
// other files are written anew from it, so that they agree with it however a run ended.
#pragma once
#include <string>
#include <vector>

#include "tandem/cli/recipe.h"
#include "tandem/nn/archive.h"
#include "tandem/nn/nn.h"
#include "tandem/nn/optim/optim.h"

namespace tandem::cli {

/// What of a run's request decides its result, and what its pictures are.
struct RunConfig {
  std::string model, data, data_folder;
  std::vector<int64_t> input;  ///< channels, height, width
  std::vector<std::string> classes;
  int64_t class_count = 0, epochs = 0;
  Recipe recipe;
  uint64_t seed = 0;
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

struct Checkpoint {
  RunConfig config;
  Progress progress;
  serialize::InputArchive model, optimizer;  ///< empty in a run that has not begun
};

std::string checkpoint_path(const std::string& folder);
/// Atomic. Throws Error.
void save_checkpoint(const std::string& folder, const RunConfig& config, const Progress& progress,
                     const nn::Sequential& model, const optim::Optimizer& optimizer);
/// Throws Error when there is none or it is broken: whatever is wrong, it names the file.
Checkpoint load_checkpoint(const std::string& folder);

/// A new folder for a run: `wanted`, or a numbered one under runs/. Throws UsageError when it holds a run
/// already or cannot be written.
std::string make_run_folder(const std::string& wanted, const std::string& name);

/// config.json, metrics.jsonl and curve.svg as of a checkpoint. Atomic, each of them.
void write_run_files(const std::string& folder, const RunConfig& config, const Progress& progress);

}  // namespace tandem::cli
