// Functions that write to a given tensor (out_write.h): functions under their other names.
#pragma once
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/torch_names/other_names.h"
#include "tandem/autograd/ops/torch_names/out_write.h"

namespace tandem {

TANDEM_OUT(arccos, (const Tensor& self), self)
TANDEM_OUT(arccosh, (const Tensor& self), self)
TANDEM_OUT(arcsin, (const Tensor& self), self)
TANDEM_OUT(arcsinh, (const Tensor& self), self)
TANDEM_OUT(arctan, (const Tensor& self), self)
TANDEM_OUT(arctan2, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(arctanh, (const Tensor& self), self)
TANDEM_OUT(clip, (const Tensor& self, const optional<Scalar>& min, const optional<Scalar>& max = nullopt), self, min,
           max)
TANDEM_OUT(clip, (const Tensor& self, const Tensor& min = {}, const Tensor& max = {}), self, min, max)
TANDEM_OUT(concat, (TensorList tensors, int64_t dim = 0), tensors, dim)
TANDEM_OUT(divide, (const Tensor& self, const Tensor& other, optional<std::string_view> rounding_mode), self, other,
           rounding_mode)
TANDEM_OUT(fix, (const Tensor& self), self)
TANDEM_OUT(greater, (const Tensor& self, const Scalar& other), self, other)
TANDEM_OUT(greater, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(greater_equal, (const Tensor& self, const Scalar& other), self, other)
TANDEM_OUT(greater_equal, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(less, (const Tensor& self, const Scalar& other), self, other)
TANDEM_OUT(less, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(less_equal, (const Tensor& self, const Scalar& other), self, other)
TANDEM_OUT(less_equal, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(not_equal, (const Tensor& self, const Scalar& other), self, other)
TANDEM_OUT(not_equal, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(row_stack, (TensorList tensors), tensors)
TANDEM_OUT(sgn, (const Tensor& self), self)

}  // namespace tandem
