// Functional forms of linear and embedding.
#include "tandem/nn/functional/embedding.h"

#include "tandem/autograd/ops/arithmetic.h"
#include "tandem/autograd/ops/comparison.h"
#include "tandem/autograd/ops/linalg.h"

namespace tandem::nn::functional {

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return tandem::linear(input, weight, bias);
}

Tensor embedding(const Tensor& input, const Tensor& weight, const EmbeddingFuncOptions& options) {
  check(weight.dim() == 2, "embedding: weight must be [rows, columns], got ", weight);
  check(is_integral(input.dtype(), false), "embedding: input must be integers, got ", input);
  const Tensor rows = input.reshape({-1}).to(kLong);
  Dims sizes(input.sizes());
  sizes.push_back(weight.size(1));
  const Tensor out = weight.index_select(0, rows).view(sizes);
  if (!options.padding_idx() || !out.requires_grad()) return out;
  const int64_t padding = wrap_dim(*options.padding_idx(), weight.size(0));
  const Tensor counts = (input != padding).to(weight.dtype()).unsqueeze(-1);
  return out * counts + out.detach() * (1 - counts);
}

}  // namespace tandem::nn::functional
