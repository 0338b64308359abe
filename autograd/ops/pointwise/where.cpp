// where and masked_fill. Gradients: g where the condition selected the argument, else 0.
#include "tandem/autograd/ops/pointwise/where.h"

#include "tandem/autograd/ops/pointwise/ternary_op.h"
#include "tandem/core/backend/ternary.h"

namespace tandem {
namespace {
using namespace autograd;

struct WhereBackward final : NamedNode<WhereBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor c = condition.unpack(*this);
    if (needs(0)) out[0] = where(c, g[0], 0);
    if (needs(1)) out[1] = where(c, 0, g[0]);
  }
  TANDEM_SAVED(condition);
};

const Tensor& check_condition(const Tensor& condition, const char* operation) {
  check(condition.dtype() == kBool, operation, ": the condition must be bool, got ", condition);
  return condition;
}

// A value as an operand in `type`.
Operand operand(const Prepared& p) { return p; }
Operand operand(const Scalar& s) { return s; }

template <class A, class B>
Tensor where_raw(Tensor out, const Tensor& condition, const A& a, const B& b) {
  const Prepared c(condition, kBool, out.device());
  backend(out).ternary.where(out, c.tensor(), operand(a), operand(b));
  return out;
}

Tensor where_number(const Tensor& condition, const Tensor& t, const Scalar& number, bool number_first) {
  check_condition(condition, "where");
  check_same_device("where", condition, t);
  const ScalarType type = result_type(t, number);
  const Device device = device_of(t, condition);
  const Prepared p(t, type, device);
  const Dims sizes = broadcast_sizes(t.sizes(), condition.sizes(), "where");
  const Tensor empty = empty_elementwise(sizes, type, device, condition, t);
  Tensor out = number_first ? where_raw(empty, condition, number, p) : where_raw(empty, condition, p, number);
  if (auto* node = record<WhereBackward>(out, number_first ? Tensor() : t, number_first ? t : Tensor()))
    node->condition.save(condition);
  return out;
}

const Tensor& check_value(const Tensor& self, const Tensor& value) {
  check(value.dim() == 0, "masked_fill: value must be a number or a 0-dim tensor, got ", value);
  if (value.is_complex() && !self.is_complex())
    check(value.item().toComplexDouble().im == 0, "masked_fill: the complex value ", value.item(),
          " cannot be written to ", self);
  return value;
}
void check_mask(const Tensor& self, const Tensor& mask) {
  check_condition(mask, "masked_fill_");
  check(broadcast_sizes(self.sizes(), mask.sizes(), "masked_fill_") == Dims(self.sizes()), "masked_fill_: mask ", mask,
        " does not broadcast to ", self);
}

}  // namespace

std::vector<Tensor> where(const Tensor& condition) {
  return (condition.dim() == 0 ? condition.unsqueeze(0) : condition).nonzero().unbind(1);
}
Tensor where(const Tensor& condition, const Tensor& self, const Tensor& other) {
  check_condition(condition, "where");
  const ScalarType type = result_type(self, other);
  const Device device = device_of(self, other, condition, "where");
  const Prepared a(self, type, device), b(other, type, device);
  const Dims sizes = broadcast_sizes(self, other, condition, "where");
  Tensor out = where_raw(empty_elementwise(sizes, type, device, condition, self, other), condition, a, b);
  if (auto* node = record<WhereBackward>(out, self, other)) node->condition.save(condition);
  return out;
}
Tensor where(const Tensor& condition, const Tensor& self, const Scalar& other) {
  return where_number(condition, self, other, /*number_first=*/false);
}
Tensor where(const Tensor& condition, const Scalar& self, const Tensor& other) {
  return where_number(condition, other, self, /*number_first=*/true);
}
Tensor where(const Tensor& condition, const Scalar& self, const Scalar& other) {
  check_condition(condition, "where");
  return where_raw(empty_elementwise(condition, promote_types(natural_type(self), natural_type(other))), condition,
                   self, other);
}

Tensor masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value) {
  check_condition(mask, "masked_fill");
  check_same_device("masked_fill", self, mask);
  check_number_fits("masked_fill", value, self.dtype());
  const Prepared b(self, self.dtype(), self.device());
  const Dims sizes = broadcast_sizes(self.sizes(), mask.sizes(), "masked_fill");
  Tensor out = where_raw(empty_raw(sizes, self.dtype(), self.device()), mask, value, b);  // row-major, as in LibTorch
  if (auto* node = record<WhereBackward>(out, Tensor(), self)) node->condition.save(mask);
  return out;
}
Tensor masked_fill(const Tensor& self, const Tensor& mask, const Tensor& value) {
  return where(mask, as_type(check_value(self, value), self.dtype()), self);
}

Tensor Tensor::where(const Tensor& condition, const Tensor& other) const {
  return tandem::where(condition, *this, other);
}
Tensor Tensor::where(const Tensor& condition, const Scalar& other) const {
  return tandem::where(condition, *this, other);
}
Tensor Tensor::masked_fill(const Tensor& mask, const Scalar& value) const {
  return tandem::masked_fill(*this, mask, value);
}
Tensor Tensor::masked_fill(const Tensor& mask, const Tensor& value) const {
  return tandem::masked_fill(*this, mask, value);
}
Tensor& Tensor::masked_fill_(const Tensor& mask, const Scalar& value) const {
  check_mask(*this, mask);
  check_number_fits("masked_fill_", value, dtype());
  return inplace(
      *this, "masked_fill_", Before::kAlias,
      [&] {
        const Tensor m = mask.storage() == storage() ? mask.clone() : mask;
        backend(*this).ternary.where(*this, Prepared(m, kBool, device()).tensor(), value, *this);
      },
      [&](const Tensor& before) { return tandem::masked_fill(before, mask, value); });
}
Tensor& Tensor::masked_fill_(const Tensor& mask, const Tensor& value) const {
  check_mask(*this, mask);
  check_value(*this, value);
  return inplace(
      *this, "masked_fill_", Before::kAlias,
      [&] {
        NoGradGuard no_grad;
        const Tensor v = value.to(device(), dtype(), false, /*copy=*/value.storage() == storage());
        const Tensor m = mask.storage() == storage() ? mask.clone() : mask;
        backend(*this).ternary.where(*this, Prepared(m, kBool, device()).tensor(), v, *this);
      },
      [&](const Tensor& before) { return tandem::masked_fill(before, mask, value); }, value);
}

}  // namespace tandem
