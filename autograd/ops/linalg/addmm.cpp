// addmm and baddbmm: beta S + alpha A B. Gradients: beta G (summed by the engine to S's shape), alpha G Bᵀ,
// alpha Aᵀ G.
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/inplace_of.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/linalg.h"

namespace tandem {
namespace {
using namespace autograd;

Tensor scaled(const Tensor& t, const Scalar& factor) { return factor.equal(1) ? t : t * factor; }

struct AddmmBackward final : NamedNode<AddmmBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    if (needs(0)) out[0] = scaled(g[0], beta);
    if (needs(1)) out[1] = scaled(matmul(g[0], b.unpack(*this).transpose(-2, -1)), alpha);
    if (needs(2)) out[2] = scaled(matmul(a.unpack(*this).transpose(-2, -1), g[0]), alpha);
  }
  TANDEM_SAVED(a, b);
  Scalar beta, alpha;
};

// Checks the operands and returns the shape of the product; rank is 2 or 3.
Dims check_product(const char* operation, int64_t rank, const Tensor& self, const Tensor& a, const Tensor& b,
                   const Scalar& beta, const Scalar& alpha) {
  for (const Scalar& factor : {beta, alpha})
    check(is_complex(a.dtype()) || (is_floating_point(a.dtype()) && !factor.isComplex()) || factor.isIntegral(true),
          operation, ": the factor ", factor, " must be an integer because the result is ", a.dtype());
  check(a.dim() == rank && b.dim() == rank, operation, ": expected a and b with ", rank, " dimensions\n  a ", a,
        "\n  b ", b);
  check(rank == 2 || a.size(0) == b.size(0), operation, ": batch sizes differ: ", a.size(0), " and ", b.size(0),
        "\n  a ", a, "\n  b ", b);
  check(a.size(-1) == b.size(-2), operation, ": inner sizes differ: ", a.size(-1), " and ", b.size(-2), "\n  a ", a,
        "\n  b ", b);
  check_alike(operation, "a", a, "b", b);
  check_alike(operation, "self", self, "a   ", a);
  Dims sizes = rank == 2 ? Dims{a.size(0), b.size(1)} : Dims{a.size(0), a.size(1), b.size(2)};
  check(self.sizes() == IntArrayRef(sizes) || broadcast_sizes(self.sizes(), sizes, operation) == sizes, operation,
        ": self ", self, " does not broadcast to ", sizes);
  return sizes;
}

Tensor add_product(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha,
                   const Dims& sizes) {
  if (a.is_complex()) {
    const Tensor product = scaled(matmul(a, b), alpha);
    return beta.equal(0) ? product : scaled(self, beta) + product;
  }
  Tensor out = empty_raw(sizes, a.dtype(), a.device());
  if (!beta.equal(0)) copy_raw(out, self);
  backend(a).linalg.matmul(out, a, b, beta, alpha);
  if (auto* node = record<AddmmBackward>(out, self, a, b)) {
    if (node->needs(2)) node->a.save(a);
    if (node->needs(1)) node->b.save(b);
    node->beta = beta;
    node->alpha = alpha;
  }
  return out;
}

}  // namespace

Tensor addmm(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  if (const auto to = autocast::lower_precision(self)) return addmm(to(self), to(a), to(b), beta, alpha);
  return add_product(self, a, b, beta, alpha, check_product("addmm", 2, self, a, b, beta, alpha));
}

Tensor baddbmm(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  if (const auto to = autocast::lower_precision(self)) return baddbmm(to(self), to(a), to(b), beta, alpha);
  return add_product(self, a, b, beta, alpha, check_product("baddbmm", 3, self, a, b, beta, alpha));
}

Tensor addmm(const Tensor& self, const Tensor& a, const Tensor& b, ScalarType out_dtype, const Scalar& beta,
             const Scalar& alpha) {
  const autocast::detail::Off plain(self.device().type());
  const auto to = [out_dtype](const Tensor& x) { return operand_as("addmm", x, out_dtype); };
  return addmm(to(self), to(a), to(b), beta, alpha);
}

Tensor baddbmm(const Tensor& self, const Tensor& a, const Tensor& b, ScalarType out_dtype, const Scalar& beta,
               const Scalar& alpha) {
  const autocast::detail::Off plain(self.device().type());
  const auto to = [out_dtype](const Tensor& x) { return operand_as("baddbmm", x, out_dtype); };
  return baddbmm(to(self), to(a), to(b), beta, alpha);
}

Tensor Tensor::addmm(const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) const {
  return tandem::addmm(*this, a, b, beta, alpha);
}

Tensor& Tensor::addmm_(const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) const {
  const Dims product = check_product("addmm_", 2, *this, a, b, beta, alpha);
  check(sizes() == IntArrayRef(product), "addmm_: the result ", product, " does not fit in ", *this);
  return inplace(
      *this, "addmm_", Before::kAlias,
      [&] {
        const autocast::detail::Off plain(device().type());  // autocast is for new tensors only
        if (is_contiguous() && !is_complex() && a.storage() != storage() && b.storage() != storage())
          backend(*this).linalg.matmul(*this, a, b, beta, alpha);
        else
          copy_raw(*this, tandem::addmm(detach(), a, b, beta, alpha));
      },
      [&](const Tensor& before) {
        const autocast::detail::Off plain(device().type());
        return tandem::addmm(before, a, b, beta, alpha);
      },
      a, b);
}

Tensor Tensor::baddbmm(const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) const {
  return tandem::baddbmm(*this, a, b, beta, alpha);
}
Tensor& Tensor::baddbmm_(const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) const {
  return inplace_of(
      *this, "baddbmm_",
      [&](const Tensor& x) {
        const autocast::detail::Off plain(device().type());
        return tandem::baddbmm(x, a, b, beta, alpha);
      },
      a, b);
}

}  // namespace tandem
