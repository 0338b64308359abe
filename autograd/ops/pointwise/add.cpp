// add: self + alpha other. Gradients: g and alpha g, each summed by the engine to its argument's shape.
#include "tandem/autograd/inplace.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/binary_op.h"

namespace tandem {
namespace {
using namespace autograd;

struct AddBackward final : NamedNode<AddBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    if (next.size() > 1 && needs(1)) out[1] = alpha.equal(1) ? g[0] : g[0] * alpha.conj();
    if (needs(0)) out[0] = std::move(g[0]);
  }
  Scalar alpha;
};

ScalarType add_type(ScalarType type, const Scalar& alpha) {
  check(!alpha.isFloatingPoint() || is_differentiable(type), "add: alpha ", alpha,
        " must be an integer because the result is ", type);
  check(!alpha.isComplex() || is_complex(type), "add: alpha ", alpha, " must be real because the result is ", type);
  return type;
}

AddBackward* record_add(const Tensor& out, const Tensor& self, const Tensor& other, const Scalar& alpha) {
  auto* node = record<AddBackward>(out, self, other);
  if (node != nullptr) node->alpha = alpha;
  return node;
}

}  // namespace

Tensor add(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  Tensor out = binary_raw<ops::Add>(self, other, add_type(result_type(self, other), alpha), alpha);
  record_add(out, self, other, alpha);
  return out;
}

Tensor add(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  Tensor out = binary_raw<ops::Add>(self, other, add_type(result_type(self, other), alpha), alpha);
  record<AddBackward>(out, self);
  return out;
}

Tensor Tensor::add(const Tensor& other, const Scalar& alpha) const { return tandem::add(*this, other, alpha); }
Tensor Tensor::add(const Scalar& other, const Scalar& alpha) const { return tandem::add(*this, other, alpha); }

Tensor& Tensor::add_(const Tensor& other, const Scalar& alpha) const {
  const ScalarType type = add_type(result_type(*this, other), alpha);
  check_result_fits("add_", *this, type);
  const auto direct = [&] { binary_into<ops::Add>(*this, other, type, alpha); };
  if (type == dtype())
    return written_inplace(
        *this, "add_", Before::kAlias, direct,
        [&](const Tensor& out, const Tensor& before) { return record_add(out, before, other, alpha); }, other);
  return inplace(
      *this, "add_", Before::kAlias, direct, [&](const Tensor& before) { return tandem::add(before, other, alpha); },
      other);
}
Tensor& Tensor::add_(const Scalar& other, const Scalar& alpha) const {
  const ScalarType type = add_type(result_type(*this, other), alpha);
  check_result_fits("add_", *this, type);
  return inplace(
      *this, "add_", Before::kAlias, [&] { binary_into<ops::Add>(*this, other, type, alpha); },
      [&](const Tensor& before) { return tandem::add(before, other, alpha); });
}

}  // namespace tandem
