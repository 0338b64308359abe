// Elementwise functions of one argument on the CPU.
#include "tandem/core/cpu/loop.h"
#include "tandem/core/cpu/pointwise_tables.h"

namespace tandem::cpu {
namespace {

template <class Op, class T>
T apply(T x, T p0, T p1) {
  if constexpr (requires { Op::apply(x); })
    return Op::apply(x);
  else if constexpr (requires { Op::apply(x, p0); })
    return Op::apply(x, p0);
  else
    return Op::apply(x, p0, p1);
}

template <class Op, class T>
void unary_typed(const Tensor& out, const Tensor& in, T p0, T p1) {
  const auto f = [p0, p1](T x) { return apply<Op, T>(x, p0, p1); };
  if (out.is_contiguous() && in.is_contiguous() && in.numel() == out.numel()) {
    T* o = out.ptr<T>();
    const T* x = in.ptr<T>();
    parallel_for(out.numel(), kGrain,
                 [=](int64_t begin, int64_t end) { unary_run(o + begin, 1, x + begin, 1, end - begin, f); });
    return;
  }
  parallel_runs(make_plan<2>({&out, &in}), [&](const auto& p, const auto& s, int64_t n) {
    unary_run(reinterpret_cast<T*>(p[0]), s[0], reinterpret_cast<const T*>(p[1]), s[1], n, f);
  });
}

struct Maker {
  template <class Op>
  static constexpr auto make() {
    return +[](const Tensor& out, const Tensor& in, const Scalar* parameters) {
      dispatch(in.dtype(), typename Op::Types{}, Op::name, [&]<class T>(Type<T>) {
        const bool has = parameters != nullptr;
        unary_typed<Op, T>(out, in, has ? parameters[0].to<T>() : T(), has ? parameters[1].to<T>() : T());
      });
    };
  }
};

}  // namespace

constinit const UnaryKernels unary_kernels = UnaryKernels::from<Maker>();

}  // namespace tandem::cpu
