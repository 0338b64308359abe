// tril and triu: a matrix (or a batch of matrices) with zeros above or below a diagonal. Gradient: g with the
// same elements zeroed.
#include "tandem/autograd/ops/view/tril.h"

#include <algorithm>

#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/index.h"

namespace tandem {
namespace {
using namespace autograd;

struct TriangleBackward final : Node {
  const char* label() const override { return upper ? "TriuBackward" : "TrilBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    out[0] = upper ? g[0].triu(diagonal) : g[0].tril(diagonal);
  }
  int64_t diagonal = 0;
  bool upper = false;
};

Tensor triangle(const Tensor& self, int64_t diagonal, bool upper) {
  check(self.dim() >= 2, upper ? "triu" : "tril", ": expected at least 2 dimensions, got ", self);
  diagonal = std::clamp(diagonal, -self.size(-2), self.size(-1));  // diagonals beyond this are empty
  Tensor out = empty_raw(self.sizes(), self.dtype(), self.device());
  backend(self).index.triangle(out, self, diagonal, upper);
  if (auto* node = record<TriangleBackward>(out, self)) {
    node->diagonal = diagonal;
    node->upper = upper;
  }
  return out;
}

}  // namespace

Tensor tril(const Tensor& self, int64_t diagonal) { return triangle(self, diagonal, false); }
Tensor triu(const Tensor& self, int64_t diagonal) { return triangle(self, diagonal, true); }

}  // namespace tandem
