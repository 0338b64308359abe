// GPT-2, with the parameter names and shapes of Hugging Face's GPT2LMHeadModel.
//
// A. Radford et al.: Language models are unsupervised multitask learners. 2019.
#pragma once
#include "tandem/core/arg.h"
#include "tandem/models/gpt2_cache.h"
#include "tandem/nn/layers/dropout.h"
#include "tandem/nn/layers/embedding.h"
#include "tandem/nn/layers/layer_norm.h"
#include "tandem/nn/module_list.h"
#include "tandem/nn/quantizable.h"

namespace tandem::models {

/// By default the smallest published model, with 124 million parameters.
struct GPT2Options {
  TANDEM_ARG(int64_t, vocab_size) = 50257;
  /// The longest sequence.
  TANDEM_ARG(int64_t, n_positions) = 1024;
  TANDEM_ARG(int64_t, n_embd) = 768;
  TANDEM_ARG(int64_t, n_layer) = 12;
  TANDEM_ARG(int64_t, n_head) = 12;
  /// Width of the feed-forward networks; 0: 4 n_embd.
  TANDEM_ARG(int64_t, n_inner) = 0;
  TANDEM_ARG(double, resid_pdrop) = 0.1;
  TANDEM_ARG(double, embd_pdrop) = 0.1;
  TANDEM_ARG(double, attn_pdrop) = 0.1;
  TANDEM_ARG(double, layer_norm_epsilon) = 1e-5;
  TANDEM_ARG(double, initializer_range) = 0.02;
};

/// y = x weight + bias: a linear layer whose weight [in, out] is stored transposed.
class Conv1DImpl : public nn::Cloneable<Conv1DImpl>, public nn::Quantizable {
 public:
  /// The weight starts normal with deviation `std`, the bias at 0.
  Conv1DImpl(int64_t in_features, int64_t out_features, double std);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  Tensor weight_rows() const override { return weight.defined() ? weight.t() : weight; }
  void quantize(const Tensor& values, const Tensor& scales) override;

  int64_t in_features, out_features;
  double std;
  Tensor weight, bias;
};
TANDEM_MODULE(Conv1D);

class GPT2AttentionImpl : public nn::Cloneable<GPT2AttentionImpl> {
 public:
  /// Throws Error unless n_head divides n_embd.
  explicit GPT2AttentionImpl(const GPT2Options& options);
  void reset() override;
  /// [N, T, n_embd] to the same shape; a position attends to itself and to earlier ones.
  Tensor forward(const Tensor& input);
  /// The same for positions behind those in the cache, as layer `layer`.
  Tensor forward(const Tensor& input, const GPT2Cache& cache, int64_t layer);

  GPT2Options options;
  Conv1D c_attn = nullptr, c_proj = nullptr;
  nn::Dropout resid_dropout = nullptr;
};
TANDEM_MODULE(GPT2Attention);

class GPT2MLPImpl : public nn::Cloneable<GPT2MLPImpl> {
 public:
  explicit GPT2MLPImpl(const GPT2Options& options);
  void reset() override;
  Tensor forward(const Tensor& input);

  GPT2Options options;
  Conv1D c_fc = nullptr, c_proj = nullptr;
  nn::Dropout dropout = nullptr;
};
TANDEM_MODULE(GPT2MLP);

class GPT2BlockImpl : public nn::Cloneable<GPT2BlockImpl> {
 public:
  explicit GPT2BlockImpl(const GPT2Options& options);
  void reset() override;
  Tensor forward(const Tensor& input);
  Tensor forward(const Tensor& input, const GPT2Cache& cache, int64_t layer);

  GPT2Options options;
  nn::LayerNorm ln_1 = nullptr;
  GPT2Attention attn = nullptr;
  nn::LayerNorm ln_2 = nullptr;
  GPT2MLP mlp = nullptr;
};
TANDEM_MODULE(GPT2Block);

/// The network without its last layer.
class GPT2ModelImpl : public nn::Cloneable<GPT2ModelImpl> {
 public:
  explicit GPT2ModelImpl(const GPT2Options& options = {});
  void reset() override;
  /// Tokens [N, T], int64, with T <= n_positions, to features [N, T, n_embd]. Throws Error for other shapes.
  Tensor forward(const Tensor& input_ids);
  /// The same for the tokens that follow those in the cache, which it then holds, too.
  Tensor forward(const Tensor& input_ids, const GPT2Cache& cache);

  GPT2Options options;
  nn::Embedding wte = nullptr, wpe = nullptr;
  nn::Dropout drop = nullptr;
  nn::ModuleList h = nullptr;
  nn::LayerNorm ln_f = nullptr;
};
TANDEM_MODULE(GPT2Model);

/// The last layer: y = x weightᵀ with the weight [vocab_size, n_embd] of the embedding.
class GPT2HeadImpl : public nn::Module, public nn::Quantizable {
 public:
  explicit GPT2HeadImpl(const Tensor& embedding);
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  Tensor weight_rows() const override { return weight; }
  void quantize(const Tensor& values, const Tensor& scales) override;
  Tensor weight;
};
TANDEM_MODULE(GPT2Head);

/// lm_head.weight and transformer.wte.weight are one tensor: state_dict() lists both, parameters() the latter.
class GPT2LMHeadModelImpl : public nn::Cloneable<GPT2LMHeadModelImpl> {
 public:
  explicit GPT2LMHeadModelImpl(const GPT2Options& options = {});
  void reset() override;
  /// The copy's two names are one tensor, too.
  std::shared_ptr<nn::Module> clone(const optional<Device>& device = nullopt) const override;
  /// Tokens [N, T], int64, to logits [N, T, vocab_size].
  Tensor forward(const Tensor& input_ids);
  /// The logits of tokens [N, T] that follow those in the cache, as if the model had been given all of them; the cache
  /// then holds these tokens, too. In evaluation mode only, and without gradients. Throws Error, with the cache as it
  /// was, if the cache has no room for T more tokens. See generate.h.
  ///
  ///   models::GPT2Cache cache(model->options, 1, 1024);
  ///   Tensor logits = model->forward(prompt, cache);       // [1, T, vocab_size]
  ///   logits = model->forward(next_token, cache);          // [1, 1, vocab_size]
  Tensor forward(const Tensor& input_ids, const GPT2Cache& cache);

  GPT2Options options;
  GPT2Model transformer = nullptr;
  GPT2Head lm_head = nullptr;
};
TANDEM_MODULE(GPT2LMHeadModel);

/// The model with 124 million parameters.
GPT2LMHeadModel gpt2();

/// A published state dict with the names of GPT2LMHeadModel: adds the prefix "transformer." and lm_head.weight where
/// they are missing (or the head's int8 values and scales, nn/quantize.h), and leaves out the masks attn.bias and
/// attn.masked_bias of old files. The tensors are shared.
OrderedDict<std::string, Tensor> gpt2_state_dict(const OrderedDict<std::string, Tensor>& state);

}  // namespace tandem::models
