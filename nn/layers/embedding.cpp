// Embedding, EmbeddingBag, and the functional forms embedding, embedding_bag and one_hot.
#include "tandem/nn/layers/embedding.h"

#include <ostream>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/index/gather.h"
#include "tandem/autograd/ops/nn/embedding.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/nn/functional/embedding.h"

namespace tandem::nn::functional {

Tensor embedding(const Tensor& input, const Tensor& weight, const EmbeddingFuncOptions& options) {
  check(weight.dim() == 2, "embedding: weight must be [rows, columns], got ", weight);
  int64_t padding = -1;  // none
  if (options.padding_idx()) padding = wrap_dim(*options.padding_idx(), weight.size(0));
  if (options.max_norm()) embedding_renorm_(weight, input, *options.max_norm(), options.norm_type());
  return tandem::embedding(weight, input, padding, options.scale_grad_by_freq(), options.sparse());
}
Tensor embedding_bag(const Tensor& input, const Tensor& weight, const EmbeddingBagFuncOptions& options) {
  Tensor indices = input, offsets = options.offsets(), weights = options.per_sample_weights();
  check(!weights.defined() || weights.sizes() == input.sizes(),
        "embedding_bag: per_sample_weights must have the shape of input\n  per_sample_weights ", weights,
        "\n  input              ", input);
  if (input.dim() == 2) {
    check(!offsets.defined(), "embedding_bag: with an input [B, L] there must be no offsets, got ", offsets);
    offsets = arange(input.size(0), TensorOptions(kLong).device(input.device())) * Scalar(input.size(1));
    indices = input.reshape({-1});
    if (weights.defined()) weights = weights.reshape({-1});
  } else {
    check(input.dim() == 1 && offsets.defined() && offsets.dim() == 1,
          "embedding_bag: expected input [B, L], or input [N] and offsets [B], got ", input);
  }
  const EmbeddingBagMode mode = options.mode();
  check(mode.max || mode.reduction == kSum || mode.reduction == kMean,
        "embedding_bag: mode must be kSum, kMean or kMax");
  check(!mode.max || (!options.scale_grad_by_freq() && !options.sparse()),
        "embedding_bag: mode kMax supports neither scale_grad_by_freq nor sparse");
  if (options.max_norm()) embedding_renorm_(weight, indices, *options.max_norm(), options.norm_type());
  return std::get<0>(tandem::embedding_bag(weight, indices, offsets, options.scale_grad_by_freq(),
                                           mode.max                  ? tandem::detail::kBagMax
                                           : mode.reduction == kMean ? tandem::detail::kBagMean
                                                                     : tandem::detail::kBagSum,
                                           options.sparse(), weights, options.include_last_offset(),
                                           options.padding_idx()));
}
Tensor one_hot(const Tensor& tensor, int64_t num_classes) { return tandem::one_hot(tensor, num_classes); }

}  // namespace tandem::nn::functional

namespace tandem::nn {
namespace {

// Copies the options that all of these have.
template <class To, class From>
To with_common(To to, const From& from) {
  return to.padding_idx(from.padding_idx())
      .max_norm(from.max_norm())
      .norm_type(from.norm_type())
      .scale_grad_by_freq(from.scale_grad_by_freq())
      .sparse(from.sparse());
}

// Counts padding_idx from the first row.
template <class Options>
void check_options(const char* layer, Options& options) {
  const int64_t rows = options.num_embeddings(), columns = options.embedding_dim();
  if (auto& padding = options.padding_idx()) {
    check(*padding >= -rows && *padding < rows, layer, ": padding_idx must be within num_embeddings = ", rows, ", got ",
          *padding);
    if (*padding < 0) padding = *padding + rows;
  }
  if (const Tensor& given = options._weight(); given.defined())
    check(given.dim() == 2 && given.size(0) == rows && given.size(1) == columns, layer, ": _weight must be [", rows,
          ", ", columns, "], got ", given);
}

template <class Layer>
void create_weight(Layer& layer) {
  const auto& o = layer.options;
  const bool given = o._weight().defined();
  layer.weight = layer.register_parameter(
      "weight", given ? o._weight().detach().clone() : empty({o.num_embeddings(), o.embedding_dim()}));
  if (!given) layer.reset_parameters();
}

template <class Layer>
void init_weight(Layer& layer) {
  init::normal_(layer.weight);
  if (!layer.options.padding_idx() || init::is_skipped()) return;
  NoGradGuard no_grad;
  layer.weight.select(0, *layer.options.padding_idx()).zero_();
}

}  // namespace

EmbeddingImpl::EmbeddingImpl(EmbeddingOptions o) : options(std::move(o)) {
  check_options("Embedding", options);
  EmbeddingImpl::reset();
}
void EmbeddingImpl::reset() {
  if (is_quantized())
    reset_int8(parameters_, buffers_, weight);
  else
    create_weight(*this);
}
void EmbeddingImpl::reset_parameters() { init_weight(*this); }
void EmbeddingImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::Embedding(num_embeddings=" << options.num_embeddings()
         << ", embedding_dim=" << options.embedding_dim();
  if (options.padding_idx()) stream << ", padding_idx=" << *options.padding_idx();
  if (options.max_norm()) stream << ", max_norm=" << *options.max_norm();
  if (options.norm_type() != 2) stream << ", norm_type=" << options.norm_type();
  if (options.scale_grad_by_freq()) stream << ", scale_grad_by_freq=true";
  if (options.sparse()) stream << ", sparse=true";
  if (is_quantized()) stream << ", " << int8_text();
  stream << ")";
}
void EmbeddingImpl::quantize(const Tensor& values, const Tensor& scales) {
  hold_int8(parameters_, buffers_, weight, values, scales);
}
Tensor EmbeddingImpl::forward(const Tensor& input) {
  if (is_quantized()) return int8_rows(*this, input);
  return functional::embedding(input, weight, with_common(functional::EmbeddingFuncOptions(), options));
}
Embedding Embedding::from_pretrained(const Tensor& embeddings, const EmbeddingFromPretrainedOptions& options) {
  check(embeddings.dim() == 2, "Embedding: expected a weight [rows, columns], got ", embeddings);
  Embedding layer(with_common(EmbeddingOptions(embeddings.size(0), embeddings.size(1))._weight(embeddings), options));
  layer->weight.set_requires_grad(!options.freeze());
  return layer;
}

EmbeddingBagImpl::EmbeddingBagImpl(EmbeddingBagOptions o) : options(std::move(o)) {
  check_options("EmbeddingBag", options);
  EmbeddingBagImpl::reset();
}
void EmbeddingBagImpl::reset() { create_weight(*this); }
void EmbeddingBagImpl::reset_parameters() { init_weight(*this); }
void EmbeddingBagImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::EmbeddingBag(num_embeddings=" << options.num_embeddings()
         << ", embedding_dim=" << options.embedding_dim();
  if (options.max_norm()) stream << ", max_norm=" << *options.max_norm();
  if (options.norm_type() != 2) stream << ", norm_type=" << options.norm_type();
  if (options.scale_grad_by_freq()) stream << ", scale_grad_by_freq=true";
  if (options.sparse()) stream << ", sparse=true";
  if (options.mode().max || options.mode().reduction != kMean)
    stream << ", mode=" << (options.mode().max ? "kMax" : "kSum");
  if (options.include_last_offset()) stream << ", include_last_offset=true";
  if (options.padding_idx()) stream << ", padding_idx=" << *options.padding_idx();
  stream << ")";
}
Tensor EmbeddingBagImpl::forward(const Tensor& input, const Tensor& offsets, const Tensor& per_sample_weights) {
  return functional::embedding_bag(input, weight,
                                   with_common(functional::EmbeddingBagFuncOptions(), options)
                                       .offsets(offsets)
                                       .mode(options.mode())
                                       .per_sample_weights(per_sample_weights)
                                       .include_last_offset(options.include_last_offset()));
}
EmbeddingBag EmbeddingBag::from_pretrained(const Tensor& embeddings, const EmbeddingBagFromPretrainedOptions& options) {
  check(embeddings.dim() == 2, "EmbeddingBag: expected a weight [rows, columns], got ", embeddings);
  EmbeddingBag layer(with_common(EmbeddingBagOptions(embeddings.size(0), embeddings.size(1)), options)
                         ._weight(embeddings)
                         .mode(options.mode())
                         .include_last_offset(options.include_last_offset()));
  layer->weight.set_requires_grad(!options.freeze());
  return layer;
}

}  // namespace tandem::nn
