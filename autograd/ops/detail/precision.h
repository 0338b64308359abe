// The precision of operations without kernels for the half types: what autocast's lists say, and otherwise float32 for
// half types, whose result is rounded once. Internal to the sources of operations, which begin with
//
//   if (const auto to = autograd::in_full_precision(self)) return to.rounded(pdist(to(self), p));
#pragma once
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/half.h"

namespace tandem::autograd {

/// True if the operation is to be called again with converted tensors.
struct [[nodiscard]] Precision {
  autocast::Conversion listed;
  optional<ScalarType> half = nullopt;  // what the tensors promote to, without autocast

  explicit operator bool() const { return listed || half; }
  Tensor operator()(const Tensor& t) const { return half ? widened(t) : listed(t); }
  Tensor rounded(const Tensor& out) const { return half ? out.to(*half) : out; }
};

/// In autocast's list of float32. The half type is the one that the tensors promote to.
template <class... Tensors>
Precision in_full_precision(const Tensor& first, const Tensors&... others) {
  if (autocast::is_on(first)) return {autocast::full_precision(first)};
  return {{}, half_result(first, others...)};
}
/// In that list for CUDA only.
template <class... Tensors>
Precision in_full_precision_on_cuda(const Tensor& first, const Tensors&... others) {
  if (autocast::is_on_cuda(first)) return {autocast::full_precision(first)};
  return {{}, half_result(first, others...)};
}
/// In that list for the CPU only.
template <class... Tensors>
Precision in_full_precision_on_cpu(const Tensor& first, const Tensors&... others) {
  if (autocast::is_on_cpu(first)) return {autocast::full_precision(first)};
  return {{}, half_result(first, others...)};
}
/// In autocast's list of the lower precision.
template <class... Tensors>
Precision in_lower_precision(const Tensor& first, const Tensors&... others) {
  if (autocast::is_on(first)) return {autocast::lower_precision(first)};
  return {{}, half_result(first, others...)};
}
/// In autocast's list of the widest dtype, for CUDA only.
template <class... Tensors>
Precision promoted_on_cuda(const Tensor& first, const Tensors&... others) {
  if (autocast::is_on_cuda(first)) return {autocast::promoted(first, others...)};
  return {{}, half_result(first, others...)};
}

}  // namespace tandem::autograd
