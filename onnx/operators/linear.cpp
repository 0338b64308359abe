// Products of matrices.
#include "tandem/onnx/operators.h"

namespace tandem::onnx {
namespace {

Tensor gemm(Call& c) {
  const double alpha = c.number("alpha", 1), beta = c.number("beta", 1);
  const bool transposed_b = c.flag("transB");
  check(c[0].dim() == 2 && c[1].dim() == 2, "its operands must be matrices, got ", c[0], " and ", c[1]);
  const Tensor a = c.flag("transA") ? c[0].t() : c[0], b = transposed_b ? c[1].t() : c[1];
  const Tensor bias = c.optional(2);
  // A layer: what nn::Linear computes, to the bit.
  const bool per_column = !bias.defined() || (bias.dim() == 1 && bias.size(0) == b.size(1));
  if (transposed_b && alpha == 1 && beta == 1 && per_column) return linear(a, c[1], bias);
  if (bias.defined()) return addmm(bias, a, b, beta, alpha);
  const Tensor product = mm(a, b);
  return alpha == 1 ? product : product * alpha;
}

// Integers are multiplied as float64, which is exact up to 2^53.
Tensor product(const Tensor& a, const Tensor& b) {
  if (!isIntegralType(a.scalar_type())) return matmul(a, b);
  return matmul(a.to(kDouble), b.to(kDouble)).to(a.scalar_type());
}

}  // namespace

Operators linear_operators() {
  return {
      {"Det", [](Call& c) { return linalg_det(c[0]); }},
      {"Einsum", [](Call& c) { return einsum(c.text("equation", ""), c.tensors()); }},
      {"Gemm", gemm},
      {"MatMul", [](Call& c) { return product(c[0], c[1]); }},
  };
}

}  // namespace tandem::onnx
