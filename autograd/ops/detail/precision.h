// The precision of operations without kernels for the half types: what autocast's lists say, and otherwise float32 for
// half types, whose result is rounded once. Internal to the sources of operations, which begin with
//
//   if (const auto to = autograd::in_full_precision(self)) return to.rounded(pdist(to(self), p));
#pragma once
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/half.h"

namespace tandem::autograd {

/// True if the operation is to be called again with converted tensors: because it is in one of autocast's lists, or
/// because the tensors promote to a half type.
class [[nodiscard]] Precision {
 public:
  /// list(first): the conversion of the operation's list, which is false if autocast is not on.
  template <class List, class... Tensors>
  Precision(const List& list, const Tensor& first, const Tensors&... others)
      : listed_(list(first)), half_(listed_ ? nullopt : half_result(first, others...)) {}

  explicit operator bool() const { return listed_ || half_; }
  Tensor operator()(const Tensor& t) const { return half_ ? widened(t) : listed_(t); }
  Tensor rounded(const Tensor& out) const { return half_ ? out.to(*half_) : out; }

 private:
  autocast::Conversion listed_;
  optional<ScalarType> half_;  // to which the result is rounded
};

/// In autocast's list of float32: on all devices, or on those of one type.
template <class... Tensors>
Precision in_full_precision(const Tensor& first, const Tensors&... others) {
  return {autocast::full_precision, first, others...};
}
template <class... Tensors>
Precision in_full_precision_on_cuda(const Tensor& first, const Tensors&... others) {
  return {autocast::full_precision_on_cuda, first, others...};
}
template <class... Tensors>
Precision in_full_precision_on_cpu(const Tensor& first, const Tensors&... others) {
  return {autocast::full_precision_on_cpu, first, others...};
}
/// In autocast's list of the lower precision.
template <class... Tensors>
Precision in_lower_precision(const Tensor& first, const Tensors&... others) {
  return {autocast::lower_precision, first, others...};
}
/// In autocast's list of the widest dtype, for CUDA only.
template <class... Tensors>
Precision promoted_on_cuda(const Tensor& first, const Tensors&... others) {
  return {[&](const Tensor& t) { return autocast::promoted_on_cuda(t, others...); }, first, others...};
}

}  // namespace tandem::autograd
