// embedding: reads rows of a matrix. Gradient: zeros, to which the rows of g are added in the order of the indices;
// row padding_idx stays zero.
#include "tandem/autograd/ops/nn/embedding.h"

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/index/index.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/record.h"

namespace tandem {
namespace {
using namespace autograd;

struct EmbeddingBackward final : NamedNode<EmbeddingBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor at = index.unpack(*this);
    Tensor rows = g[0].reshape({at.numel(), sizes[1]});
    if (scale) rows = rows / use_counts(at, rows.dtype());
    Tensor base = zeros(sizes, rows.options());
    base = GradMode::is_enabled() ? base.index_add(0, at, rows) : base.index_add_(0, at, rows);
    if (padding >= 0) base = tandem::index_fill(base, 0, padding_index(at.device()), 0);
    out[0] = base;
  }
  // [N, 1]: how often the row of each index was used.
  Tensor use_counts(const Tensor& at, ScalarType type) const {
    NoGradGuard no_grad;
    const Tensor once = ones({at.numel()}, TensorOptions(type).device(at.device()));
    return zeros({sizes[0]}, once.options()).index_add_(0, at, once).index_select(0, at).unsqueeze(1);
  }
  Tensor padding_index(Device device) const { return full({1}, padding, TensorOptions(kLong).device(device)); }
  Dims sizes;
  int64_t padding = -1;
  bool scale = false;
  TANDEM_SAVED(index);
};

}  // namespace

Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding_idx, bool scale_grad_by_freq, bool) {
  check(weight.dim() == 2, "embedding: expected a weight [V, D], got ", weight);
  check(indices.dtype() == kLong || indices.dtype() == kInt, "embedding: expected indices of int64 or int32, got ",
        indices);
  check(padding_idx < weight.size(0), "embedding: padding_idx ", padding_idx, " is out of range for a weight with ",
        weight.size(0), " rows");
  const Tensor at = indices.to(kLong).reshape({-1});
  Tensor out;
  {
    NoGradGuard no_grad;
    Dims sizes(indices.sizes());
    sizes.push_back(weight.size(1));
    out = index_read(weight, along("embedding", weight, 0, at, /*wrap=*/false)).view(sizes);
  }
  if (auto* node = record<EmbeddingBackward>(out, weight)) {
    node->sizes = weight.sizes();
    node->padding = padding_idx;
    node->scale = scale_grad_by_freq;
    node->index.save(at);
  }
  return out;
}

}  // namespace tandem
