// Functions that write to a given tensor (out_write.h): reductions.
#pragma once
#include "tandem/autograd/ops/nn/softmax.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/torch_names/out_write.h"

namespace tandem {

inline Tensor& all_out(Tensor& out, const Tensor& self, int64_t dim, bool keepdim = false) {
  return autograd::write_out("all_out", out)(tandem::all(self, dim, keepdim));
}
template <OptionalDims Dim>
Tensor& all_out(Tensor& out, const Tensor& self, const Dim& dim, bool keepdim = false) {
  return autograd::write_out("all_out", out)(tandem::all(self, dim, keepdim));
}
inline Tensor& all_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("all_out", out)(tandem::all(self));
}
inline Tensor& amax_out(Tensor& out, const Tensor& self, IntArrayRef dim = {}, bool keepdim = false) {
  return autograd::write_out("amax_out", out)(tandem::amax(self, dim, keepdim));
}
inline Tensor& amin_out(Tensor& out, const Tensor& self, IntArrayRef dim = {}, bool keepdim = false) {
  return autograd::write_out("amin_out", out)(tandem::amin(self, dim, keepdim));
}
inline std::tuple<Tensor&, Tensor&> aminmax_out(Tensor& min, Tensor& max, const Tensor& self,
                                                optional<int64_t> dim = nullopt, bool keepdim = false) {
  return autograd::write_outs("aminmax_out", min, max)(tandem::aminmax(self, dim, keepdim));
}
inline Tensor& any_out(Tensor& out, const Tensor& self, int64_t dim, bool keepdim = false) {
  return autograd::write_out("any_out", out)(tandem::any(self, dim, keepdim));
}
template <OptionalDims Dim>
Tensor& any_out(Tensor& out, const Tensor& self, const Dim& dim, bool keepdim = false) {
  return autograd::write_out("any_out", out)(tandem::any(self, dim, keepdim));
}
inline Tensor& any_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("any_out", out)(tandem::any(self));
}
inline Tensor& argmax_out(Tensor& out, const Tensor& self, optional<int64_t> dim = nullopt, bool keepdim = false) {
  return autograd::write_out("argmax_out", out)(tandem::argmax(self, dim, keepdim));
}
inline Tensor& argmin_out(Tensor& out, const Tensor& self, optional<int64_t> dim = nullopt, bool keepdim = false) {
  return autograd::write_out("argmin_out", out)(tandem::argmin(self, dim, keepdim));
}
inline Tensor& count_nonzero_out(Tensor& out, const Tensor& self, IntArrayRef dim = {}) {
  return autograd::write_out("count_nonzero_out", out)(tandem::count_nonzero(self, dim));
}
template <class Dim>
requires(std::same_as<Dim, optional<int64_t>> ||
         std::same_as<Dim, std::nullopt_t>) Tensor& count_nonzero_out(Tensor& out, const Tensor& self, const Dim& dim) {
  return autograd::write_out("count_nonzero_out", out)(self.count_nonzero(dim));
}
inline Tensor& cumprod_out(Tensor& out, const Tensor& self, int64_t dim, optional<ScalarType> dtype = nullopt) {
  return autograd::write_out("cumprod_out", out)(tandem::cumprod(self, dim, dtype.value_or(out.dtype())));
}
inline Tensor& cumsum_out(Tensor& out, const Tensor& self, int64_t dim, optional<ScalarType> dtype = nullopt) {
  return autograd::write_out("cumsum_out", out)(tandem::cumsum(self, dim, dtype.value_or(out.dtype())));
}
inline Tensor& logsumexp_out(Tensor& out, const Tensor& self, IntArrayRef dim, bool keepdim = false) {
  return autograd::write_out("logsumexp_out", out)(tandem::logsumexp(self, dim, keepdim));
}
inline Tensor& mean_out(Tensor& out, const Tensor& self, optional<ScalarType> dtype = nullopt) {
  return autograd::write_out("mean_out", out)(tandem::mean(self, dtype.value_or(out.dtype())));
}
inline Tensor& mean_out(Tensor& out, const Tensor& self, IntArrayRef dim, bool keepdim = false,
                        optional<ScalarType> dtype = nullopt) {
  return autograd::write_out("mean_out", out)(tandem::mean(self, dim, keepdim, dtype.value_or(out.dtype())));
}
template <OptionalDims Dim>
Tensor& mean_out(Tensor& out, const Tensor& self, const Dim& dim, bool keepdim = false,
                 optional<ScalarType> dtype = nullopt) {
  return autograd::write_out("mean_out", out)(tandem::mean(self, dim, keepdim, dtype.value_or(out.dtype())));
}
inline Tensor& nansum_out(Tensor& out, const Tensor& self, IntArrayRef dim = {}, bool keepdim = false,
                          optional<ScalarType> dtype = nullopt) {
  return autograd::write_out("nansum_out", out)(tandem::nansum(self, dim, keepdim, dtype.value_or(out.dtype())));
}
template <OptionalDims Dim>
Tensor& nansum_out(Tensor& out, const Tensor& self, const Dim& dim, bool keepdim = false,
                   optional<ScalarType> dtype = nullopt) {
  return autograd::write_out("nansum_out", out)(tandem::nansum(self, dim, keepdim, dtype.value_or(out.dtype())));
}
inline Tensor& norm_out(Tensor& out, const Tensor& self, const optional<Scalar>& p, IntArrayRef dim, bool keepdim,
                        ScalarType dtype) {
  return autograd::write_out("norm_out", out)(tandem::norm(self, p, dim, keepdim, dtype));
}
inline Tensor& norm_out(Tensor& out, const Tensor& self, const optional<Scalar>& p, IntArrayRef dim,
                        bool keepdim = false) {
  return autograd::write_out("norm_out", out)(tandem::norm(self, p, dim, keepdim));
}
inline Tensor& norm_out(Tensor& out, const Tensor& self, const optional<Scalar>& p, ScalarType dtype) {
  return autograd::write_out("norm_out", out)(tandem::norm(self, p, dtype));
}
inline Tensor& norm_out(Tensor& out, const Tensor& self, const Scalar& p = 2) {
  return autograd::write_out("norm_out", out)(tandem::norm(self, p));
}
inline Tensor& prod_out(Tensor& out, const Tensor& self, int64_t dim, bool keepdim = false,
                        optional<ScalarType> dtype = nullopt) {
  return autograd::write_out("prod_out", out)(tandem::prod(self, dim, keepdim, dtype.value_or(out.dtype())));
}
inline Tensor& prod_out(Tensor& out, const Tensor& self, optional<ScalarType> dtype = nullopt) {
  return autograd::write_out("prod_out", out)(tandem::prod(self, dtype.value_or(out.dtype())));
}
inline Tensor& std_out(Tensor& out, const Tensor& self, IntArrayRef dim, bool unbiased, bool keepdim = false) {
  return autograd::write_out("std_out", out)(tandem::std(self, dim, unbiased, keepdim));
}
inline Tensor& std_out(Tensor& out, const Tensor& self, optional<IntArrayRef> dim = nullopt,
                       const optional<Scalar>& correction = nullopt, bool keepdim = false) {
  return autograd::write_out("std_out", out)(tandem::std(self, dim, correction, keepdim));
}
inline std::tuple<Tensor&, Tensor&> std_mean_out(Tensor& out0, Tensor& out1, const Tensor& self,
                                                 optional<IntArrayRef> dim = nullopt,
                                                 const optional<Scalar>& correction = nullopt, bool keepdim = false) {
  return autograd::write_outs("std_mean_out", out0, out1)(tandem::std_mean(self, dim, correction, keepdim));
}
inline Tensor& sum_out(Tensor& out, const Tensor& self, IntArrayRef dim, bool keepdim = false,
                       optional<ScalarType> dtype = nullopt) {
  return autograd::write_out("sum_out", out)(tandem::sum(self, dim, keepdim, dtype.value_or(out.dtype())));
}
inline Tensor& sum_out(Tensor& out, const Tensor& self, optional<ScalarType> dtype = nullopt) {
  return autograd::write_out("sum_out", out)(tandem::sum(self, dtype.value_or(out.dtype())));
}
template <OptionalDims Dim>
Tensor& sum_out(Tensor& out, const Tensor& self, const Dim& dim, bool keepdim = false,
                optional<ScalarType> dtype = nullopt) {
  return autograd::write_out("sum_out", out)(tandem::sum(self, dim, keepdim, dtype.value_or(out.dtype())));
}
inline Tensor& var_out(Tensor& out, const Tensor& self, IntArrayRef dim, bool unbiased, bool keepdim = false) {
  return autograd::write_out("var_out", out)(tandem::var(self, dim, unbiased, keepdim));
}
inline Tensor& var_out(Tensor& out, const Tensor& self, optional<IntArrayRef> dim = nullopt,
                       const optional<Scalar>& correction = nullopt, bool keepdim = false) {
  return autograd::write_out("var_out", out)(tandem::var(self, dim, correction, keepdim));
}
inline std::tuple<Tensor&, Tensor&> var_mean_out(Tensor& out0, Tensor& out1, const Tensor& self,
                                                 optional<IntArrayRef> dim = nullopt,
                                                 const optional<Scalar>& correction = nullopt, bool keepdim = false) {
  return autograd::write_outs("var_mean_out", out0, out1)(tandem::var_mean(self, dim, correction, keepdim));
}
inline Tensor& log_softmax_out(Tensor& out, const Tensor& self, int64_t dim, optional<ScalarType> dtype = nullopt) {
  return autograd::write_out("log_softmax_out", out)(tandem::log_softmax(self, dim, dtype));
}
inline Tensor& softmax_out(Tensor& out, const Tensor& self, int64_t dim, optional<ScalarType> dtype = nullopt) {
  return autograd::write_out("softmax_out", out)(tandem::softmax(self, dim, dtype));
}

}  // namespace tandem
