// --patience and --keep best: which epoch was the best, and whether later ones have improved on it. Both follow from a run's
// metrics, so a resumed run decides alike.
#pragma once
#include <string>
#include <vector>

#include "tandem/cli/json.h"
#include "tandem/cli/recipe.h"
#include "tandem/cli/terminal.h"

namespace tandem::cli {

/// The number, from 1, of the epoch with the highest test accuracy, the first of equal ones; 0 if there are none.
/// `history`: the lines of metrics.jsonl.
inline int64_t best_epoch(const std::vector<Json>& history) {
  std::size_t best = history.empty() ? 0 : 1;
  double most = -1;
  for (std::size_t i = 0; i < history.size(); ++i)
    if (const double accuracy = get_entry<double>(history[i], "test_accuracy"); accuracy > most)
      best = i + 1, most = accuracy;
  return static_cast<int64_t>(best);
}

/// Whether the last recipe.patience epochs have not improved the test accuracy.
inline bool out_of_patience(const Recipe& recipe, const std::vector<Json>& history) {
  return recipe.patience > 0 && static_cast<int64_t>(history.size()) - best_epoch(history) >= recipe.patience;
}

/// "stopped early: the test accuracy has not improved for 3 epochs since 0.8123 after epoch 4"
inline std::string reason_to_stop(const std::vector<Json>& history) {
  const int64_t best = best_epoch(history), since = static_cast<int64_t>(history.size()) - best;
  return concat("stopped early: the test accuracy has not improved for ", counted(since, "epoch", "epochs"),
                " since ",
                fixed(get_entry<double>(history.at(static_cast<std::size_t>(best - 1)), "test_accuracy"), 4),
                " after epoch ", best);
}

}  // namespace tandem::cli
