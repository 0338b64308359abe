// mm and bmm: C = A B. Gradients: dA = G Bᴴ, dB = Aᴴ G, batch by batch.
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/linalg.h"

namespace tandem {
namespace {
using namespace autograd;

struct ProductBackward : Node {
  TANDEM_SAVED(a, b);
};

struct MmBackward final : NamedNode<MmBackward, ProductBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    if (needs(0)) out[0] = mm(g[0], conj(b.unpack(*this).t()));
    if (needs(1)) out[1] = mm(conj(a.unpack(*this).t()), g[0]);
  }
};

struct BmmBackward final : NamedNode<BmmBackward, ProductBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    if (needs(0)) out[0] = bmm(g[0], conj(b.unpack(*this).transpose(1, 2)));
    if (needs(1)) out[1] = bmm(conj(a.unpack(*this).transpose(1, 2)), g[0]);
  }
};

// The product of complex matrices as four real ones.
void multiply_complex(const Tensor& out, const Tensor& self, const Tensor& other) {
  NoGradGuard no_grad;
  const auto part = [](const Tensor& z, int64_t which) {
    return parts_raw(z).select(-1, which).clone(MemoryFormat::Contiguous);
  };
  const Tensor a = part(self, 0), b = part(self, 1), c = part(other, 0), d = part(other, 1);
  const auto& matmul = backend(self).linalg.matmul;
  const Tensor re = empty_raw(out.sizes(), a.scalar_type(), out.device()),
               im = empty_raw(out.sizes(), a.scalar_type(), out.device());
  matmul(re, a, c, 0, 1);
  matmul(re, b, d, 1, -1);
  matmul(im, a, d, 0, 1);
  matmul(im, b, c, 1, 1);
  copy_raw(parts_raw(out).select(-1, 0), re);
  copy_raw(parts_raw(out).select(-1, 1), im);
}

template <class N>
Tensor product(const Tensor& self, const Tensor& other, IntArrayRef sizes) {
  Tensor out = empty_raw(sizes, self.dtype(), self.device());
  if (self.is_complex())
    multiply_complex(out, self, other);
  else
    backend(self).linalg.matmul(out, self, other, 0, 1);
  if (auto* node = record<N>(out, self, other)) {
    if (node->needs(1)) node->a.save(self);
    if (node->needs(0)) node->b.save(other);
  }
  return out;
}

}  // namespace

Tensor mm(const Tensor& self, const Tensor& other) {
  if (const auto to = autocast::lower_precision(self)) return mm(to(self), to(other));
  check(self.dim() == 2 && other.dim() == 2, "mm: expected two matrices\n  self  ", self, "\n  other ", other);
  check(self.size(1) == other.size(0), "mm: inner sizes differ: ", self.size(1), " and ", other.size(0), "\n  self  ",
        self, "\n  other ", other);
  check_alike("mm", "self ", self, "other", other);
  return product<MmBackward>(self, other, {self.size(0), other.size(1)});
}

Tensor bmm(const Tensor& self, const Tensor& other) {
  if (const auto to = autocast::lower_precision(self)) return bmm(to(self), to(other));
  check(self.dim() == 3 && other.dim() == 3, "bmm: expected two batches of matrices\n  self  ", self, "\n  other ",
        other);
  check(self.size(0) == other.size(0), "bmm: batch sizes differ: ", self.size(0), " and ", other.size(0), "\n  self  ",
        self, "\n  other ", other);
  check(self.size(2) == other.size(1), "bmm: inner sizes differ: ", self.size(2), " and ", other.size(1), "\n  self  ",
        self, "\n  other ", other);
  check_alike("bmm", "self ", self, "other", other);
  return product<BmmBackward>(self, other, {self.size(0), self.size(1), other.size(2)});
}

Tensor autograd::operand_as(const char* operation, const Tensor& x, ScalarType out_dtype) {
  check(x.dtype() == out_dtype || (isReducedFloatingType(x.scalar_type()) && out_dtype == kFloat), operation,
        ": out_dtype must be the same as input dtype or fp32 for fp16/bf16 inputs, got ", out_dtype, " for ", x);
  return as_type(x, out_dtype);
}
Tensor mm(const Tensor& self, const Tensor& mat2, ScalarType out_dtype) {
  const autocast::detail::Off plain(self.device().type());
  return mm(operand_as("mm", self, out_dtype), operand_as("mm", mat2, out_dtype));
}
Tensor bmm(const Tensor& self, const Tensor& mat2, ScalarType out_dtype) {
  const autocast::detail::Off plain(self.device().type());
  return bmm(operand_as("bmm", self, out_dtype), operand_as("bmm", mat2, out_dtype));
}

Tensor Tensor::mm(const Tensor& other) const { return tandem::mm(*this, other); }
Tensor Tensor::bmm(const Tensor& other) const { return tandem::bmm(*this, other); }

}  // namespace tandem
