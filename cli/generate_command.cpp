// tandem generate: continues a text with a GPT-2 whose weights are in a file or folder.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tandem/autograd/ops.h"
#include "tandem/cli/json.h"
#include "tandem/cli/options.h"
#include "tandem/cli/terminal.h"
#include "tandem/cli/text_codec.h"
#include "tandem/cli/trainer.h"
#include "tandem/cli/weight_files.h"
#include "tandem/core/suggest.h"
#include "tandem/models/generate.h"
#include "tandem/nn/init.h"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;
using State = OrderedDict<std::string, Tensor>;

constexpr int64_t kEndOfText = 50256, kPublishedVocabulary = 50257;  // of the published GPT-2
constexpr int64_t kPublishedHeadWidth = 64;                          // in all published sizes

// The file with the weights; in a folder, under the names that Tandem and Hugging Face use.
std::string weights_file(const std::string& path) {
  if (!fs::is_directory(path)) return path;
  for (const char* name : {"model.safetensors", "pytorch_model.bin"})
    if (fs::exists(fs::path(path) / name)) return fs::path(path) / name;
  throw UsageError(path + ": the folder has neither model.safetensors nor pytorch_model.bin");
}

// n_head from a config.json next to the weights; 0 if there is none.
int64_t configured_heads(const std::string& folder) {
  const fs::path path = fs::path(folder) / "config.json";
  if (!fs::exists(path)) return 0;
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  try {
    const auto config = parse_json(text);
    return config.contains("n_head") ? get_entry<int64_t>(config, "n_head") : 0;
  } catch (const Error& error) {
    fail(path.string(), ": ", error.what());
  }
}

const Tensor& matrix(const State& state, const std::string& name) {
  const Tensor* found = state.find(name);
  check(found != nullptr, "the weights are not those of a GPT-2: there is no ", name);
  check(found->dim() == 2 && found->numel() > 0, "the weights are not those of a GPT-2: ", name, " is ",
        *found);
  return *found;
}

// The sizes of the model that has these weights. The number of heads is not among them.
models::GPT2Options sizes_of(const State& state, int64_t heads) {
  const std::string prefix = "transformer.";
  const Tensor tokens = matrix(state, prefix + "wte.weight"),
               positions = matrix(state, prefix + "wpe.weight");
  const int64_t width = tokens.size(1);
  int64_t layers = 0;
  while (state.contains(concat(prefix, "h.", layers, ".ln_1.weight"))) ++layers;
  check(layers > 0, "the weights are not those of a GPT-2: there is no ", prefix, "h.0.ln_1.weight");
  if (heads == 0 && width % kPublishedHeadWidth == 0) heads = width / kPublishedHeadWidth;
  check(heads > 0 && width % heads == 0, "the number of heads is not known: pass a --heads that divides ",
        width);
  return models::GPT2Options()
      .vocab_size(tokens.size(0))
      .n_positions(positions.size(0))
      .n_embd(width)
      .n_layer(layers)
      .n_head(heads)
      .n_inner(matrix(state, prefix + "h.0.mlp.c_fc.weight").size(1));
}

models::GPT2LMHeadModel load_model(const GenerateOptions& o, const std::string& file,
                                   const std::string& folder, const Device& device) {
  const State state = models::gpt2_state_dict(read_state(file, "", ""));
  const models::GPT2Options sizes = sizes_of(state, o.heads > 0 ? o.heads : configured_heads(folder));
  const nn::init::SkipGuard values_follow;
  models::GPT2LMHeadModel model(sizes);
  model->load_state_dict(state);
  model->to(device);
  model->eval();
  return model;
}

std::vector<int64_t> prompt_tokens(const GenerateOptions& o, const TextCodec& codec, int64_t vocab_size) {
  if (!o.prompt.empty() && !o.prompt_ids.empty()) throw UsageError("pass either --prompt or --prompt-ids");
  if (!o.prompt.empty() && !codec.encode)
    throw UsageError("--prompt: " + o.weights +
                     " has no tokenizer; pass the numbers of the tokens with --prompt-ids");
  const std::vector<int64_t> tokens = o.prompt.empty() ? o.prompt_ids : codec.encode(o.prompt);
  if (tokens.empty() && vocab_size == kPublishedVocabulary) return {kEndOfText};  // what a text starts with
  if (tokens.empty()) throw UsageError("the prompt is empty: pass --prompt or --prompt-ids");
  for (const int64_t token : tokens)
    if (token >= vocab_size)
      throw UsageError(concat("--prompt-ids: ", token, " is not a token; the model has ", vocab_size));
  return tokens;
}

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace

int generate_command(const GenerateOptions& o) {
  if (o.model != "gpt2")
    throw UsageError("unknown model " + o.model + did_you_mean(o.model, {"gpt2"}) + " (known: gpt2)");
  use_threads(o.threads);
  const Device device = use_device(o.device);
  const std::string file = weights_file(o.weights), folder = fs::path(file).parent_path();
  try {
    const models::GPT2LMHeadModel model = load_model(o, file, folder, device);
    const int64_t vocab_size = model->options.vocab_size();
    const TextCodec codec = find_codec(folder, vocab_size);
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
                     models::GenerateOptions()
                         .max_new_tokens(o.tokens)
                         .temperature(o.temperature)
                         .top_k(o.top_k)
                         .top_p(o.top_p)
                         .seed(o.seed)
                         .end_token(vocab_size == kPublishedVocabulary ? kEndOfText : -1)
                         .on_tokens(show));
    print(characters.finish() + "\n");
    const double seconds = std::chrono::duration<double>(Clock::now() - first).count();
    std::fprintf(stderr, "%s read in %.2f s; %s, %.1f per second\n",
                 counted(static_cast<long long>(prompt.size()), "token", "tokens").c_str(),
                 std::chrono::duration<double>(first - start).count(),
                 counted(count, "new one", "new ones").c_str(),
                 count > 1 && seconds > 0 ? static_cast<double>(count - 1) / seconds : 0);
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {  // the file, or options that do not fit the model
    throw UsageError(error.what());
  }
  return stop_signal == 0 ? 0 : 128 + stop_signal;
}

}  // namespace tandem::cli
