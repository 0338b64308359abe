// GPT-2 from sizes and from files.
#include "tandem/cli/text/text_model.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tandem/cli/json.h"
#include "tandem/cli/train/weight_files.h"
#include "tandem/nn/files/safetensors_index.h"
#include "tandem/nn/init.h"
#include "tandem/nn/quantize.h"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;
using State = OrderedDict<std::string, Tensor>;

constexpr int64_t kPublishedHeadWidth = 64;  // in all published sizes

struct Configured {
  int64_t heads = 0;      // 0: unknown
  double epsilon = 1e-5;  // of layer normalisation
};

// What a config.json next to the weights says beyond their shapes. Throws Error for models that compute something else.
Configured configured(const std::string& folder) {
  const fs::path path = fs::path(folder) / "config.json";
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  try {
    const auto config = parse_json(text);
    Configured out;
    if (config.contains("n_head")) out.heads = get_entry<int64_t>(config, "n_head");
    if (config.contains("layer_norm_epsilon")) out.epsilon = get_entry<double>(config, "layer_norm_epsilon");
    check(out.epsilon > 0 && out.epsilon < 1, "layer_norm_epsilon ", out.epsilon, ": expected a small positive number");
    if (config.contains("activation_function"))
      check(get_entry<std::string>(config, "activation_function") == "gelu_new",
            "the activation function is not gelu_new, the only one that is known");
    constexpr const char* kScaled = "scale_attn_by_inverse_layer_idx";
    check(!config.contains(kScaled) || !get_entry<bool>(config, kScaled), kScaled, " is not supported");
    return out;
  } catch (const Error& error) {
    fail(path.string(), ": ", error.what());
  }
}

// The weight of a layer, or its int8 values.
const Tensor& matrix(const State& state, const std::string& layer) {
  const std::string name = layer + (state.contains(layer + ".weight_int8") ? ".weight_int8" : ".weight");
  const Tensor* found = state.find(name);
  check(found != nullptr, "the weights are not those of a GPT-2: there is no ", name);
  check(found->dim() == 2 && found->numel() > 0, "the weights are not those of a GPT-2: ", name, " is ", *found);
  return *found;
}

// The sizes of the model that has these weights. The number of heads is not among them.
models::GPT2Options sizes_of(const State& state, int64_t heads, double epsilon) {
  const std::string prefix = "transformer.";
  const Tensor tokens = matrix(state, prefix + "wte"), positions = matrix(state, prefix + "wpe");
  const int64_t width = tokens.size(1);
  const std::string inner = prefix + "h.0.mlp.c_fc";
  int64_t layers = 0;
  while (state.contains(concat(prefix, "h.", layers, ".ln_1.weight"))) ++layers;
  check(layers > 0, "the weights are not those of a GPT-2: there is no ", prefix, "h.0.ln_1.weight");
  if (heads == 0 && width % kPublishedHeadWidth == 0) heads = width / kPublishedHeadWidth;
  check(heads > 0 && width % heads == 0, "the number of heads is not known: pass a --heads that divides ", width);
  return models::GPT2Options()
      .vocab_size(tokens.size(0))
      .n_positions(positions.size(0))
      .n_embd(width)
      .n_layer(layers)
      .n_head(heads)
      .layer_norm_epsilon(epsilon)
      .n_inner(matrix(state, inner).size(state.contains(inner + ".weight_int8") ? 0 : 1));
}

// With the weights, which it holds as the state does: float or int8.
models::GPT2LMHeadModel model_with(const models::GPT2Options& sizes, const State& state) {
  const nn::init::SkipGuard values_follow;
  models::GPT2LMHeadModel model(sizes);
  nn::quantize_like(model, state);
  model->load_state_dict(state);
  model->eval();
  return model;
}

OrderedDict<std::string, Tensor> without_head(const nn::Module& model) {
  OrderedDict<std::string, Tensor> out("Tensor");
  for (const auto& item : model.state_dict())
    if (!item.key().starts_with("lm_head.")) out.insert(item.key(), item.value());
  return out;
}

}  // namespace

nn::Sequential make_text_model(const TextConfig& config) {
  nn::Sequential all;
  all->push_back("net", models::GPT2LMHeadModel(config.model));
  return all;
}

nn::Sequential make_text_model_for(const TextConfig& config, const serialize::InputArchive& stored) {
  const double have = value_count(stored.tensors());
  const double need = text_parameters(config.model);
  check(need <= have, "the stored parameters do not fit the model: got ", have, " values, expected ", need);
  const nn::init::SkipGuard values_follow;
  return make_text_model(config);
}

models::GPT2LMHeadModel gpt2_in(const nn::Sequential& model) {
  const auto net = std::dynamic_pointer_cast<models::GPT2LMHeadModelImpl>(model->named_children()["net"]);
  check(net != nullptr, "not a GPT-2");
  return models::GPT2LMHeadModel(net);
}

OrderedDict<std::string, Tensor> exported_text(const nn::Sequential& model) { return without_head(*gpt2_in(model)); }

std::string weights_file(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return path;
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"})
    if (fs::exists(fs::path(path) / name, error)) return fs::path(path) / name;
  check(!fs::exists(fs::path(path) / "checkpoint.safetensors", error), path,
        ": the run is not complete, so it has no model.safetensors; continue it with --resume");
  return serialize::checkpoint_file(path);
}

TextWeights read_text_weights(const std::string& path, int64_t heads, const std::string& key) {
  const std::string file = weights_file(path);
  TextWeights out{.folder = fs::path(file).parent_path().string()};
  out.state = models::gpt2_state_dict(read_state(file, key));
  const Configured known = configured(out.folder);
  out.sizes = sizes_of(out.state, heads > 0 ? heads : known.heads, known.epsilon);
  // Before memory is allocated for a model of these sizes.
  const double have = value_count(out.state);
  check(text_parameters(out.sizes) <= have, file, ": the weights are not those of a GPT-2: there are ", have,
        " values, a model of these sizes has ", text_parameters(out.sizes));
  return out;
}

TextModel text_model_of(const std::string& path, int64_t heads, const std::string& key, const Device& device) {
  const TextWeights weights = read_text_weights(path, heads, key);
  TextModel out{.codec = find_codec(weights.folder)};
  check(out.codec.size <= weights.sizes.vocab_size(), weights.folder, ": the tokenizer has tokens up to ",
        out.codec.size - 1, ", the model only ", weights.sizes.vocab_size());
  out.model = model_with(weights.sizes, weights.state);
  out.model->to(device);
  return out;
}

OrderedDict<std::string, Tensor> quantized_text(const OrderedDict<std::string, Tensor>& state, int64_t bits) {
  const State named = models::gpt2_state_dict(state);
  const models::GPT2LMHeadModel model = model_with(sizes_of(named, /*heads=*/1, 1e-5), named);
  nn::quantize_weights(model, {.bits = bits});
  return without_head(*model);
}

}  // namespace tandem::cli
