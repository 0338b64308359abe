// Kernel: a function pointer of a backend's table that cannot be left out.
#pragma once
#include <array>
#include <cstddef>

#include "tandem/core/kernels/kernel_span.h"
#include "tandem/core/scalar.h"
#include "tandem/core/tensor.h"
#include "tandem/core/type_list.h"

namespace tandem {

template <class Signature>
class Kernel;
template <class R, class... Args>
class Kernel<R(Args...)> {
 public:
  constexpr Kernel(R (*function)(Args...)) : function_(function) {}
  Kernel(std::nullptr_t) = delete;
  R operator()(Args... args) const {
    if (profiler::is_on()) [[unlikely]]
      return profiled(static_cast<Args&&>(args)...);
    return function_(static_cast<Args&&>(args)...);
  }

 private:
  [[gnu::noinline, gnu::cold]] R profiled(Args... args) const {
    profiler::detail::KernelArguments arguments;
    (arguments.note(args), ...);
    const profiler::detail::KernelSpan span(this, arguments);
    return function_(static_cast<Args&&>(args)...);
  }
  R (*function_)(Args...);
};

/// One kernel of the same signature for each type of an operation list, made by `Maker::template make<Op>()`.
template <class List, class Signature>
class KernelArray;
template <class... Ops, class Signature>
class KernelArray<TypeList<Ops...>, Signature> {
 public:
  template <class Maker>
  static constexpr KernelArray from() {
    return KernelArray({Kernel<Signature>(Maker::template make<Ops>())...});
  }
  template <class Op>
  const Kernel<Signature>& get() const {
    return kernels_[index_of<Op, TypeList<Ops...>>];
  }

 private:
  constexpr explicit KernelArray(std::array<Kernel<Signature>, sizeof...(Ops)> kernels) : kernels_(kernels) {}
  std::array<Kernel<Signature>, sizeof...(Ops)> kernels_;
};

/// A tensor, or one number that stands for a tensor of it.
struct Operand {
  const Tensor* tensor = nullptr;
  Scalar scalar;
  Operand(const Tensor& t) : tensor(&t) {}
  Operand(const Scalar& s) : scalar(s) {}
};

}  // namespace tandem
