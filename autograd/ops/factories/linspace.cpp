// linspace, logspace, eye. Computed in float64 on the host, then converted and moved.
#include <cmath>

#include "tandem/autograd/ops/detail/constant.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/pointwise/promotion.h"

namespace tandem {
namespace {

Tensor deliver(const Tensor& host, const TensorOptions& options) {
  return autograd::constant_on(host, options.resolved_device(), options.dtype())
      .requires_grad_(options.requires_grad());
}

// value(i) is computed from the nearer end, so that both ends are exact.
template <class F>
Tensor evenly(const char* operation, const Scalar& start, const Scalar& end, int64_t steps,
              const TensorOptions& options, F&& f) {
  check(steps >= 0, operation, ": expected steps >= 0, got ", steps);
  double first = start.toDouble(), last = end.toDouble();
  if (is_integral(options.dtype(),
                  true))  // converts the ends to the result's type as well, if they are in the result
    dispatch(options.dtype(), BitTypes{}, operation, [&]<class T>(Type<T>) {
      const auto whole = [&](const Scalar& number) {
        autograd::check_number_fits(operation, number, options.dtype());
        return static_cast<double>(number.to<T>());
      };
      if (steps > 0) first = whole(start);
      if (steps > 1) last = whole(end);
    });
  const double step = steps > 1 ? (last - first) / static_cast<double>(steps - 1) : 0;
  Tensor host = autograd::host_table({steps}, kDouble);
  double* out = host.ptr<double>();
  for (int64_t i = 0; i < steps; ++i)
    out[i] = f(i < steps / 2 || steps == 1 ? first + step * static_cast<double>(i)
                                           : last - step * static_cast<double>(steps - 1 - i));
  return deliver(host, options);
}

// Of complex numbers, the parts separately; in complex128.
Tensor complex_linspace(const Scalar& start, const Scalar& end, int64_t steps) {
  const Complex<double> first = start.toComplexDouble(), last = end.toComplexDouble();
  const TensorOptions host = TensorOptions(kDouble).device(Device(kCPU, 0));
  return complex(linspace(first.re, last.re, steps, host), linspace(first.im, last.im, steps, host));
}

}  // namespace

Scalar detail::end_of(const char* operation, const Tensor& number) {
  check(number.dim() == 0, operation, " only supports 0-dimensional start and end tensors, got ", number);
  return number.item();
}

Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, const TensorOptions& options) {
  if (is_complex(options.dtype())) return deliver(complex_linspace(start, end, steps), options);
  return evenly("linspace", start, end, steps, options, [](double x) { return x; });
}
Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base, const TensorOptions& options) {
  if (is_complex(options.dtype())) return deliver(pow(Scalar(base), complex_linspace(start, end, steps)), options);
  return evenly("logspace", start, end, steps, options, [base](double x) { return std::pow(base, x); });
}

Tensor eye(int64_t n, const TensorOptions& options) { return eye(n, n, options); }
Tensor eye(int64_t n, int64_t m, const TensorOptions& options) {
  check(n >= 0 && m >= 0, "eye: expected sizes >= 0, got ", n, " and ", m);
  Tensor out = zeros({n, m}, options.requires_grad(false));
  if (out.numel() != 0) alias(out, {std::min(n, m)}, {m + 1}, 0).fill_(1);
  return out.requires_grad_(options.requires_grad());
}

}  // namespace tandem
