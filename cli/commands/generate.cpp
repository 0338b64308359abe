// tandem generate: continues a text with a GPT-2, a run's or one whose weights are in a file or folder.
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "tandem/autograd/ops.h"
#include "tandem/cli/commands/add_options.h"
#include "tandem/cli/device_list.h"
#include "tandem/cli/draw/terminal.h"
#include "tandem/cli/message.h"
#include "tandem/cli/options.h"
#include "tandem/cli/signals.h"
#include "tandem/cli/text/text_codec.h"
#include "tandem/cli/text/text_model.h"
#include "tandem/cli/text/train_text.h"
#include "tandem/cli/train/run_model.h"
#include "tandem/cli/train/trainer.h"
#include "tandem/core/base/suggest.h"
#include "tandem/models/generate.h"
#include "tandem/nn/quantize.h"

namespace tandem::cli {
namespace {

struct GenerateOptions {
  std::string weights;  ///< a run, a file of weights, or a folder with them
  std::string key{};    ///< of the state dict in a .pt file with more
  std::string model = "gpt2";
  std::string prompt;
  std::vector<int64_t> prompt_ids{};  ///< tokens instead of a text
  int64_t tokens = 100;
  double temperature = 1;
  int64_t top_k = 0;  ///< 0: all
  double top_p = 1;
  uint64_t seed = 0;
  int64_t heads = 0;         ///< 0: from config.json, or the published width of 64
  int64_t weights_bits = 0;  ///< 0: as they are
  std::string device;
  int threads = 0;
};

namespace fs = std::filesystem;

constexpr int64_t kEndOfText = 50256, kPublishedVocabulary = 50257;  // of the published GPT-2

// The token between texts; -1: none.
int64_t end_of_text(const TextCodec& codec, int64_t vocab_size) {
  if (codec.end_of_text >= 0) return codec.end_of_text;
  return vocab_size == kPublishedVocabulary ? kEndOfText : -1;
}

TextModel of_run(const std::string& folder, const Device& device) {
  Checkpoint checkpoint = run_of(folder);
  require(checkpoint.config.text.has_value(), folder, ": the run of ", checkpoint.config.model,
          ", which is not a language model; see tandem predict");
  return {gpt2_in(model_of_run(checkpoint, device)), tokenizer_of_run(folder, *checkpoint.config.text)};
}

// The folder of a run has a checkpoint, and also when the run is not complete.
TextModel writer_of(const GenerateOptions& o, const Device& device) {
  std::error_code error;
  if (!fs::exists(checkpoint_path(o.weights), error)) return text_model_of(o.weights, o.heads, o.key, device);
  require(o.heads == 0 && o.key.empty(), o.heads != 0 ? "--heads" : "--key", ": not for a run, which has its own");
  return of_run(o.weights, device);
}

std::vector<int64_t> encoded(const TextCodec& codec, const std::string& prompt) try {
  return codec.encode(prompt);
} catch (const Error& error) {  // a character that the model's text did not have
  refuse("--prompt: ", error.what());
}

std::vector<int64_t> prompt_tokens(const GenerateOptions& o, const TextCodec& codec, int64_t vocab_size) {
  require(o.prompt.empty() || o.prompt_ids.empty(), "pass either --prompt or --prompt-ids");
  require(o.prompt.empty() || codec.encode, "--prompt: ", o.weights,
          " has no tokenizer; pass the numbers of the tokens with --prompt-ids");
  const std::vector<int64_t> tokens = o.prompt.empty() ? o.prompt_ids : encoded(codec, o.prompt);
  if (const int64_t end = end_of_text(codec, vocab_size); tokens.empty() && end >= 0)
    return {end};  // what a text starts with
  require(!tokens.empty(), "the prompt is empty: pass --prompt or --prompt-ids");
  for (const int64_t token : tokens)
    require(token < vocab_size, "--prompt-ids: ", token, " is not a token; the model has ", vocab_size);
  return tokens;
}

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

// Without draws, the options of draws have no effect.
void warn_of_no_draws(const GenerateOptions& o, const CommandLine& line) {
  if (o.temperature != 0 && o.top_k != 1) return;
  const std::string cause = o.temperature == 0 ? "temperature" : "top-k";
  for (const std::string& name : line.given)
    if (name != cause && (name == "temperature" || name == "top-k" || name == "top-p" || name == "seed"))
      print_error("warning", concat("--", name, " has no effect: --", cause, o.temperature == 0 ? " 0" : " 1",
                                    " always takes the most probable token"));
}

int generate_command(const GenerateOptions& o, const CommandLine& line) {
  warn_of_no_draws(o, line);
  require(o.model == "gpt2", "unknown model ", o.model, did_you_mean(o.model, {"gpt2"}), " (known: gpt2)");
  use_threads(o.threads);
  const Device device = use_device(o.device);
  try {
    const TextModel writer = writer_of(o, device);
    if (o.weights_bits != 0) nn::quantize_weights(writer.model, {.bits = o.weights_bits});
    const models::GPT2LMHeadModel& model = writer.model;
    const TextCodec& codec = writer.codec;
    const int64_t vocab_size = model->options.vocab_size();
    const std::vector<int64_t> prompt = prompt_tokens(o, codec, vocab_size);
    install_handlers();
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    Clock::time_point first = start;
    int64_t count = 0;
    CharacterStream characters;
    if (codec.decode) print(o.prompt);
    const auto show = [&](const std::vector<int64_t>& tokens) {
      if (count++ == 0) first = Clock::now();
      if (codec.decode)
        print(characters.add(codec.decode(tokens[0])));
      else
        print(concat(count == 1 ? "" : " ", tokens[0]));
      return stop_signal == 0;
    };
    models::generate(model, tensor(prompt).unsqueeze(0),
                     models::GenerateOptions{.max_new_tokens = o.tokens,
                                             .temperature = o.temperature,
                                             .top_k = o.top_k,
                                             .top_p = o.top_p,
                                             .seed = o.seed,
                                             .end_token = end_of_text(codec, vocab_size),
                                             .slide = true,
                                             .on_tokens = show});
    print(characters.finish() + "\n");
    const double seconds = std::chrono::duration<double>(Clock::now() - first).count();
    std::fprintf(stderr, "%s read in %.2f s; %s, %.1f per second\n",
                 counted(static_cast<long long>(prompt.size()), "token", "tokens").c_str(),
                 std::chrono::duration<double>(first - start).count(), counted(count, "new one", "new ones").c_str(),
                 count > 1 && seconds > 0 ? static_cast<double>(count - 1) / seconds : 0);
  } catch (const Error& error) {  // the file, or options that do not fit the model
    throw UsageError(error.what());
  }
  return stop_signal == 0 ? 0 : 128 + stop_signal;
}

}  // namespace

Command add_generate(CLI::App& app) {
  static GenerateOptions o;
  CLI::App* c = app.add_subcommand("generate", "continue a text, or a list of tokens, with a language model");
  c->add_option("MODEL", o.weights,
                "folder of a run of gpt2, file of weights, or a folder with model.safetensors, an index, or "
                "pytorch_model.bin")
      ->required();
  add_key(c, o.key);
  add_known_text(c, "--model", o.model, "gpt2", "kind of model: gpt2, in any size");
  add_text(c, "--prompt", o.prompt, "TEXT", "text to continue");
  add_numbers(c, "--prompt-ids", o.prompt_ids, Range<int64_t>{0, INT32_MAX},
              "numbers of the tokens to continue, instead of --prompt; the output is numbers, too, unless there is "
              "a tokenizer")
      ->delimiter(',')
      ->type_name("ID,…");
  add_known(c, "--tokens", o.tokens, {1, 1 << 20}, "tokens to generate, at most");
  add_known(c, "--temperature", o.temperature, {0, 1e6},
            "below 1: more probable tokens than the model says; 0: always the most probable one");
  add_known(c, "--top-k", o.top_k, {0, 1 << 30}, "draw from this many most probable tokens; 0: from all");
  add_known(c, "--top-p", o.top_p, {0, 1, true}, "draw from the fewest tokens that have this probability together");
  add_known(c, "--seed", o.seed, {0, UINT64_MAX}, "random seed; the same seed generates the same tokens");
  add_number<int64_t>(c, "--heads", o.heads, {1, 1 << 20},
                      "attention heads; default: n_head of a config.json beside the weights, else the width / 64");
  add_weights_bits(c, o.weights_bits);
  add_device(c, o.device);
  add_known(c, "--threads", o.threads, kThreads, "CPU threads; 0: all cores");
  c->footer(
      "Examples:\n"
      "  tandem generate runs/book --prompt \"Once upon a time\"\n"
      "  tandem generate gpt2/ --prompt \"Once upon a time\" --temperature 0.8 --top-k 40");
  return [](const CommandLine& line) { return generate_command(o, line); };
}

}  // namespace tandem::cli
