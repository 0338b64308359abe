// Namespace linalg: linalg::NAME is the function linalg_NAME.
#pragma once
#include "tandem/autograd/ops/torch_names/linalg_names.h"
#include "tandem/autograd/ops/torch_names/named.h"

namespace tandem::linalg {

TANDEM_NAMED(linalg, lu_factor, (const Tensor& A, bool pivot = true), A, pivot)
TANDEM_NAMED(linalg, lu_factor_ex, (const Tensor& A, bool pivot = true, bool check_errors = false), A, pivot,
             check_errors)
TANDEM_NAMED(linalg, lu, (const Tensor& A, bool pivot = true), A, pivot)
TANDEM_NAMED(linalg, ldl_factor, (const Tensor& self, bool hermitian = false), self, hermitian)
TANDEM_NAMED(linalg, ldl_factor_ex, (const Tensor& self, bool hermitian = false, bool check_errors = false), self,
             hermitian, check_errors)
TANDEM_NAMED(linalg, ldl_solve, (const Tensor& LD, const Tensor& pivots, const Tensor& B, bool hermitian = false), LD,
             pivots, B, hermitian)
TANDEM_NAMED(linalg, polar, (const Tensor& A), A)
TANDEM_NAMED(linalg, matrix_sqrth, (const Tensor& self), self)
TANDEM_NAMED(linalg, cholesky, (const Tensor& self, bool upper = false), self, upper)
TANDEM_NAMED(linalg, cholesky_ex, (const Tensor& self, bool upper = false, bool check_errors = false), self, upper,
             check_errors)
TANDEM_NAMED(linalg, qr, (const Tensor& A, std::string_view mode = "reduced"), A, mode)
TANDEM_NAMED(linalg, householder_product, (const Tensor& input, const Tensor& tau), input, tau)
TANDEM_NAMED(linalg, eigh, (const Tensor& self, std::string_view UPLO = "L"), self, UPLO)
TANDEM_NAMED(linalg, eigvalsh, (const Tensor& self, std::string_view UPLO = "L"), self, UPLO)
TANDEM_NAMED(linalg, eig, (const Tensor& self), self)
TANDEM_NAMED(linalg, eigvals, (const Tensor& self), self)
TANDEM_NAMED(linalg, svd, (const Tensor& A, bool full_matrices = true, optional<std::string_view> driver = nullopt), A,
             full_matrices, driver)
TANDEM_NAMED(linalg, svdvals, (const Tensor& A, optional<std::string_view> driver = nullopt), A, driver)
TANDEM_NAMED(linalg, solve, (const Tensor& A, const Tensor& B, bool left = true), A, B, left)
TANDEM_NAMED(linalg, solve_ex, (const Tensor& A, const Tensor& B, bool left = true, bool check_errors = false), A, B,
             left, check_errors)
TANDEM_NAMED(linalg, solve_triangular,
             (const Tensor& self, const Tensor& B, bool upper, bool left = true, bool unitriangular = false), self, B,
             upper, left, unitriangular)
TANDEM_NAMED(linalg, lu_solve,
             (const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left = true, bool adjoint = false), LU,
             pivots, B, left, adjoint)
TANDEM_NAMED(linalg, inv, (const Tensor& A), A)
TANDEM_NAMED(linalg, inv_ex, (const Tensor& A, bool check_errors = false), A, check_errors)
TANDEM_NAMED(linalg, lstsq,
             (const Tensor& self, const Tensor& b, optional<double> rcond = nullopt,
              optional<std::string_view> driver = nullopt),
             self, b, rcond, driver)
TANDEM_NAMED(linalg, pinv,
             (const Tensor& self, const optional<Tensor>& atol = {}, const optional<Tensor>& rtol = {},
              bool hermitian = false),
             self, atol, rtol, hermitian)
TANDEM_NAMED(linalg, pinv, (const Tensor& self, optional<double> atol, optional<double> rtol, bool hermitian = false),
             self, atol, rtol, hermitian)
TANDEM_NAMED(linalg, pinv, (const Tensor& self, double rcond, bool hermitian = false), self, rcond, hermitian)
TANDEM_NAMED(linalg, pinv, (const Tensor& self, const Tensor& rcond, bool hermitian = false), self, rcond, hermitian)
TANDEM_NAMED(linalg, det, (const Tensor& A), A)
TANDEM_NAMED(linalg, slogdet, (const Tensor& A), A)
TANDEM_NAMED(linalg, matrix_rank,
             (const Tensor& input, const optional<Tensor>& atol = {}, const optional<Tensor>& rtol = {},
              bool hermitian = false),
             input, atol, rtol, hermitian)
TANDEM_NAMED(linalg, matrix_rank,
             (const Tensor& self, optional<double> atol, optional<double> rtol, bool hermitian = false), self, atol,
             rtol, hermitian)
TANDEM_NAMED(linalg, matrix_rank, (const Tensor& self, double tol, bool hermitian = false), self, tol, hermitian)
TANDEM_NAMED(linalg, matrix_rank, (const Tensor& input, const Tensor& tol, bool hermitian = false), input, tol,
             hermitian)
TANDEM_NAMED(linalg, cond, (const Tensor& self, const optional<Scalar>& p = nullopt), self, p)
TANDEM_NAMED(linalg, cond, (const Tensor& self, std::string_view p), self, p)
TANDEM_NAMED(linalg, vector_norm,
             (const Tensor& self, const Scalar& ord = 2, optional<IntArrayRef> dim = nullopt, bool keepdim = false,
              optional<ScalarType> dtype = nullopt),
             self, ord, dim, keepdim, dtype)
TANDEM_NAMED(linalg, matrix_norm,
             (const Tensor& self, const Scalar& ord, IntArrayRef dim = {-2, -1}, bool keepdim = false,
              optional<ScalarType> dtype = nullopt),
             self, ord, dim, keepdim, dtype)
TANDEM_NAMED(linalg, matrix_norm,
             (const Tensor& self, std::string_view ord = "fro", IntArrayRef dim = {-2, -1}, bool keepdim = false,
              optional<ScalarType> dtype = nullopt),
             self, ord, dim, keepdim, dtype)
TANDEM_NAMED(linalg, norm,
             (const Tensor& self, const optional<Scalar>& ord = nullopt, optional<IntArrayRef> dim = nullopt,
              bool keepdim = false, optional<ScalarType> dtype = nullopt),
             self, ord, dim, keepdim, dtype)
TANDEM_NAMED(linalg, norm,
             (const Tensor& self, std::string_view ord, optional<IntArrayRef> dim = nullopt, bool keepdim = false,
              optional<ScalarType> dtype = nullopt),
             self, ord, dim, keepdim, dtype)
TANDEM_NAMED(linalg, matrix_exp, (const Tensor& self), self)
TANDEM_NAMED(linalg, multi_dot, (TensorList tensors), tensors)
TANDEM_NAMED(linalg, vecdot, (const Tensor& x, const Tensor& y, int64_t dim = -1), x, y, dim)
TANDEM_NAMED(linalg, cross, (const Tensor& self, const Tensor& other, int64_t dim = -1), self, other, dim)
TANDEM_NAMED(linalg, vander, (const Tensor& x, optional<int64_t> N = nullopt), x, N)
TANDEM_NAMED(linalg, tensorinv, (const Tensor& self, int64_t ind = 2), self, ind)
TANDEM_NAMED(linalg, tensorsolve, (const Tensor& self, const Tensor& other, optional<IntArrayRef> dims = nullopt), self,
             other, dims)
TANDEM_NAMED(linalg, matmul, (const Tensor& self, const Tensor& other), self, other)
TANDEM_NAMED(linalg, matrix_power, (const Tensor& self, int64_t n), self, n)
TANDEM_NAMED(linalg, diagonal, (const Tensor& A, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1), A, offset,
             dim1, dim2)

}  // namespace tandem::linalg
