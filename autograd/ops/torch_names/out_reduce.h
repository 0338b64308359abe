// Functions that write to a given tensor (out_write.h): reductions.
#pragma once
#include "tandem/autograd/ops/nn/softmax.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/torch_names/out_write.h"

namespace tandem {

TANDEM_OUT(all, (const Tensor& self, int64_t dim, bool keepdim = false), self, dim, keepdim)
template <OptionalDims Dim>
TANDEM_OUT(all, (const Tensor& self, const Dim& dim, bool keepdim = false), self, dim, keepdim)
TANDEM_OUT(all, (const Tensor& self), self)
TANDEM_OUT(amax, (const Tensor& self, IntArrayRef dim = {}, bool keepdim = false), self, dim, keepdim)
TANDEM_OUT(amin, (const Tensor& self, IntArrayRef dim = {}, bool keepdim = false), self, dim, keepdim)
TANDEM_OUT2(aminmax, min, max, (const Tensor& self, optional<int64_t> dim = nullopt, bool keepdim = false), self, dim,
            keepdim)
TANDEM_OUT(any, (const Tensor& self, int64_t dim, bool keepdim = false), self, dim, keepdim)
template <OptionalDims Dim>
TANDEM_OUT(any, (const Tensor& self, const Dim& dim, bool keepdim = false), self, dim, keepdim)
TANDEM_OUT(any, (const Tensor& self), self)
TANDEM_OUT(argmax, (const Tensor& self, optional<int64_t> dim = nullopt, bool keepdim = false), self, dim, keepdim)
TANDEM_OUT(argmin, (const Tensor& self, optional<int64_t> dim = nullopt, bool keepdim = false), self, dim, keepdim)
TANDEM_OUT(count_nonzero, (const Tensor& self, IntArrayRef dim = {}), self, dim)
template <class Dim>
requires(std::same_as<Dim, optional<int64_t>> ||
         std::same_as<Dim, std::nullopt_t>) Tensor& count_nonzero_out(Tensor& out, const Tensor& self, const Dim& dim) {
  return autograd::write_out("count_nonzero_out", out)(self.count_nonzero(dim));
}
TANDEM_OUT(cumprod, (const Tensor& self, int64_t dim, optional<ScalarType> dtype = nullopt), self, dim,
           dtype.value_or(out.dtype()))
TANDEM_OUT(cumsum, (const Tensor& self, int64_t dim, optional<ScalarType> dtype = nullopt), self, dim,
           dtype.value_or(out.dtype()))
TANDEM_OUT(logsumexp, (const Tensor& self, IntArrayRef dim, bool keepdim = false), self, dim, keepdim)
TANDEM_OUT(mean, (const Tensor& self, optional<ScalarType> dtype = nullopt), self, dtype.value_or(out.dtype()))
TANDEM_OUT(mean, (const Tensor& self, IntArrayRef dim, bool keepdim = false, optional<ScalarType> dtype = nullopt),
           self, dim, keepdim, dtype.value_or(out.dtype()))
template <OptionalDims Dim>
TANDEM_OUT(mean, (const Tensor& self, const Dim& dim, bool keepdim = false, optional<ScalarType> dtype = nullopt), self,
           dim, keepdim, dtype.value_or(out.dtype()))
TANDEM_OUT(nansum,
           (const Tensor& self, IntArrayRef dim = {}, bool keepdim = false, optional<ScalarType> dtype = nullopt), self,
           dim, keepdim, dtype.value_or(out.dtype()))
template <OptionalDims Dim>
TANDEM_OUT(nansum, (const Tensor& self, const Dim& dim, bool keepdim = false, optional<ScalarType> dtype = nullopt),
           self, dim, keepdim, dtype.value_or(out.dtype()))
TANDEM_OUT(norm, (const Tensor& self, const optional<Scalar>& p, IntArrayRef dim, bool keepdim, ScalarType dtype), self,
           p, dim, keepdim, dtype)
TANDEM_OUT(norm, (const Tensor& self, const optional<Scalar>& p, IntArrayRef dim, bool keepdim = false), self, p, dim,
           keepdim)
TANDEM_OUT(norm, (const Tensor& self, const optional<Scalar>& p, ScalarType dtype), self, p, dtype)
TANDEM_OUT(norm, (const Tensor& self, const Scalar& p = 2), self, p)
TANDEM_OUT(prod, (const Tensor& self, int64_t dim, bool keepdim = false, optional<ScalarType> dtype = nullopt), self,
           dim, keepdim, dtype.value_or(out.dtype()))
TANDEM_OUT(prod, (const Tensor& self, optional<ScalarType> dtype = nullopt), self, dtype.value_or(out.dtype()))
TANDEM_OUT(std, (const Tensor& self, IntArrayRef dim, bool unbiased, bool keepdim = false), self, dim, unbiased,
           keepdim)
TANDEM_OUT(std,
           (const Tensor& self, optional<IntArrayRef> dim = nullopt, const optional<Scalar>& correction = nullopt,
            bool keepdim = false),
           self, dim, correction, keepdim)
TANDEM_OUT2(std_mean, out0, out1,
            (const Tensor& self, optional<IntArrayRef> dim = nullopt, const optional<Scalar>& correction = nullopt,
             bool keepdim = false),
            self, dim, correction, keepdim)
TANDEM_OUT(sum, (const Tensor& self, IntArrayRef dim, bool keepdim = false, optional<ScalarType> dtype = nullopt), self,
           dim, keepdim, dtype.value_or(out.dtype()))
TANDEM_OUT(sum, (const Tensor& self, optional<ScalarType> dtype = nullopt), self, dtype.value_or(out.dtype()))
template <OptionalDims Dim>
TANDEM_OUT(sum, (const Tensor& self, const Dim& dim, bool keepdim = false, optional<ScalarType> dtype = nullopt), self,
           dim, keepdim, dtype.value_or(out.dtype()))
TANDEM_OUT(var, (const Tensor& self, IntArrayRef dim, bool unbiased, bool keepdim = false), self, dim, unbiased,
           keepdim)
TANDEM_OUT(var,
           (const Tensor& self, optional<IntArrayRef> dim = nullopt, const optional<Scalar>& correction = nullopt,
            bool keepdim = false),
           self, dim, correction, keepdim)
TANDEM_OUT2(var_mean, out0, out1,
            (const Tensor& self, optional<IntArrayRef> dim = nullopt, const optional<Scalar>& correction = nullopt,
             bool keepdim = false),
            self, dim, correction, keepdim)
TANDEM_OUT(log_softmax, (const Tensor& self, int64_t dim, optional<ScalarType> dtype = nullopt), self, dim, dtype)
TANDEM_OUT(softmax, (const Tensor& self, int64_t dim, optional<ScalarType> dtype = nullopt), self, dim, dtype)

}  // namespace tandem
