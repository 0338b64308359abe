// Configuration of a run on a text, beside what every run has.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tandem/models/gpt2.h"

namespace tandem::cli {

struct TextOptions;

struct TextConfig {
  std::string tokenizer = "char";  ///< or bpe
  int64_t context = 128;           ///< tokens in a training example
  int64_t steps = 100;             ///< per epoch, at most; fewer if the text has fewer batches
  double validation = 0;           ///< share of the text, at its end; 0: a tenth, and at most 131,072 tokens
  int64_t end_of_text = -1;        ///< the token between texts; -1: none
  models::GPT2Options model{};
};

/// gpt2, gpt2-small, gpt2-medium, gpt2-large, gpt2-xl.
std::vector<std::string> text_model_names();
bool is_text_model(const std::string& name);
/// The request for a model of `vocab_size` tokens. `weights`: the sizes of the weights that it starts from, if there
/// are any; `validation`: as given. Throws UsageError on options that contradict these, and on numbers that do not fit
/// each other.
TextConfig make_text_config(const std::string& name, const TextOptions& options, std::optional<double> validation,
                            int64_t vocab_size, const models::GPT2Options* weights);
/// Throws UsageError if an option that was given contradicts the run's.
void check_same(const TextOptions& options, const TextConfig& config);

/// The entry "text" of config.json.
nlohmann::ordered_json to_json(const TextConfig& config);
/// Throws Error on missing, mistyped or invalid entries.
TextConfig text_config_from_json(const nlohmann::ordered_json& json);
/// Adds what Hugging Face's transformers reads from config.json.
void add_transformers_entries(nlohmann::ordered_json& json, const TextConfig& config);

/// Number of parameter values.
double text_parameters(const models::GPT2Options& sizes);

}  // namespace tandem::cli
