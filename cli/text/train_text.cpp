// Requests for texts.
#include "tandem/cli/text/train_text.h"

#include <filesystem>

#include "tandem/cli/data/find_data.h"
#include "tandem/cli/draw/terminal.h"
#include "tandem/cli/text/text_model.h"
#include "tandem/cli/train/model_guess.h"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;

// Texts need a file: the default of --data is a data set of images.
void check_text_file(const TrainOptions& o) {
  require(o.line.has("data") && !is_data_name(o.data), "--model ", o.model,
          ": trains on a text; name its file with --data, such as --data book.txt");
  std::error_code error;
  require(!fs::is_directory(o.data, error), "--data ", o.data, ": is a folder; --model ", o.model,
          " trains on a file of text");
}

TextCodec new_tokenizer(const TrainOptions& o, const TextWeights* weights) {
  const std::string& wanted = o.text.tokenizer;
  if (wanted == "char" || (wanted.empty() && weights == nullptr)) return codec_of_characters(o.data);
  const std::string folder = wanted.empty() ? weights->folder : wanted;
  const TextCodec codec = find_codec(folder);
  if (codec.encode) return codec;
  require(!wanted.empty(), "--weights ", o.weights,
          ": there is no tokenizer beside the weights; name the folder with its vocab.json "
          "and merges.txt with --tokenizer");
  refuse("--tokenizer ", wanted, ": expected char, or a folder with vocab.json and merges.txt");
}

TextWeights weights_of(const TrainOptions& o) try {
  return read_text_weights(o.weights, o.text.heads.value_or(0), o.key);
} catch (const Error& error) {
  fail(error.what(), looks_like(o.weights, o.key, o.model));
}

}  // namespace

void check_text_options(const TrainOptions& o, const std::string& model) {
  const bool text = is_text_model(model);
  for (const char* name : {"tokenizer", "layers", "heads", "width", "context", "steps", "dropout"})
    require(text || !o.line.has(name), "--", name, ": only for texts, with --model gpt2; this is ", model);
  require(!text || !o.line.has("image-size"), "--image-size: ", model, " trains on a text, not on images");
}

Recipe recipe_of_text(const TrainOptions& o) {
  const Recipe recipe = make_recipe({o.model, false, !o.weights.empty()}, o.recipe, "text");
  const auto said = [&](const char* option, const std::optional<std::string>& given, const std::string& value) {
    return given ? concat("--", option, " ", value) : concat("--recipe ", recipe.name, ", with --", option, " ", value);
  };
  require(recipe.augment == "none", said("augment", o.recipe.augment, recipe.augment), ": only for images");
  require(recipe.init == "default", said("init", o.recipe.init, recipe.init),
          ": a GPT-2 has an initialisation of its own; use --recipe text, or --init default");
  return recipe;
}

TextCodec start_text(const TrainOptions& o, RunConfig& c) {
  check_text_file(o);
  try {
    std::optional<TextWeights> weights;
    if (!o.weights.empty()) weights = weights_of(o);
    TextCodec codec = new_tokenizer(o, weights ? &*weights : nullptr);
    check(codec.size > 0, o.data, ": is empty");
    c.text = make_text_config(o.model, o.text, o.validation, codec.size, weights ? &weights->sizes : nullptr);
    c.text->tokenizer = codec.by_words ? "bpe" : "char";
    c.text->end_of_text = codec.end_of_text;
    c.class_count = c.text->model.vocab_size();
    require(codec.size <= c.class_count, "--weights ", o.weights, ": have ", c.class_count,
            " tokens, the tokenizer has ", codec.size);
    return codec;
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

TextCodec tokenizer_of_run(const std::string& folder, const TextConfig& config) try {
  TextCodec codec = find_codec(folder);
  check(codec.encode != nullptr, folder, ": the run's tokenizer is missing: ",
        config.tokenizer == "bpe" ? "vocab.json and merges.txt" : "tokenizer.json");
  check(codec.size <= config.model.vocab_size(), folder, ": the tokenizer has tokens up to ", codec.size - 1,
        ", the model only ", config.model.vocab_size());
  return codec;
} catch (const Error& error) {
  throw UsageError(error.what());
}

TextData load_text(RunConfig& c, const TextCodec& codec) try {
  TextData data = read_text(c.data, codec, *c.text);
  check(c.data_sum.empty() || c.data_sum == data.sum, c.data, ": not the text that the run was started with");
  c.data_sum = data.sum;
  c.data_folder = fs::path(c.data).parent_path().string();
  return data;
} catch (const Error& error) {
  throw UsageError(error.what());
}

std::string described(const RunConfig& c, const TextData& data) {
  return concat("data     ", printable(data_label(c)), ": ", with_commas(data.train_tokens), " tokens to train, ",
                with_commas(data.validation_tokens), " to validate, ", with_commas(c.text->model.vocab_size()),
                " different (", c.text->tokenizer == "bpe" ? "byte pairs" : "characters", "), ", printable(c.data));
}

std::string described_examples(const TextConfig& c) {
  const models::GPT2Options& m = c.model;
  return concat("examples ", c.context, " tokens; ", counted(m.n_layer(), "layer", "layers"), " of width ", m.n_embd(),
                ", ", counted(m.n_head(), "head", "heads"));
}

}  // namespace tandem::cli
