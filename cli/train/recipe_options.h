// The options of the command line that change a recipe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace tandem::cli {

/// Recipe options as given on the command line.
struct RecipeOptions {
  std::string name;  ///< empty: the usual one, see make_recipe
  std::optional<std::string> optimizer, schedule, init, augment, decay, freeze, keep, precision;
  std::optional<int64_t> batch_size, accumulate, patience;
  std::optional<double> lr, momentum, weight_decay, label_smoothing, warmup, clip, ema;
};

}  // namespace tandem::cli
