// Training on a text instead of images.
#pragma once
#include <string>

#include "tandem/cli/options.h"
#include "tandem/cli/text/text_data.h"
#include "tandem/cli/train/run_folder.h"

namespace tandem::cli {

/// Throws UsageError on options for texts with a model of images, and the other way round.
void check_text_options(const TrainOptions& options, const std::string& model);
/// Recipe text unless another one is named; with weights, a smaller learning rate and batch. Throws UsageError.
Recipe recipe_of_text(const TrainOptions& options);
/// The tokenizer of a new run, whose `text` and `class_count` it sets. Throws UsageError.
TextCodec start_text(const TrainOptions& options, RunConfig& config);
/// The tokenizer of the run in a folder. Throws UsageError if it is missing or broken.
TextCodec tokenizer_of_run(const std::string& folder, const TextConfig& config);
/// The run's text. Throws UsageError if it is broken or not the one that the run was started with.
TextData load_text(RunConfig& config, const TextCodec& codec);
/// "data     book: 1,003,854 tokens to train, …"
std::string described(const RunConfig& config, const TextData& data);
/// "examples 128 tokens; 4 layers of width 128, 4 heads"
std::string described_examples(const TextConfig& config);

}  // namespace tandem::cli
