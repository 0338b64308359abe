// Sizes of language models: by name, by options, from weights.
#include "tandem/cli/text/text_config.h"

#include "tandem/cli/json.h"
#include "tandem/cli/options.h"

namespace tandem::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMaxLayers = 1024, kMaxWidth = 1 << 16, kMaxPositions = 1 << 20, kMaxTokens = 1 << 22,
                  kMaxSteps = 1'000'000'000;
constexpr int64_t kPublishedPositions = 1024;
// Attention over all of a published model's positions takes long on a CPU; texts are cut into shorter examples.
constexpr int64_t kFineTuningContext = 128;

struct NamedSize {
  const char* name;
  int64_t layers, heads, width, positions;
};

// The first is small enough for a laptop's CPU; the others are the published ones.
constexpr NamedSize kSizes[] = {
    {"gpt2", 4, 4, 128, 128},
    {"gpt2-small", 12, 12, 768, kPublishedPositions},
    {"gpt2-medium", 24, 16, 1024, kPublishedPositions},
    {"gpt2-large", 36, 20, 1280, kPublishedPositions},
    {"gpt2-xl", 48, 25, 1600, kPublishedPositions},
};

const NamedSize& size_named(const std::string& name) {
  for (const NamedSize& size : kSizes)
    if (name == size.name) return size;
  fail("unknown model ", name);
}

void in_range(const char* name, int64_t value, int64_t least, int64_t most) {
  check(value >= least && value <= most, "--", name, " ", value, ": expected ", least, " to ", most);
}

void check_config(const TextConfig& c) {
  const models::GPT2Options& m = c.model;
  check(c.tokenizer == "char" || c.tokenizer == "bpe", "invalid \"tokenizer\"");
  in_range("layers", m.n_layer(), 1, kMaxLayers);
  in_range("width", m.n_embd(), 1, kMaxWidth);
  in_range("heads", m.n_head(), 1, kMaxWidth);
  check(m.n_embd() % m.n_head() == 0, "--heads ", m.n_head(), ": must divide the width ", m.n_embd());
  check(m.n_inner() >= 0 && m.n_inner() <= 16 * kMaxWidth, "invalid \"inner\" ", m.n_inner());
  check(m.vocab_size() >= 1 && m.vocab_size() <= kMaxTokens, "invalid \"vocab_size\" ", m.vocab_size());
  check(m.n_positions() >= 1 && m.n_positions() <= kMaxPositions, "invalid \"positions\" ", m.n_positions());
  in_range("context", c.context, 1, m.n_positions());
  in_range("steps", c.steps, 1, kMaxSteps);
  check(c.validation >= 0 && c.validation <= kMaxValidation, "--validation ", c.validation,
        ": expected a share of the text, at most 0.9");
  const double dropout = m.resid_pdrop();
  check(dropout >= 0 && dropout < 1, "--dropout ", dropout, ": expected a number from 0 to below 1");
  check(c.end_of_text >= -1 && c.end_of_text < m.vocab_size(), "invalid \"end_of_text\" ", c.end_of_text);
}

models::GPT2Options with_dropout(models::GPT2Options m, double dropout) {
  return m.resid_pdrop(dropout).embd_pdrop(dropout).attn_pdrop(dropout);
}

void fits(const char* option, const std::optional<int64_t>& given, int64_t stored) {
  check(!given || *given == stored, "--", option, " ", given.value_or(0), ": the weights have ", stored);
}

models::GPT2Options sizes_of(const std::string& name, const TextOptions& o, int64_t vocab_size) {
  const NamedSize& size = size_named(name);
  return models::GPT2Options()
      .vocab_size(vocab_size)
      .n_layer(o.layers.value_or(size.layers))
      .n_head(o.heads.value_or(size.heads))
      .n_embd(o.width.value_or(size.width))
      .n_positions(o.context.value_or(size.positions));
}

models::GPT2Options checked_sizes(const std::string& name, const TextOptions& o, const models::GPT2Options& weights) {
  const NamedSize& size = size_named(name);
  check(name == kSizes[0].name || (size.layers == weights.n_layer() && size.width == weights.n_embd()), "--model ",
        name, ": has ", size.layers, " layers of width ", size.width, ", the weights have ", weights.n_layer(), " of ",
        weights.n_embd(), "; --model gpt2 takes the sizes of the weights");
  fits("layers", o.layers, weights.n_layer());
  fits("heads", o.heads, weights.n_head());
  fits("width", o.width, weights.n_embd());
  check(o.context.value_or(1) <= weights.n_positions(), "--context ", o.context.value_or(1), ": the weights have ",
        weights.n_positions(), " positions");
  return weights;
}

}  // namespace

std::vector<std::string> text_model_names() {
  std::vector<std::string> out;
  for (const NamedSize& size : kSizes) out.emplace_back(size.name);
  return out;
}

bool is_text_model(const std::string& name) {
  for (const NamedSize& size : kSizes)
    if (name == size.name) return true;
  return false;
}

TextConfig make_text_config(const std::string& name, const TextOptions& o, std::optional<double> validation,
                            int64_t vocab_size, const models::GPT2Options* weights) {
  TextConfig c;
  try {
    c.model = weights != nullptr ? checked_sizes(name, o, *weights) : sizes_of(name, o, vocab_size);
    c.context = o.context.value_or(weights != nullptr ? std::min(weights->n_positions(), kFineTuningContext)
                                                      : c.model.n_positions());
    // A small model on little time does not overfit; large ones do.
    const bool small = weights == nullptr && name == kSizes[0].name;
    c.model = with_dropout(c.model, o.dropout.value_or(small ? 0 : 0.1));
    c.steps = o.steps.value_or(c.steps);
    c.validation = validation.value_or(0);
    check(!validation || *validation > 0, "--validation 0: expected a share above 0");
    check_config(c);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
  return c;
}

void check_same(const TextOptions& o, const TextConfig& c) {
  const auto same = [](const char* name, const auto& given, const auto& stored) {
    if (given && *given != stored)
      refuse("--", name, " ", *given, ": the resumed run was started with ", stored, "; leave it out");
  };
  same("layers", o.layers, c.model.n_layer());
  same("heads", o.heads, c.model.n_head());
  same("width", o.width, c.model.n_embd());
  same("context", o.context, c.context);
  same("steps", o.steps, c.steps);
  same("dropout", o.dropout, c.model.resid_pdrop());
  require(o.tokenizer.empty(), "--tokenizer: a resumed run keeps its tokenizer; leave it out");
}

Json to_json(const TextConfig& c) {
  return {{"tokenizer", c.tokenizer},           {"vocab_size", c.model.vocab_size()},
          {"layers", c.model.n_layer()},        {"heads", c.model.n_head()},
          {"width", c.model.n_embd()},          {"inner", c.model.n_inner()},
          {"positions", c.model.n_positions()}, {"context", c.context},
          {"dropout", c.model.resid_pdrop()},   {"steps", c.steps},
          {"validation", c.validation},         {"end_of_text", c.end_of_text}};
}

TextConfig text_config_from_json(const Json& json) {
  check(json.is_object(), "entry \"text\": expected an object");
  TextConfig c{.tokenizer = get_entry<std::string>(json, "tokenizer"),
               .context = get_entry<int64_t>(json, "context"),
               .steps = get_entry<int64_t>(json, "steps"),
               .validation = get_entry<double>(json, "validation"),
               .end_of_text = get_entry<int64_t>(json, "end_of_text")};
  c.model = with_dropout(models::GPT2Options()
                             .vocab_size(get_entry<int64_t>(json, "vocab_size"))
                             .n_positions(get_entry<int64_t>(json, "positions"))
                             .n_embd(get_entry<int64_t>(json, "width"))
                             .n_layer(get_entry<int64_t>(json, "layers"))
                             .n_head(get_entry<int64_t>(json, "heads"))
                             .n_inner(get_entry<int64_t>(json, "inner")),
                         get_entry<double>(json, "dropout"));
  check_config(c);
  return c;
}

void add_transformers_entries(Json& json, const TextConfig& c) {
  const models::GPT2Options& m = c.model;
  const Json end = c.end_of_text < 0 ? Json(nullptr) : Json(c.end_of_text);
  json["model_type"] = "gpt2";
  json["architectures"] = {"GPT2LMHeadModel"};
  json["vocab_size"] = m.vocab_size();
  json["n_positions"] = m.n_positions();
  json["n_embd"] = m.n_embd();
  json["n_layer"] = m.n_layer();
  json["n_head"] = m.n_head();
  json["n_inner"] = m.n_inner() == 0 ? Json(nullptr) : Json(m.n_inner());
  json["activation_function"] = "gelu_new";
  json["resid_pdrop"] = m.resid_pdrop();
  json["embd_pdrop"] = m.embd_pdrop();
  json["attn_pdrop"] = m.attn_pdrop();
  json["layer_norm_epsilon"] = m.layer_norm_epsilon();
  json["initializer_range"] = m.initializer_range();
  json["bos_token_id"] = end;
  json["eos_token_id"] = end;
  json["tie_word_embeddings"] = true;
}

double text_parameters(const models::GPT2Options& m) {
  const auto width = static_cast<double>(m.n_embd()), layers = static_cast<double>(m.n_layer());
  const double inner = m.n_inner() > 0 ? static_cast<double>(m.n_inner()) : 4 * width;
  const double attention = 4 * width * width + 4 * width, mlp = 2 * width * inner + inner + width;
  return (static_cast<double>(m.vocab_size()) + static_cast<double>(m.n_positions())) * width +
         layers * (attention + mlp + 4 * width) + 2 * width;
}

}  // namespace tandem::cli
