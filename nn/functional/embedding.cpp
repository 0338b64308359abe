// Functional forms of linear and embedding.
#include "tandem/nn/functional/embedding.h"

#include "tandem/autograd/ops/embedding.h"
#include "tandem/autograd/ops/linalg.h"

namespace tandem::nn::functional {

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return tandem::linear(input, weight, bias);
}

Tensor embedding(const Tensor& input, const Tensor& weight, const EmbeddingFuncOptions& options) {
  check(weight.dim() == 2, "embedding: weight must be [rows, columns], got ", weight);
  int64_t padding = -1;  // none
  if (options.padding_idx()) padding = wrap_dim(*options.padding_idx(), weight.size(0));
  return tandem::embedding(weight, input, padding);
}

}  // namespace tandem::nn::functional
