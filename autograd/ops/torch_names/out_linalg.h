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

TANDEM_OUT(addmm,
           (const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta = 1,
            const Scalar& alpha = 1),
           self, mat1, mat2, beta, alpha)
TANDEM_OUT(addmm,
           (const Tensor& self, const Tensor& mat1, const Tensor& mat2, ScalarType out_dtype, const Scalar& beta = 1,
            const Scalar& alpha = 1),
           self, mat1, mat2, out_dtype, beta, alpha)
TANDEM_OUT(addmv,
           (const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta = 1, const Scalar& alpha = 1),
           self, mat, vec, beta, alpha)
TANDEM_OUT(addr,
           (const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta = 1,
            const Scalar& alpha = 1),
           self, vec1, vec2, beta, alpha)
TANDEM_OUT(baddbmm,
           (const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1,
            const Scalar& alpha = 1),
           self, batch1, batch2, beta, alpha)
TANDEM_OUT(baddbmm,
           (const Tensor& self, const Tensor& batch1, const Tensor& batch2, ScalarType out_dtype,
            const Scalar& beta = 1, const Scalar& alpha = 1),
           self, batch1, batch2, out_dtype, beta, alpha)
TANDEM_OUT(bmm, (const Tensor& self, const Tensor& mat2), self, mat2)
TANDEM_OUT(bmm, (const Tensor& self, const Tensor& mat2, ScalarType out_dtype), self, mat2, out_dtype)
TANDEM_OUT(cross, (const Tensor& self, const Tensor& other, optional<int64_t> dim = nullopt), self, other, dim)
TANDEM_OUT(dot, (const Tensor& self, const Tensor& tensor), self, tensor)
TANDEM_OUT(ger, (const Tensor& self, const Tensor& vec2), self, vec2)
TANDEM_OUT(inner, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(kron, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(linear, (const Tensor& input, const Tensor& weight, const Tensor& bias = {}), input, weight, bias)
TANDEM_OUT(matmul, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(matrix_power, (const Tensor& self, int64_t n), self, n)
TANDEM_OUT(mm, (const Tensor& self, const Tensor& mat2), self, mat2)
TANDEM_OUT(mm, (const Tensor& self, const Tensor& mat2, ScalarType out_dtype), self, mat2, out_dtype)
TANDEM_OUT(mv, (const Tensor& self, const Tensor& vec), self, vec)
TANDEM_OUT(outer, (const Tensor& self, const Tensor& vec2), self, vec2)
TANDEM_OUT(tensordot, (const Tensor& self, const Tensor& other, IntArrayRef dims_self, IntArrayRef dims_other), self,
           other, dims_self, dims_other)
TANDEM_OUT(vdot, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(addbmm,
           (const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1,
            const Scalar& alpha = 1),
           self, batch1, batch2, beta, alpha)
TANDEM_OUT(chain_matmul, (TensorList matrices), matrices)
TANDEM_OUT(frobenius_norm, (const Tensor& self, IntArrayRef dim, bool keepdim = false), self, dim, keepdim)
TANDEM_OUT(renorm, (const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm), self, p, dim, maxnorm)
TANDEM_OUT(cat, (TensorList tensors, int64_t dim = 0), tensors, dim)
TANDEM_OUT(column_stack, (TensorList tensors), tensors)
TANDEM_OUT(concatenate, (TensorList tensors, int64_t dim = 0), tensors, dim)
TANDEM_OUT(dstack, (TensorList tensors), tensors)
TANDEM_OUT(hstack, (TensorList tensors), tensors)
TANDEM_OUT(stack, (TensorList tensors, int64_t dim = 0), tensors, dim)
TANDEM_OUT(vstack, (TensorList tensors), tensors)

}  // namespace tandem
