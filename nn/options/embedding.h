// Options of Embedding.
#pragma once
#include "tandem/core/arg.h"
#include "tandem/core/tensor.h"

namespace tandem::nn {

struct EmbeddingOptions {
  EmbeddingOptions(int64_t num_embeddings, int64_t embedding_dim)
      : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  TANDEM_ARG(int64_t, num_embeddings);
  TANDEM_ARG(int64_t, embedding_dim);
  /// This row is initialised to zero and receives no gradient.
  TANDEM_ARG(optional<int64_t>, padding_idx) = nullopt;
  /// Initial weight, [num_embeddings, embedding_dim].
  TANDEM_ARG(Tensor, _weight) = Tensor();
};

namespace functional {
struct EmbeddingFuncOptions {
  TANDEM_ARG(optional<int64_t>, padding_idx) = nullopt;
};
}  // namespace functional

}  // namespace tandem::nn
