// Embedding, and the functional forms embedding and one_hot.
#include "tandem/nn/layers/embedding.h"

#include <ostream>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/embedding.h"
#include "tandem/autograd/ops/factories.h"
#include "tandem/autograd/ops/gather.h"
#include "tandem/nn/functional/embedding.h"

namespace tandem::nn::functional {

Tensor embedding(const Tensor& input, const Tensor& weight, const EmbeddingFuncOptions& options) {
  check(weight.dim() == 2, "embedding: weight must be [rows, columns], got ", weight);
  int64_t padding = -1;  // none
  if (options.padding_idx()) padding = wrap_dim(*options.padding_idx(), weight.size(0));
  return tandem::embedding(weight, input, padding);
}
Tensor one_hot(const Tensor& tensor, int64_t num_classes) { return tandem::one_hot(tensor, num_classes); }

}  // namespace tandem::nn::functional

namespace tandem::nn {

EmbeddingImpl::EmbeddingImpl(EmbeddingOptions o) : options(std::move(o)) {
  const int64_t rows = options.num_embeddings(), columns = options.embedding_dim();
  if (auto& padding = options.padding_idx()) {
    check(*padding >= -rows && *padding < rows,
          "Embedding: padding_idx must be within num_embeddings = ", rows, ", got ", *padding);
    if (*padding < 0) padding = *padding + rows;
  }
  if (const Tensor& given = options._weight(); given.defined())
    check(given.dim() == 2 && given.size(0) == rows && given.size(1) == columns,
          "Embedding: _weight must be [", rows, ", ", columns, "], got ", given);
  EmbeddingImpl::reset();
}
void EmbeddingImpl::reset() {
  if (options._weight().defined()) {
    weight = register_parameter("weight", options._weight().detach().clone());
    return;
  }
  weight = register_parameter("weight", empty({options.num_embeddings(), options.embedding_dim()}));
  reset_parameters();
}
void EmbeddingImpl::reset_parameters() {
  init::normal_(weight);
  if (!options.padding_idx() || init::is_skipped()) return;
  NoGradGuard no_grad;
  weight.select(0, *options.padding_idx()).zero_();
}
void EmbeddingImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::Embedding(num_embeddings=" << options.num_embeddings()
         << ", embedding_dim=" << options.embedding_dim();
  if (options.padding_idx()) stream << ", padding_idx=" << *options.padding_idx();
  stream << ")";
}
Tensor EmbeddingImpl::forward(const Tensor& input) {
  return functional::embedding(input, weight,
                               functional::EmbeddingFuncOptions().padding_idx(options.padding_idx()));
}

}  // namespace tandem::nn
