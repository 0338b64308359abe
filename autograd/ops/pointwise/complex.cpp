// Complex tensors, their parts, and functions that are not holomorphic. Most are composed of operations on the parts,
// whose gradients PyTorch's convention makes those of the complex numbers.
#include "tandem/autograd/ops/pointwise/complex.h"

#include <limits>
#include <numbers>

#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/factories/fill.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/inplace_of.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/pointwise/where.h"
#include "tandem/autograd/record.h"
#include "tandem/core/memory_format.h"

namespace tandem {
namespace {
using namespace autograd;

struct ComplexBackward final : NamedNode<ComplexBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    if (needs(0)) out[0] = real(g[0]);
    if (needs(1)) out[1] = imag(g[0]);
  }
};

struct ConjBackward final : NamedNode<ConjBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = conj(g[0]); }
};

struct ComplexAbsBackward final : Node {
  const char* label() const override { return "AbsBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = g[0] * sgn(saved.unpack(*this)); }
  TANDEM_SAVED(saved);
};

// With z = x + iy: (-y + ix) / |z|².
struct ComplexAngleBackward final : Node {
  const char* label() const override { return "AngleBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor z = saved.unpack(*this), x = real(z), y = imag(z), size = x * x + y * y,
                 factor = g[0] / where(size == 0, Scalar(std::numeric_limits<double>::infinity()), size);
    out[0] = complex(-y * factor, x * factor);
  }
  TANDEM_SAVED(saved);
};

void check_parts(const char* operation, const Tensor& a, const Tensor& b) {
  check((a.dtype() == kFloat || a.dtype() == kDouble) && a.dtype() == b.dtype(), operation,
        ": expected two tensors of float32 or of float64\n  ", a, "\n  ", b);
  check_same_device(operation, a, b);
}

// z / |z| by differentiable operations on the parts; 0 at 0.
Tensor direction(const Tensor& z) {
  const Tensor size = complex_abs(z), divisor = where(size == 0, Scalar(1.0), size);
  return on_parts(z, [&](const Tensor& parts) { return parts / divisor.unsqueeze(-1); });
}

}  // namespace

Tensor complex(const Tensor& real, const Tensor& imag) {
  check_parts("complex", real, imag);
  const Dims size = broadcast_sizes(real.sizes(), imag.sizes(), "complex");
  const Device device = device_of(real, imag);
  Tensor out = empty_elementwise(size, toComplexType(real.dtype()), device, real, imag);
  const Tensor parts = parts_raw(out);
  int64_t which = 0;
  for (const Tensor* part : {&real, &imag}) {
    NoGradGuard no_grad;
    copy_raw(parts.select(-1, which++), part->detach().to(device));
  }
  record<ComplexBackward>(out, real, imag);
  return out;
}

Tensor polar(const Tensor& abs, const Tensor& angle) {
  if (const auto to = autocast::full_precision_on_cpu(abs)) return polar(to(abs), to(angle));
  check_parts("polar", abs, angle);
  return complex(abs * angle.cos(), abs * angle.sin());
}

Tensor real(const Tensor& self) { return self.is_complex() ? view_as_real(self).select(-1, 0) : self; }
Tensor imag(const Tensor& self) {
  check(self.is_complex(), "imag: a real tensor has no imaginary part: ", self);
  return view_as_real(self).select(-1, 1);
}

Tensor conj(const Tensor& self) {
  if (!self.is_complex()) return self;
  Tensor out = empty_elementwise(self, self.dtype());
  {
    NoGradGuard no_grad;
    const Tensor from = parts_raw(self), to = parts_raw(out);
    copy_raw(to.select(-1, 0), from.select(-1, 0));
    copy_raw(to.select(-1, 1), from.select(-1, 1).neg());
  }
  record<ConjBackward>(out, self);
  return out;
}
Tensor conj_physical(const Tensor& self) { return conj(self); }
Tensor& conj_physical_(Tensor& self) {
  if (!self.is_complex()) return self;
  return inplace_of(self, "conj_physical_", [](const Tensor& z) { return conj(z); });
}
Tensor resolve_conj(const Tensor& self) { return self; }
Tensor resolve_neg(const Tensor& self) { return self; }

namespace autograd {
Tensor complex_abs(const Tensor& z) {
  Tensor out;
  {
    NoGradGuard no_grad;
    const Tensor parts = parts_raw(z);
    out = hypot(parts.select(-1, 0), parts.select(-1, 1));
  }
  if (auto* node = record<ComplexAbsBackward>(out, z)) node->saved.save(z);
  return out;
}
}  // namespace autograd

Tensor angle(const Tensor& self) {
  if (self.is_complex()) {
    Tensor out;
    {
      NoGradGuard no_grad;
      const Tensor parts = parts_raw(self);
      out = atan2(parts.select(-1, 1), parts.select(-1, 0));
    }
    if (auto* node = record<ComplexAngleBackward>(out, self)) node->saved.save(self);
    return out;
  }
  const Tensor x = as_float(self);
  const Tensor value = where(x.detach() < 0, full({}, std::numbers::pi, x.options()), zeros({}, x.options()));
  Tensor out = where(x.detach().isnan(), x.detach(), value);
  if (auto* node = record<ZeroBackward>(out, self)) node->set(self);
  return out;
}

Tensor sgn(const Tensor& self) { return self.is_complex() ? direction(self) : sign(self); }
Tensor isreal(const Tensor& self) { return self.is_complex() ? imag(self.detach()) == 0 : ones_like(self, kBool); }

Tensor adjoint(const Tensor& self) {
  check(self.dim() != 1, "adjoint: expected a matrix or a batch of matrices, got ", self);
  return conj(self.dim() == 0 ? self : self.transpose(-2, -1));
}

Tensor Tensor::angle() const { return tandem::angle(*this); }
Tensor Tensor::isreal() const { return tandem::isreal(*this); }
Tensor Tensor::conj() const { return tandem::conj(*this); }
Tensor Tensor::conj_physical() const { return tandem::conj_physical(*this); }
Tensor& Tensor::conj_physical_() const { return tandem::conj_physical_(tandem::detail::mutable_handle(*this)); }
Tensor Tensor::sgn() const { return tandem::sgn(*this); }
Tensor& Tensor::sgn_() const {
  if (!is_complex()) return sign_();
  return inplace_of(*this, "sgn_", [](const Tensor& z) { return tandem::sgn(z); });
}

}  // namespace tandem
