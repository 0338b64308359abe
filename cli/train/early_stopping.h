// --patience and --keep best: which epoch was the best, and whether later ones have improved on it. Both follow from a
// run's metrics, so a resumed run decides in the same way.
#pragma once
#include <string>
#include <vector>

#include "tandem/cli/draw/terminal.h"
#include "tandem/cli/json.h"
#include "tandem/cli/train/run_folder.h"

namespace tandem::cli {

/// The figure of metrics.jsonl by which epochs are compared: a loss, of which lower values are better, or an accuracy.
/// For a text, the figures named after tests are of its validation part.
inline const char* deciding_figure(const RunConfig& config) {
  return config.text ? "test_loss" : config.validates() ? "validation_accuracy" : "test_accuracy";
}
/// The same in words: "validation loss".
inline const char* deciding_name(const RunConfig& config) {
  return config.text ? "validation loss" : config.validates() ? "validation accuracy" : "test accuracy";
}

/// The number, from 1, of the best epoch, the first of equal ones; 0 if there are none. `history`:
/// the lines of metrics.jsonl.
inline int64_t best_epoch(const RunConfig& config, const std::vector<Json>& history) {
  std::size_t best = history.empty() ? 0 : 1;
  for (std::size_t i = 1; i < history.size(); ++i) {
    const auto now = get_entry<double>(history[i], deciding_figure(config));
    const auto before = get_entry<double>(history[best - 1], deciding_figure(config));
    if (config.text ? now < before || before != before : now > before) best = i + 1;
  }
  return static_cast<int64_t>(best);
}

/// The epoch whose model is the run's, which its result is taken from: the best with --keep best, or the last.
inline int64_t result_epoch(const RunConfig& config, const std::vector<Json>& history) {
  return config.recipe.keep == "best" ? best_epoch(config, history) : static_cast<int64_t>(history.size());
}
/// "after 3 epochs", or "after 3 epochs, the best of 8 by its validation accuracy, 0.8123".
inline std::string described_result(const RunConfig& config, const Progress& progress) {
  const int64_t epoch = result_epoch(config, progress.history);
  if (config.recipe.keep != "best" || epoch == 0) return "after " + counted(progress.epoch, "epoch", "epochs");
  const std::string after = concat("after ", counted(epoch, "epoch", "epochs"), ", the best of ", progress.epoch);
  if (!config.validates()) return after;
  const Json& line = progress.history.at(static_cast<std::size_t>(epoch - 1));
  return concat(after, " by its validation accuracy, ", fixed(get_entry<double>(line, deciding_figure(config)), 4));
}

/// Whether the last recipe.patience epochs have brought no better one.
inline bool out_of_patience(const RunConfig& config, const std::vector<Json>& history) {
  const int64_t patience = config.recipe.patience;
  return patience > 0 && static_cast<int64_t>(history.size()) - best_epoch(config, history) >= patience;
}

/// The same, of a run that has epochs left.
inline bool stopped_early(const RunConfig& config, const Progress& progress) {
  return progress.epoch < config.epochs && out_of_patience(config, progress.history);
}

/// "stopped early: the test accuracy has not improved for 3 epochs since 0.8123 after epoch 4"
inline std::string reason_to_stop(const RunConfig& config, const std::vector<Json>& history) {
  const int64_t best = best_epoch(config, history), since = static_cast<int64_t>(history.size()) - best;
  const Json& line = history.at(static_cast<std::size_t>(best - 1));
  return concat("stopped early: the ", deciding_name(config), " has not improved for ",
                counted(since, "epoch", "epochs"), " since ",
                fixed(get_entry<double>(line, deciding_figure(config)), 4), " after epoch ", best);
}

}  // namespace tandem::cli
