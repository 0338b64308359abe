// mm: C = A B. Gradients: dA = G Bᵀ, dB = Aᵀ G.
#include "tandem/autograd/ops/linalg.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend.h"

namespace tandem {
namespace {
using namespace autograd;

struct MmBackward final : Node {
  const char* name() const override { return "MmBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    if (needs(0)) out[0] = g[0].mm(b.unpack(*this).t());
    if (needs(1)) out[1] = a.unpack(*this).t().mm(g[0]);
  }
  void release() override {
    a.release();
    b.release();
  }
  SavedTensor a, b;
};

}  // namespace

Tensor mm(const Tensor& self, const Tensor& other) {
  check(self.dim() == 2 && other.dim() == 2, "mm: expected two matrices\n  self  ", self, "\n  other ",
        other);
  check(self.size(1) == other.size(0), "mm: inner sizes differ: ", self.size(1), " and ", other.size(0),
        "\n  self  ", self, "\n  other ", other);
  check(self.dtype() == other.dtype() && self.device() == other.device(),
        "mm: dtypes or devices differ\n  self  ", self, "\n  other ", other);
  Tensor out = empty_raw({self.size(0), other.size(1)}, self.dtype(), self.device());
  backend(self).linalg.matmul(out, self, other, 0, 1);
  if (auto* node = record<MmBackward>(out, self, other)) {
    if (node->needs(1)) node->a.save(self);
    if (node->needs(0)) node->b.save(other);
  }
  return out;
}

Tensor Tensor::mm(const Tensor& other) const { return tandem::mm(*this, other); }

}  // namespace tandem
