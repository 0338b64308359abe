// GPT-2.
#include "tandem/models/gpt2.h"

#include <cmath>
#include <ostream>

#include "tandem/autograd/autocast.h"
#include "tandem/autograd/ops.h"
#include "tandem/nn/init.h"

namespace tandem::models {
namespace {

nn::LayerNorm normalisation(const GPT2Options& o) {
  return nn::LayerNorm(nn::LayerNormOptions({o.n_embd()}).eps(o.layer_norm_epsilon()));
}
nn::Embedding embedding(int64_t count, const GPT2Options& o) {
  nn::Embedding layer(count, o.n_embd());
  nn::init::normal_(layer->weight, 0, o.initializer_range());
  return layer;
}

struct Attended {
  Tensor queries, keys, values;  // [N, heads, T, E / heads]
};
// From [N, T, 3 E].
Attended attended(const Tensor& joined, int64_t heads) {
  const std::vector<Tensor> parts = joined.chunk(3, -1);
  const auto split = [heads](const Tensor& t) { return t.unflatten(2, {heads, t.size(2) / heads}).transpose(1, 2); };
  return {split(parts[0]), split(parts[1]), split(parts[2])};
}

// Each layer adds to the residual twice; the deviation of these projections keeps the sum's independent of the depth.
double residual_deviation(const GPT2Options& o) {
  return o.initializer_range() / std::sqrt(static_cast<double>(2 * o.n_layer()));
}

}  // namespace

Conv1DImpl::Conv1DImpl(int64_t in_features, int64_t out_features, double std)
    : Cloneable("tandem::models::Conv1D"), in_features(in_features), out_features(out_features), std(std) {
  Conv1DImpl::reset();
}
void Conv1DImpl::reset() {
  if (is_quantized())
    reset_int8(parameters_, buffers_, weight);
  else
    weight = register_parameter("weight", tandem::empty({in_features, out_features}));
  bias = register_parameter("bias", zeros({out_features}));
  if (!is_quantized()) nn::init::normal_(weight, 0, std);
}
void Conv1DImpl::pretty_print(std::ostream& stream) const {
  stream << name();
  if (is_quantized()) stream << "(" << int8_text() << ")";
}
Tensor Conv1DImpl::forward(const Tensor& input) {
  if (is_quantized()) return int8_product(*this, input, bias);
  // Autocast keeps the conversions of leaves only, so this one comes before the transposition.
  const DeviceType device = input.device().type();
  const Tensor kept = autocast::is_autocast_enabled(device)
                          ? autocast::cached_cast(autocast::get_autocast_dtype(device), weight, device)
                          : weight;
  return linear(input, kept.t(), bias);
}
void Conv1DImpl::quantize(const Tensor& values, const Tensor& scales) {
  hold_int8(parameters_, buffers_, weight, values, scales);
}

GPT2AttentionImpl::GPT2AttentionImpl(const GPT2Options& options)
    : Cloneable("tandem::models::GPT2Attention"), options(options) {
  GPT2AttentionImpl::reset();
}
void GPT2AttentionImpl::reset() {
  const int64_t width = options.n_embd();
  check(options.n_head() > 0 && width % options.n_head() == 0, "GPT2: n_head = ", options.n_head(),
        " must be positive and divide n_embd = ", width);
  c_attn = register_module("c_attn", Conv1D(width, 3 * width, options.initializer_range()));
  c_proj = register_module("c_proj", Conv1D(width, width, residual_deviation(options)));
  resid_dropout = register_module("resid_dropout", nn::Dropout(options.resid_pdrop()));
}
Tensor GPT2AttentionImpl::forward(const Tensor& input) {
  const auto [queries, keys, values] = attended(c_attn(input), options.n_head());
  const Tensor out = scaled_dot_product_attention(queries, keys, values, {}, is_training() ? options.attn_pdrop() : 0,
                                                  /*is_causal=*/true);
  return resid_dropout(c_proj(out.transpose(1, 2).flatten(2)));
}
Tensor GPT2AttentionImpl::forward(const Tensor& input, const GPT2Cache& cache, int64_t layer) {
  const auto [queries, new_keys, new_values] = attended(c_attn(input), options.n_head());
  const auto [keys, values] = cache.append(layer, new_keys, new_values);
  if (cache.visible().defined())
    return resid_dropout(
        c_proj(scaled_dot_product_attention(queries, keys, values, cache.visible()).transpose(1, 2).flatten(2)));
  const int64_t count = queries.size(2), before = cache.length();
  Tensor counts;
  if (const Tensor padding = cache.padding(); padding.defined())  // a token of the padding sees nothing, and gets zeros
    counts = arange(before + count, TensorOptions(kLong).device(queries.device())).view({1, 1, 1, -1}) >=
             padding.view({-1, 1, 1, 1});
  const Tensor out = autograd::causal_attention(queries, keys, values, before, counts);
  return resid_dropout(c_proj(out.transpose(1, 2).flatten(2)));
}

GPT2MLPImpl::GPT2MLPImpl(const GPT2Options& options) : Cloneable("tandem::models::GPT2MLP"), options(options) {
  GPT2MLPImpl::reset();
}
void GPT2MLPImpl::reset() {
  const int64_t width = options.n_embd(), inner = options.n_inner() > 0 ? options.n_inner() : 4 * width;
  c_fc = register_module("c_fc", Conv1D(width, inner, options.initializer_range()));
  c_proj = register_module("c_proj", Conv1D(inner, width, residual_deviation(options)));
  dropout = register_module("dropout", nn::Dropout(options.resid_pdrop()));
}
Tensor GPT2MLPImpl::forward(const Tensor& input) { return dropout(c_proj(gelu(c_fc(input), "tanh"))); }

GPT2BlockImpl::GPT2BlockImpl(const GPT2Options& options) : Cloneable("tandem::models::GPT2Block"), options(options) {
  GPT2BlockImpl::reset();
}
void GPT2BlockImpl::reset() {
  ln_1 = register_module("ln_1", normalisation(options));
  attn = register_module("attn", GPT2Attention(options));
  ln_2 = register_module("ln_2", normalisation(options));
  mlp = register_module("mlp", GPT2MLP(options));
}
Tensor GPT2BlockImpl::forward(const Tensor& input) {
  const Tensor x = input + attn(ln_1(input));
  return x + mlp(ln_2(x));
}
Tensor GPT2BlockImpl::forward(const Tensor& input, const GPT2Cache& cache, int64_t layer) {
  const Tensor x = input + attn(ln_1(input), cache, layer);
  return x + mlp(ln_2(x));
}

GPT2ModelImpl::GPT2ModelImpl(const GPT2Options& options) : Cloneable("tandem::models::GPT2Model"), options(options) {
  GPT2ModelImpl::reset();
}
void GPT2ModelImpl::reset() {
  wte = register_module("wte", embedding(options.vocab_size(), options));
  wpe = register_module("wpe", embedding(options.n_positions(), options));
  drop = register_module("drop", nn::Dropout(options.embd_pdrop()));
  nn::ModuleList blocks;
  for (int64_t i = 0; i < options.n_layer(); ++i) blocks->push_back(GPT2Block(options));
  h = register_module("h", blocks);
  ln_f = register_module("ln_f", normalisation(options));
}
Tensor GPT2ModelImpl::forward(const Tensor& input_ids) {
  check(input_ids.dim() == 2 && input_ids.size(1) <= options.n_positions(),
        "GPT2: input_ids must be [N, T] with T <= ", options.n_positions(), ", got ", input_ids);
  const int64_t count = input_ids.size(1);
  const Tensor tokens = wte(input_ids);
  // Training needs no numbers of positions from the host, and no sums of gradients by position.
  const bool rows = is_training() && !wpe->is_quantized() && !wpe->has_forward_hooks();
  Tensor x = drop(tokens + (rows ? wpe->weight.narrow(0, 0, count)
                                 : wpe(arange(count, TensorOptions(kLong).device(input_ids.device())).unsqueeze(0))));
  for (const auto& block : *h) x = nn::call(*block->as<GPT2Block>(), x);
  return ln_f(x);
}
Tensor GPT2ModelImpl::forward(const Tensor& input_ids, const GPT2Cache& cache) {
  check(!is_training(), "GPT2: a cache is for evaluation mode; call eval() first");
  cache.check_room(input_ids, options);
  const NoGradGuard no_grad;
  const int64_t before = cache.length(), count = input_ids.size(1);
  const bool at_place = cache.place().defined();
  if (at_place) cache.begin_token();
  // Copied from the host, so that a captured step, for which they would always be the same, refuses them.
  Tensor positions =
      (at_place ? cache.place() : arange(before, before + count, kLong).to(input_ids.device())).unsqueeze(0);
  if (cache.padding().defined()) positions = (positions - cache.padding().unsqueeze(1)).clamp_min(0);
  Tensor x = drop(wte(input_ids) + wpe(positions));
  int64_t layer = 0;
  for (const auto& block : *h) x = nn::call(*block->as<GPT2Block>(), x, cache, layer++);
  if (at_place)
    cache.end_token();
  else
    cache.advance(count);
  return ln_f(x);
}

GPT2HeadImpl::GPT2HeadImpl(const Tensor& embedding) : Module("tandem::models::GPT2Head") {
  weight = register_parameter("weight", embedding);
}
void GPT2HeadImpl::pretty_print(std::ostream& stream) const {
  stream << name();
  if (is_quantized()) stream << "(" << int8_text() << ")";
}
Tensor GPT2HeadImpl::forward(const Tensor& input) {
  return is_quantized() ? int8_product(*this, input, {}) : linear(input, weight);
}
void GPT2HeadImpl::quantize(const Tensor& values, const Tensor& scales) {
  hold_int8(parameters_, buffers_, weight, values, scales);
}

GPT2LMHeadModelImpl::GPT2LMHeadModelImpl(const GPT2Options& options)
    : Cloneable("tandem::models::GPT2LMHeadModel"), options(options) {
  GPT2LMHeadModelImpl::reset();
}
void GPT2LMHeadModelImpl::reset() {
  transformer = register_module("transformer", GPT2Model(options));
  lm_head = register_module("lm_head", GPT2Head(transformer->wte->weight));
}
std::shared_ptr<nn::Module> GPT2LMHeadModelImpl::clone(const optional<Device>& device) const {
  NoGradGuard no_grad;
  auto copy = std::make_shared<GPT2LMHeadModelImpl>(*this);
  copy->forget_members();
  copy->transformer = GPT2Model(std::dynamic_pointer_cast<GPT2ModelImpl>(transformer->clone(device)));
  copy->register_module("transformer", copy->transformer);
  const nn::EmbeddingImpl& tokens = *copy->transformer->wte;
  copy->lm_head = copy->register_module("lm_head", GPT2Head(tokens.weight));
  if (tokens.is_quantized()) copy->lm_head->quantize(tokens.weight_int8, tokens.weight_scale);
  copy->lm_head->train(lm_head->is_training());
  return copy;
}
Tensor GPT2LMHeadModelImpl::forward(const Tensor& input_ids) { return lm_head(transformer(input_ids)); }
Tensor GPT2LMHeadModelImpl::forward(const Tensor& input_ids, const GPT2Cache& cache) {
  return lm_head(transformer(input_ids, cache));
}

GPT2LMHeadModel gpt2() { return GPT2LMHeadModel(GPT2Options()); }

OrderedDict<std::string, Tensor> gpt2_state_dict(const OrderedDict<std::string, Tensor>& state) {
  const std::string prefix = "transformer.", head = "lm_head.";
  OrderedDict<std::string, Tensor> out("Entry");
  for (const auto& item : state) {
    const std::string& key = item.key();
    if (key.ends_with(".attn.bias") || key.ends_with(".attn.masked_bias")) continue;
    out.insert(key.starts_with(prefix) || key.starts_with(head) ? key : prefix + key, item.value());
  }
  for (const std::string name : {"weight", "weight_int8", "weight_scale"})
    if (const Tensor* tokens = out.find(prefix + "wte." + name); tokens != nullptr && !out.contains(head + name))
      out.insert(head + name, Tensor(*tokens));
  return out;
}

}  // namespace tandem::models
