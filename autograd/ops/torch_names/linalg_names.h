// Older and other names of the functions of linear algebra.
#pragma once
#include "tandem/autograd/ops/linalg/linalg.h"
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/linalg/matrix_functions.h"
#include "tandem/autograd/ops/view/view.h"

namespace tandem {

inline Tensor linalg_matmul(const Tensor& self, const Tensor& other) { return matmul(self, other); }
inline Tensor linalg_matrix_power(const Tensor& self, int64_t n) { return matrix_power(self, n); }
inline Tensor linalg_diagonal(const Tensor& A, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1) {
  return diagonal(A, offset, dim1, dim2);
}
inline Tensor det(const Tensor& self) { return linalg_det(self); }
inline std::tuple<Tensor, Tensor> slogdet(const Tensor& self) { return linalg_slogdet(self); }
inline Tensor inverse(const Tensor& self) { return linalg_inv(self); }
inline Tensor pinverse(const Tensor& self, double rcond = 1e-15) { return linalg_pinv(self, rcond); }
inline Tensor matrix_exp(const Tensor& self) { return linalg_matrix_exp(self); }
inline Tensor orgqr(const Tensor& self, const Tensor& input2) { return linalg_householder_product(self, input2); }
inline Tensor cholesky(const Tensor& self, bool upper = false) { return linalg_cholesky(self, upper); }
inline std::tuple<Tensor, Tensor> qr(const Tensor& self, bool some = true) {
  return linalg_qr(self, some ? "reduced" : "complete");
}
inline Tensor chain_matmul(TensorList matrices) {
  return matrices.size() == 1 ? matrices[0] : linalg_multi_dot(matrices);
}

}  // namespace tandem
