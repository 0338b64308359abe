// sub: self - alpha other, and rsub: other - alpha self, both using add's kernel. Gradients: g and -alpha g,
// each summed by the engine to its argument's shape.
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/binary_op.h"

namespace tandem {
namespace {
using namespace autograd;

struct SubBackward final : NamedNode<SubBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    if (next.size() > 1 && needs(1)) out[1] = alpha.equal(1) ? g[0].neg() : g[0] * -alpha.conj();
    if (needs(0)) out[0] = std::move(g[0]);
  }
  Scalar alpha;
};

struct RsubNumberBackward final : Node {
  const char* label() const override { return "RsubBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = g[0] * -alpha.conj(); }
  Scalar alpha;
};

template <class B>
ScalarType sub_type(const Tensor& a, const B& b, const Scalar& alpha) {
  if constexpr (std::is_same_v<B, Tensor>)
    check(a.dtype() != kBool || b.dtype() != kBool,
          "sub: not defined for two bool tensors; use logical_xor, or logical_not of the other");
  const ScalarType type = result_type(a, b);
  // LibTorch also rejects a single bool tensor.
  check(type != kBool, "sub: not defined for bool; use logical_xor, or logical_not of the other");
  check(!alpha.isFloatingPoint() || is_differentiable(type), "sub: alpha ", alpha,
        " must be an integer because the result is ", type);
  check(!alpha.isComplex() || is_complex(type), "sub: alpha ", alpha, " must be real because the result is ", type);
  return type;
}

template <class B>
Tensor& sub_in_place(const Tensor& self, const B& other, const Scalar& alpha) {
  const ScalarType type = sub_type(self, other, alpha);
  check_result_fits("sub_", self, type);
  return inplace(
      self, "sub_", Before::kAlias, [&] { binary_into<ops::Add>(self, other, type, -alpha); },
      [&](const Tensor& before) { return tandem::sub(before, other, alpha); }, other);
}

}  // namespace

Tensor sub(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  Tensor out = binary_raw<ops::Add>(self, other, sub_type(self, other, alpha), -alpha);
  if (auto* node = record<SubBackward>(out, self, other)) node->alpha = alpha;
  return out;
}
Tensor sub(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  Tensor out = binary_raw<ops::Add>(self, other, sub_type(self, other, alpha), -alpha);
  record<SubBackward>(out, self);
  return out;
}
Tensor rsub(const Tensor& self, const Tensor& other, const Scalar& alpha) { return sub(other, self, alpha); }
Tensor rsub(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  Tensor out = binary_raw<ops::Add>(other, self, sub_type(self, other, alpha), -alpha);
  if (auto* node = record<RsubNumberBackward>(out, self)) node->alpha = alpha;
  return out;
}

Tensor Tensor::sub(const Tensor& other, const Scalar& alpha) const { return tandem::sub(*this, other, alpha); }
Tensor Tensor::sub(const Scalar& other, const Scalar& alpha) const { return tandem::sub(*this, other, alpha); }

Tensor& Tensor::sub_(const Tensor& other, const Scalar& alpha) const { return sub_in_place(*this, other, alpha); }
Tensor& Tensor::sub_(const Scalar& other, const Scalar& alpha) const { return sub_in_place(*this, other, alpha); }

}  // namespace tandem
