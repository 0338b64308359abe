// The precision of operations without kernels for the half types: what autocast's lists say, and otherwise float32 for
// half types, whose result is rounded once. Internal to the sources of operations, which begin with
//
//   if (const auto out = autograd::in_full_precision([&](const Tensor& x) { return pdist(x, p); }, self)) return *out;
//
// The function is called again, with converted tensors, or not at all: then nothing is to be converted.
#pragma once
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/half.h"

namespace tandem::autograd {

/// f of the tensors in float32, rounded to the half type that they promote to; nullopt if they promote to another type.
template <class F, class... Tensors>
optional<Tensor> in_float(const F& f, const Tensors&... tensors) {
  if (const auto half = half_result(tensors...)) return f(widened(tensors)...).to(*half);
  return nullopt;
}

/// In autocast's list of float32.
template <class F, class... Tensors>
optional<Tensor> in_full_precision(const F& f, const Tensor& first, const Tensors&... others) {
  if (autocast::is_on(first)) return autocast::full_precision(f, first, others...);
  return in_float(f, first, others...);
}
/// In that list for CUDA only.
template <class F, class... Tensors>
optional<Tensor> in_full_precision_on_cuda(const F& f, const Tensor& first, const Tensors&... others) {
  if (autocast::is_on_cuda(first)) return autocast::full_precision(f, first, others...);
  return in_float(f, first, others...);
}
/// In that list for the CPU only.
template <class F, class... Tensors>
optional<Tensor> in_full_precision_on_cpu(const F& f, const Tensor& first, const Tensors&... others) {
  if (autocast::is_on_cpu(first)) return autocast::full_precision(f, first, others...);
  return in_float(f, first, others...);
}
/// In autocast's list of the lower precision.
template <class F, class... Tensors>
optional<Tensor> in_lower_precision(const F& f, const Tensor& first, const Tensors&... others) {
  if (autocast::is_on(first)) return autocast::lower_precision(f, first, others...);
  return in_float(f, first, others...);
}
/// In autocast's list of the widest dtype, for CUDA only.
template <class F, class... Tensors>
optional<Tensor> promoted_on_cuda(const F& f, const Tensor& first, const Tensors&... others) {
  if (autocast::is_on_cuda(first)) return autocast::promoted(f, first, others...);
  return in_float(f, first, others...);
}

}  // namespace tandem::autograd
