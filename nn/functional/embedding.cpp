// Functional forms of embedding and one_hot.
#include "tandem/nn/functional/embedding.h"

#include "tandem/autograd/ops/embedding.h"
#include "tandem/autograd/ops/gather.h"

namespace tandem::nn::functional {

Tensor embedding(const Tensor& input, const Tensor& weight, const EmbeddingFuncOptions& options) {
  check(weight.dim() == 2, "embedding: weight must be [rows, columns], got ", weight);
  int64_t padding = -1;  // none
  if (options.padding_idx()) padding = wrap_dim(*options.padding_idx(), weight.size(0));
  return tandem::embedding(weight, input, padding);
}

Tensor one_hot(const Tensor& tensor, int64_t num_classes) { return tandem::one_hot(tensor, num_classes); }

}  // namespace tandem::nn::functional
