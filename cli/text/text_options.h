// The options of the command line for models of texts.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace tandem::cli {

struct TextOptions {
  std::string tokenizer;  ///< char, or a folder with vocab.json and merges.txt; empty: that of the weights, else char
  std::optional<int64_t> layers, heads, width, context, steps;
  std::optional<double> dropout;
};

}  // namespace tandem::cli
