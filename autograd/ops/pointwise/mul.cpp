// mul: elementwise product. Gradients: g other and g self, of complex numbers the conjugates, each summed by the engine
// to its argument's shape.
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/binary_op.h"
#include "tandem/autograd/ops/pointwise/complex.h"

namespace tandem {
namespace {
using namespace autograd;

struct MulBackward final : NamedNode<MulBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    if (needs(0)) out[0] = g[0] * conj(b.unpack(*this));
    if (needs(1)) out[1] = g[0] * conj(a.unpack(*this));
  }
  TANDEM_SAVED(a, b);
};

struct MulNumberBackward final : Node {
  const char* label() const override { return "MulBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = g[0] * number.conj(); }
  Scalar number;
};

template <class B>
Tensor& mul_in_place(const Tensor& self, const B& other) {
  const ScalarType type = result_type(self, other);
  check_result_fits("mul_", self, type);
  return inplace(
      self, "mul_", std::is_same_v<B, Tensor> ? Before::kClone : Before::kAlias,
      [&] { binary_into<ops::Mul>(self, other, type); },
      [&](const Tensor& before) { return tandem::mul(before, other); }, other);
}

}  // namespace

Tensor mul(const Tensor& self, const Tensor& other) {
  Tensor out = binary_raw<ops::Mul>(self, other, result_type(self, other));
  if (auto* node = record<MulBackward>(out, self, other)) {
    if (node->needs(1)) node->a.save(self);
    if (node->needs(0)) node->b.save(other);
  }
  return out;
}

Tensor mul(const Tensor& self, const Scalar& other) {
  Tensor out = binary_raw<ops::Mul>(self, other, result_type(self, other));
  if (auto* node = record<MulNumberBackward>(out, self)) node->number = other;
  return out;
}

Tensor Tensor::mul(const Tensor& other) const { return tandem::mul(*this, other); }
Tensor Tensor::mul(const Scalar& other) const { return tandem::mul(*this, other); }

Tensor& Tensor::mul_(const Tensor& other) const { return mul_in_place(*this, other); }
Tensor& Tensor::mul_(const Scalar& other) const { return mul_in_place(*this, other); }

}  // namespace tandem
