// addcmul: self + value a b; addcdiv: self + value a / b; lerp: self + weight (end - self).
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/binary_rule.h"
#include "tandem/autograd/ops/pointwise/ternary_op.h"

namespace tandem {
namespace {
using namespace autograd;

struct AddcBackward : Node {
  TANDEM_SAVED(a, b);
  Scalar value;
};
// Gradients: g, value g b, value g a.
struct AddcmulBackward final : NamedNode<AddcmulBackward, AddcBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    if (needs(1)) out[1] = g[0] * (b.unpack(*this) * value);
    if (needs(2)) out[2] = g[0] * (a.unpack(*this) * value);
    if (needs(0)) out[0] = std::move(g[0]);
  }
};
// Gradients: g, value g / b, -value g a / b².
struct AddcdivBackward final : NamedNode<AddcdivBackward, AddcBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor y = b.unpack(*this);
    if (needs(1)) out[1] = g[0] * (value / y);
    if (needs(2)) out[2] = -g[0] * (a.unpack(*this) * value / (y * y));
    if (needs(0)) out[0] = std::move(g[0]);
  }
};
// Gradients: g (1 - weight), g weight, g (end - self).
struct LerpBackward final : NamedNode<LerpBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor w = weight.unpack(*this);
    if (needs(0)) out[0] = w.defined() ? g[0] * (1 - w) : g[0] * (1 - number);
    if (needs(1)) out[1] = w.defined() ? g[0] * w : g[0] * number;
    if (next.size() > 2 && needs(2)) out[2] = g[0] * (end.unpack(*this) - self.unpack(*this));
  }
  TANDEM_SAVED(self, end, weight);
  double number = 0;
};

ScalarType addcmul_type(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& value) {
  const ScalarType type = result_type(TensorList{self, a, b});
  check(!value.isFloatingPoint() || is_differentiable(type), "addcmul: value ", value,
        " must be an integer because the result is ", type);
  check(!value.isComplex() || is_complex(type), "addcmul: value ", value, " must be real because the result is ", type);
  return type;
}
ScalarType addcdiv_type(const Tensor& self, const Tensor& a, const Tensor& b) {
  const ScalarType type = result_type(TensorList{self, a, b});
  const bool quotient = is_differentiable(a.dtype()) || is_differentiable(b.dtype());
  check(is_differentiable(type) && quotient, "addcdiv: not defined for integers (", type,
        "); use self + value * (a / b)");
  return type;
}
void check_lerp(const Tensor& self, const Tensor& end, const Tensor& weight) {
  check(self.dtype() == end.dtype() && self.dtype() == weight.dtype(), "lerp: dtypes differ\n  self   ", self,
        "\n  end    ", end, "\n  weight ", weight);
}
// self = f(self) in place, through a new tensor.
template <class F, class... Inputs>
Tensor& written(const Tensor& self, const char* operation, Before before, const F& f, const Inputs&... inputs) {
  const auto direct = [&] {
    const Tensor out = f(self);
    check(out.sizes() == self.sizes(), operation, ": the result ", out, " does not fit in ", self);
    copy_raw(self, out);
  };
  return inplace(self, operation, before, direct, f, inputs...);
}

}  // namespace

Tensor addcmul(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& value) {
  if (const auto to = autocast::promoted_on_cuda(self, a, b)) return addcmul(to(self), to(a), to(b), value);
  const ScalarType type = addcmul_type(self, a, b, value);
  if (is_complex(type)) return self + a * b * value;
  Tensor out = ternary_raw<ops::Addcmul>(self, a, b, type, value);
  if (auto* node = record<AddcmulBackward>(out, self, a, b)) {
    if (node->needs(2)) node->a.save(a);
    if (node->needs(1)) node->b.save(b);
    node->value = value;
  }
  return out;
}
Tensor addcdiv(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& value) {
  if (const auto to = autocast::promoted_on_cuda(self, a, b)) return addcdiv(to(self), to(a), to(b), value);
  const ScalarType type = addcdiv_type(self, a, b);
  if (is_complex(type)) return self + a / b * value;
  Tensor out = ternary_raw<ops::Addcdiv>(self, a, b, type, value);
  if (auto* node = record<AddcdivBackward>(out, self, a, b)) {
    if (node->needs(2)) node->a.save(a);
    if (node->needs(1) || node->needs(2)) node->b.save(b);
    node->value = value;
  }
  return out;
}
Tensor lerp(const Tensor& self, const Tensor& end, const Scalar& weight) {
  check_lerp(self, end, self);
  if (self.is_complex()) return self + (end - self) * weight;
  Tensor out = ternary_raw<ops::Lerp>(self, end, weight, self.dtype());
  if (auto* node = record<LerpBackward>(out, self, end)) node->number = weight.toDouble();
  return out;
}
Tensor lerp(const Tensor& self, const Tensor& end, const Tensor& weight) {
  check_lerp(self, end, weight);
  if (self.is_complex()) return self + (end - self) * weight;
  Tensor out = ternary_raw<ops::Lerp>(self, end, weight, self.dtype());
  if (auto* node = record<LerpBackward>(out, self, end, weight)) {
    node->weight.save(weight);
    if (node->needs(2)) {
      node->self.save(self);
      node->end.save(end);
    }
  }
  return out;
}

Tensor Tensor::addcmul(const Tensor& a, const Tensor& b, const Scalar& value) const {
  return tandem::addcmul(*this, a, b, value);
}
Tensor Tensor::addcdiv(const Tensor& a, const Tensor& b, const Scalar& value) const {
  return tandem::addcdiv(*this, a, b, value);
}
Tensor Tensor::lerp(const Tensor& end, const Scalar& weight) const { return tandem::lerp(*this, end, weight); }
Tensor Tensor::lerp(const Tensor& end, const Tensor& weight) const { return tandem::lerp(*this, end, weight); }

Tensor& Tensor::addcmul_(const Tensor& a, const Tensor& b, const Scalar& value) const {
  check_result_fits("addcmul_", *this, addcmul_type(*this, a, b, value));
  const auto f = [&](const Tensor& x) { return tandem::addcmul(x, a, b, value); };
  return written(*this, "addcmul_", Before::kAlias, f, a, b);
}
Tensor& Tensor::addcdiv_(const Tensor& a, const Tensor& b, const Scalar& value) const {
  check_result_fits("addcdiv_", *this, addcdiv_type(*this, a, b));
  const auto f = [&](const Tensor& x) { return tandem::addcdiv(x, a, b, value); };
  return written(*this, "addcdiv_", Before::kAlias, f, a, b);
}
Tensor& Tensor::lerp_(const Tensor& end, const Scalar& weight) const {
  check_lerp(*this, end, *this);
  const auto f = [&](const Tensor& x) { return tandem::lerp(x, end, weight); };
  return written(*this, "lerp_", Before::kAlias, f, end);
}
Tensor& Tensor::lerp_(const Tensor& end, const Tensor& weight) const {
  check_lerp(*this, end, weight);
  const auto f = [&](const Tensor& x) { return tandem::lerp(x, end, weight); };
  return written(*this, "lerp_", Before::kClone, f, end, weight);
}

}  // namespace tandem
