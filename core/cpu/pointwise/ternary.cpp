// Elementwise functions of three arguments on the CPU.
#include "tandem/core/formulas/ternary_ops.h"

#include "tandem/core/backend/elementwise_kernels.h"
#include "tandem/core/cpu/pointwise/blocks.h"
#include "tandem/core/cpu/tables.h"

namespace tandem::cpu {
void where(const Tensor& out, const Tensor& condition, const Operand& a, const Operand& b);  // where.cpp

namespace {

template <class Op, class T>
void ternary_loop(void* to, const void* const* in, int64_t n, const void* parameters) {
  T* out = static_cast<T*>(to);
  const T *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]), *c = static_cast<const T*>(in[2]);
  const T p = *static_cast<const T*>(parameters);
  for (int64_t i = 0; i < n; ++i) out[i] = Op::apply(a[i], b[i], c[i], p);
}

struct TernaryLoops {
  template <class Op, class T>
  static void value(const Tensor& out, const Operand& a, const Operand& b, const Operand& c, T p) {
    elementwise(out, {a, b, c}, out.dtype(), ternary_loop<Op, T>, &p);
  }
};

}  // namespace

constinit const TernaryKernels ternary_kernels{
    .value = decltype(TernaryKernels::value)::from<TernaryMaker<TernaryLoops>>(kTakesHalf), .where = where};

}  // namespace tandem::cpu
