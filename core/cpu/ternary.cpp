// Elementwise functions of three arguments on the CPU.
#include "tandem/core/kernels/ternary_ops.h"

#include "tandem/core/cpu/loop.h"
#include "tandem/core/cpu/pointwise_tables.h"

namespace tandem::cpu {
namespace {

template <class T, class F>
void ternary_typed(const Tensor& out, const Operand& a, const Operand& b, const Operand& c, F f) {
  const T numbers[] = {a.tensor == nullptr ? a.scalar.to<T>() : T(),
                       b.tensor == nullptr ? b.scalar.to<T>() : T(),
                       c.tensor == nullptr ? c.scalar.to<T>() : T()};
  parallel_runs(make_plan<4>({&out, a.tensor, b.tensor, c.tensor}),
                [&](const auto& p, const auto& s, int64_t n) {
                  T* o = reinterpret_cast<T*>(p[0]);
                  const T* in[3];
                  for (std::size_t k = 0; k < 3; ++k)
                    in[k] = p[k + 1] != nullptr ? reinterpret_cast<const T*>(p[k + 1]) : &numbers[k];
                  if (s[0] == 1 && s[1] == 1 && s[2] == 1 && s[3] == 1)
                    for (int64_t i = 0; i < n; ++i) o[i] = f(in[0][i], in[1][i], in[2][i]);
                  else
                    for (int64_t i = 0; i < n; ++i)
                      o[i * s[0]] = f(in[0][i * s[1]], in[1][i * s[2]], in[2][i * s[3]]);
                });
}

struct Maker {
  template <class Op>
  static constexpr auto make() {
    return +[](const Tensor& out, const Operand& a, const Operand& b, const Operand& c,
               const Scalar& parameter) {
      if (out.numel() == 0) return;
      dispatch(out.dtype(), typename Op::Types{}, Op::name, [&]<class T>(Type<T>) {
        const T p = parameter.to<T>();
        ternary_typed<T>(out, a, b, c, [p](T x, T y, T z) { return Op::apply(x, y, z, p); });
      });
    };
  }
};

}  // namespace

constinit const TernaryKernels ternary_kernels = TernaryKernels::from<Maker>();

}  // namespace tandem::cpu
