// --patience and --keep best: which epoch was the best, and whether later ones have improved on it. Both follow from a
// run's metrics, so a resumed run decides in the same way.
#pragma once
#include <string>
#include <vector>

#include "tandem/cli/draw/terminal.h"
#include "tandem/cli/json.h"
#include "tandem/cli/train/run_folder.h"

namespace tandem::cli {

/// Which test figure is compared: the accuracy, or for texts the loss, which they report.
enum class Better { kHigherAccuracy, kLowerLoss };
inline Better better_for(const RunConfig& config) { return config.text ? Better::kLowerLoss : Better::kHigherAccuracy; }
inline double figure(const Json& line, Better better) {
  return get_entry<double>(line, better == Better::kLowerLoss ? "test_loss" : "test_accuracy");
}

/// The number, from 1, of the best epoch, the first of equal ones; 0 if there are none. `history`:
/// the lines of metrics.jsonl.
inline int64_t best_epoch(const std::vector<Json>& history, Better better) {
  std::size_t best = history.empty() ? 0 : 1;
  for (std::size_t i = 1; i < history.size(); ++i) {
    const double now = figure(history[i], better), before = figure(history[best - 1], better);
    if (better == Better::kLowerLoss ? now < before || before != before : now > before) best = i + 1;
  }
  return static_cast<int64_t>(best);
}

/// The epoch whose model is the run's, which its result is taken from: the best with --keep best, or the last.
inline int64_t result_epoch(const RunConfig& config, const std::vector<Json>& history) {
  return config.recipe.keep == "best" ? best_epoch(history, better_for(config)) : static_cast<int64_t>(history.size());
}
/// "after 3 epochs", or "after 3 epochs, the best of 8".
inline std::string described_result(const RunConfig& config, const Progress& progress) {
  const int64_t epoch = result_epoch(config, progress.history);
  if (config.recipe.keep != "best" || epoch == 0) return "after " + counted(progress.epoch, "epoch", "epochs");
  return concat("after ", counted(epoch, "epoch", "epochs"), ", the best of ", progress.epoch);
}

/// Whether the last recipe.patience epochs have brought no better one.
inline bool out_of_patience(const RunConfig& config, const std::vector<Json>& history) {
  const int64_t patience = config.recipe.patience;
  return patience > 0 && static_cast<int64_t>(history.size()) - best_epoch(history, better_for(config)) >= patience;
}

/// "stopped early: the test accuracy has not improved for 3 epochs since 0.8123 after epoch 4"
inline std::string reason_to_stop(const RunConfig& config, const std::vector<Json>& history) {
  const Better better = better_for(config);
  const int64_t best = best_epoch(history, better), since = static_cast<int64_t>(history.size()) - best;
  return concat("stopped early: the ", better == Better::kLowerLoss ? "validation loss" : "test accuracy",
                " has not improved for ", counted(since, "epoch", "epochs"), " since ",
                fixed(figure(history.at(static_cast<std::size_t>(best - 1)), better), 4), " after epoch ", best);
}

}  // namespace tandem::cli
