// GPT-2 from sizes and from files.
#include "tandem/cli/text_model.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tandem/cli/json.h"
#include "tandem/cli/weight_files.h"
#include "tandem/nn/files/safetensors_index.h"
#include "tandem/nn/init.h"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;
using State = OrderedDict<std::string, Tensor>;

constexpr int64_t kPublishedHeadWidth = 64;  // in all published sizes

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

}  // namespace

nn::Sequential make_text_model(const TextConfig& config) {
  nn::Sequential all;
  all->push_back("net", models::GPT2LMHeadModel(config.model));
  return all;
}

nn::Sequential make_text_model_for(const TextConfig& config, const serialize::InputArchive& stored) {
  double have = 0;
  for (const auto& item : stored.tensors()) have += static_cast<double>(item.value().numel());
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

OrderedDict<std::string, Tensor> exported_text(const nn::Sequential& model) {
  OrderedDict<std::string, Tensor> out("Tensor");
  for (const auto& item : gpt2_in(model)->state_dict())
    if (item.key() != "lm_head.weight") out.insert(item.key(), item.value());
  return out;
}

std::string weights_file(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return path;
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"})
    if (fs::exists(fs::path(path) / name, error)) return fs::path(path) / name;
  return serialize::checkpoint_file(path);
}

TextWeights read_text_weights(const std::string& path, int64_t heads) {
  const std::string file = weights_file(path);
  TextWeights out{.folder = fs::path(file).parent_path().string()};
  out.state = models::gpt2_state_dict(read_state(file, "", ""));
  out.sizes = sizes_of(out.state, heads > 0 ? heads : configured_heads(out.folder));
  return out;
}

}  // namespace tandem::cli
