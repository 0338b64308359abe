// CUDA kernels of binary operations, with a tensor or a number on either side. Include it only in binary_N.cu.
#pragma once
#include "tandem/core/backend/elementwise_kernels.h"
#include "tandem/cuda/elementwise.h"
#include "tandem/cuda/functors.h"
#include "tandem/cuda/raise_fault.h"

namespace tandem::cuda_impl {

/// Integer division: a zero divisor is reported and produces 0.
template <class Op, class T>
struct Division {
  using In = T;
  using Out = T;
  Fault* fault;
  HostText operation;
  __device__ T operator()(T a, T b) const {
    if (b != T(0)) return Op::apply(a, b);
    raise_fault(fault, {static_cast<int32_t>(FaultKind::kDivisionByZero), 0, operation, 0, 0, 0, {}});
    return T(0);
  }
};

struct BinaryLoops {
  template <class Op, class T>
  static void value(const Tensor& out, const Operand& a, const Operand& b, T p) {
    if constexpr (std::is_integral_v<T> && requires { Op::divides; }) {
      if (out.numel() == 0) return;
      check(b.tensor != nullptr || b.scalar.to<T>() != T(0), Op::name, ": integer division by zero");
      const Division<Op, T> f{context(out.device()).fault(), Op::name};
      elementwise(Op::name, f, out, {&a, &b});
    } else {
      elementwise(Op::name, Binary<Op, T>{p}, out, {&a, &b});
    }
  }
};

}  // namespace tandem::cuda_impl
