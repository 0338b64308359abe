// Functions that write to a given tensor (out_write.h): products of matrices and joins.
#pragma once
#include "tandem/autograd/ops/linalg/addbmm.h"
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/linalg/matrix_functions.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/torch_names/linalg_names.h"
#include "tandem/autograd/ops/torch_names/out_write.h"
#include "tandem/autograd/ops/view/cat.h"

namespace tandem {

inline Tensor& addmm_out(Tensor& out, const Tensor& self, const Tensor& mat1, const Tensor& mat2,
                         const Scalar& beta = 1, const Scalar& alpha = 1) {
  return autograd::write_out("addmm_out", out)(tandem::addmm(self, mat1, mat2, beta, alpha));
}
inline Tensor& addmm_out(Tensor& out, const Tensor& self, const Tensor& mat1, const Tensor& mat2, ScalarType out_dtype,
                         const Scalar& beta = 1, const Scalar& alpha = 1) {
  return autograd::write_out("addmm_out", out)(tandem::addmm(self, mat1, mat2, out_dtype, beta, alpha));
}
inline Tensor& addmv_out(Tensor& out, const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta = 1,
                         const Scalar& alpha = 1) {
  return autograd::write_out("addmv_out", out)(tandem::addmv(self, mat, vec, beta, alpha));
}
inline Tensor& addr_out(Tensor& out, const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta = 1,
                        const Scalar& alpha = 1) {
  return autograd::write_out("addr_out", out)(tandem::addr(self, vec1, vec2, beta, alpha));
}
inline Tensor& baddbmm_out(Tensor& out, const Tensor& self, const Tensor& batch1, const Tensor& batch2,
                           const Scalar& beta = 1, const Scalar& alpha = 1) {
  return autograd::write_out("baddbmm_out", out)(tandem::baddbmm(self, batch1, batch2, beta, alpha));
}
inline Tensor& baddbmm_out(Tensor& out, const Tensor& self, const Tensor& batch1, const Tensor& batch2,
                           ScalarType out_dtype, const Scalar& beta = 1, const Scalar& alpha = 1) {
  return autograd::write_out("baddbmm_out", out)(tandem::baddbmm(self, batch1, batch2, out_dtype, beta, alpha));
}
inline Tensor& bmm_out(Tensor& out, const Tensor& self, const Tensor& mat2) {
  return autograd::write_out("bmm_out", out)(tandem::bmm(self, mat2));
}
inline Tensor& bmm_out(Tensor& out, const Tensor& self, const Tensor& mat2, ScalarType out_dtype) {
  return autograd::write_out("bmm_out", out)(tandem::bmm(self, mat2, out_dtype));
}
inline Tensor& cross_out(Tensor& out, const Tensor& self, const Tensor& other, optional<int64_t> dim = nullopt) {
  return autograd::write_out("cross_out", out)(tandem::cross(self, other, dim));
}
inline Tensor& dot_out(Tensor& out, const Tensor& self, const Tensor& tensor) {
  return autograd::write_out("dot_out", out)(tandem::dot(self, tensor));
}
inline Tensor& ger_out(Tensor& out, const Tensor& self, const Tensor& vec2) {
  return autograd::write_out("ger_out", out)(tandem::ger(self, vec2));
}
inline Tensor& inner_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("inner_out", out)(tandem::inner(self, other));
}
inline Tensor& kron_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("kron_out", out)(tandem::kron(self, other));
}
inline Tensor& linear_out(Tensor& out, const Tensor& input, const Tensor& weight, const Tensor& bias = {}) {
  return autograd::write_out("linear_out", out)(tandem::linear(input, weight, bias));
}
inline Tensor& matmul_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("matmul_out", out)(tandem::matmul(self, other));
}
inline Tensor& matrix_power_out(Tensor& out, const Tensor& self, int64_t n) {
  return autograd::write_out("matrix_power_out", out)(tandem::matrix_power(self, n));
}
inline Tensor& mm_out(Tensor& out, const Tensor& self, const Tensor& mat2) {
  return autograd::write_out("mm_out", out)(tandem::mm(self, mat2));
}
inline Tensor& mm_out(Tensor& out, const Tensor& self, const Tensor& mat2, ScalarType out_dtype) {
  return autograd::write_out("mm_out", out)(tandem::mm(self, mat2, out_dtype));
}
inline Tensor& mv_out(Tensor& out, const Tensor& self, const Tensor& vec) {
  return autograd::write_out("mv_out", out)(tandem::mv(self, vec));
}
inline Tensor& outer_out(Tensor& out, const Tensor& self, const Tensor& vec2) {
  return autograd::write_out("outer_out", out)(tandem::outer(self, vec2));
}
inline Tensor& tensordot_out(Tensor& out, const Tensor& self, const Tensor& other, IntArrayRef dims_self,
                             IntArrayRef dims_other) {
  return autograd::write_out("tensordot_out", out)(tandem::tensordot(self, other, dims_self, dims_other));
}
inline Tensor& vdot_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("vdot_out", out)(tandem::vdot(self, other));
}
inline Tensor& addbmm_out(Tensor& out, const Tensor& self, const Tensor& batch1, const Tensor& batch2,
                          const Scalar& beta = 1, const Scalar& alpha = 1) {
  return autograd::write_out("addbmm_out", out)(tandem::addbmm(self, batch1, batch2, beta, alpha));
}
inline Tensor& chain_matmul_out(Tensor& out, TensorList matrices) {
  return autograd::write_out("chain_matmul_out", out)(tandem::chain_matmul(matrices));
}
inline Tensor& frobenius_norm_out(Tensor& out, const Tensor& self, IntArrayRef dim, bool keepdim = false) {
  return autograd::write_out("frobenius_norm_out", out)(tandem::frobenius_norm(self, dim, keepdim));
}
inline Tensor& renorm_out(Tensor& out, const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  return autograd::write_out("renorm_out", out)(tandem::renorm(self, p, dim, maxnorm));
}
inline Tensor& cat_out(Tensor& out, TensorList tensors, int64_t dim = 0) {
  return autograd::write_out("cat_out", out)(tandem::cat(tensors, dim));
}
inline Tensor& column_stack_out(Tensor& out, TensorList tensors) {
  return autograd::write_out("column_stack_out", out)(tandem::column_stack(tensors));
}
inline Tensor& concatenate_out(Tensor& out, TensorList tensors, int64_t dim = 0) {
  return autograd::write_out("concatenate_out", out)(tandem::concatenate(tensors, dim));
}
inline Tensor& dstack_out(Tensor& out, TensorList tensors) {
  return autograd::write_out("dstack_out", out)(tandem::dstack(tensors));
}
inline Tensor& hstack_out(Tensor& out, TensorList tensors) {
  return autograd::write_out("hstack_out", out)(tandem::hstack(tensors));
}
inline Tensor& stack_out(Tensor& out, TensorList tensors, int64_t dim = 0) {
  return autograd::write_out("stack_out", out)(tandem::stack(tensors, dim));
}
inline Tensor& vstack_out(Tensor& out, TensorList tensors) {
  return autograd::write_out("vstack_out", out)(tandem::vstack(tensors));
}

}  // namespace tandem
