// Functions that write to a given tensor (out_write.h): comparisons and logic.
#pragma once
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/torch_names/out_write.h"

namespace tandem {

TANDEM_OUT(bitwise_and, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(bitwise_and, (const Tensor& self, const Scalar& other), self, other)
TANDEM_OUT(bitwise_and, (const Scalar& self, const Tensor& other), self, other)
TANDEM_OUT(bitwise_left_shift, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(bitwise_left_shift, (const Tensor& self, const Scalar& other), self, other)
TANDEM_OUT(bitwise_left_shift, (const Scalar& self, const Tensor& other), self, other)
TANDEM_OUT(bitwise_or, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(bitwise_or, (const Tensor& self, const Scalar& other), self, other)
TANDEM_OUT(bitwise_or, (const Scalar& self, const Tensor& other), self, other)
TANDEM_OUT(bitwise_right_shift, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(bitwise_right_shift, (const Tensor& self, const Scalar& other), self, other)
TANDEM_OUT(bitwise_right_shift, (const Scalar& self, const Tensor& other), self, other)
TANDEM_OUT(bitwise_xor, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(bitwise_xor, (const Tensor& self, const Scalar& other), self, other)
TANDEM_OUT(bitwise_xor, (const Scalar& self, const Tensor& other), self, other)
TANDEM_OUT(eq, (const Tensor& self, const Scalar& other), self, other)
TANDEM_OUT(eq, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(ge, (const Tensor& self, const Scalar& other), self, other)
TANDEM_OUT(ge, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(gt, (const Tensor& self, const Scalar& other), self, other)
TANDEM_OUT(gt, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(le, (const Tensor& self, const Scalar& other), self, other)
TANDEM_OUT(le, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(logical_and, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(logical_or, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(logical_xor, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(lt, (const Tensor& self, const Scalar& other), self, other)
TANDEM_OUT(lt, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(ne, (const Tensor& self, const Scalar& other), self, other)
TANDEM_OUT(ne, (const Tensor& self, const Tensor& other), self, other)

}  // namespace tandem
