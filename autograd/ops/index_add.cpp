// index_add. Gradients: g for self; alpha g[index] for source.
#include "tandem/autograd/ops/index_add.h"

#include "tandem/autograd/ops/arithmetic.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend.h"

namespace tandem {
namespace {
using namespace autograd;

struct IndexAddBackward final : Node {
  const char* name() const override { return "IndexAddBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    if (needs(1)) {
      const Tensor rows = g[0].index_select(dim, index.unpack(*this));
      out[1] = alpha.equal(1) ? rows : rows * alpha;
    }
    if (needs(0)) out[0] = std::move(g[0]);
  }
  void release() override { index.release(); }
  int64_t dim = 0;
  Scalar alpha;
  SavedTensor index;
};

void check_arguments(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  check(index.dim() <= 1 && (index.dtype() == kLong || index.dtype() == kInt),
        "index_add: expected a 1-D index of int64 or int32, got ", index);
  check(self.dtype() == source.dtype(), "index_add: dtypes differ\n  self   ", self, "\n  source ", source);
  check(self.device() == source.device() && self.device() == index.device(),
        "index_add: devices differ\n  self   ", self, "\n  index  ", index, "\n  source ", source);
  Dims expected(self.sizes());
  if (!expected.empty()) expected[static_cast<std::size_t>(dim)] = index.numel();
  check(Dims(source.sizes()) == expected, "index_add: source must be ", expected, ", got ", source,
        "\n  self  ", self, "\n  index ", index);
}

void add_into(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& source,
              const Scalar& alpha) {
  const bool scalar = out.dim() == 0;
  backend(out).index.index_add(scalar ? alias(out, {1}, {1}, out.storage_offset()) : out, dim,
                               index.to(kLong), scalar ? source.detach().reshape({1}) : source, alpha);
}

}  // namespace

Tensor index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                 const Scalar& alpha) {
  dim = wrap_dim(dim, self.dim());
  check_arguments(self, dim, index, source);
  Tensor out = empty_raw(self.sizes(), self.dtype(), self.device());
  backend(self).pointwise.copy(out, self);
  add_into(out, dim, index, source, alpha);
  if (auto* node = record<IndexAddBackward>(out, self, source)) {
    node->dim = dim;
    node->alpha = alpha;
    node->index.save(index);
  }
  return out;
}

Tensor Tensor::index_add(int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) const {
  return tandem::index_add(*this, dim, index, source, alpha);
}
Tensor& Tensor::index_add_(int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) {
  dim = wrap_dim(dim, this->dim());
  check_arguments(*this, dim, index, source);
  return inplace(
      *this, "index_add_", Before::kAlias, [&] { add_into(*this, dim, index, source, alpha); },
      [&](const Tensor& before) { return tandem::index_add(before, dim, index, source, alpha); }, source);
}

}  // namespace tandem
