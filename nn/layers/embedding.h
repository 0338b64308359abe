// Embedding: looks up rows of a table by index.
#pragma once
#include "tandem/nn/cloneable.h"
#include "tandem/nn/module_holder.h"
#include "tandem/nn/options/embedding.h"

namespace tandem::nn {

/// Input: integers of any shape in [0, num_embeddings); output [..., embedding_dim]. The weight
/// [num_embeddings, embedding_dim] is initialised from a standard normal distribution.
class EmbeddingImpl : public Cloneable<EmbeddingImpl> {
 public:
  EmbeddingImpl(int64_t num_embeddings, int64_t embedding_dim)
      : EmbeddingImpl(EmbeddingOptions(num_embeddings, embedding_dim)) {}
  explicit EmbeddingImpl(EmbeddingOptions options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  EmbeddingOptions options;
  Tensor weight;
};
TANDEM_MODULE(Embedding);

}  // namespace tandem::nn
