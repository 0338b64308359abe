// Functions of complex numbers from real functions of the parts. With z = x + iy; those with branch cuts follow
// W. Kahan, "Branch cuts for complex elementary functions" (1987).
#include "tandem/autograd/ops/pointwise/complex_unary.h"

#include <limits>
#include <numbers>
#include <string_view>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/where.h"

namespace tandem::autograd {
namespace {

struct Parts {
  Tensor x, y;
};
Parts operator-(const Parts& z) { return {-z.x, -z.y}; }
Parts operator+(const Parts& z, double number) { return {z.x + number, z.y}; }
Parts operator*(const Parts& z, double number) { return {z.x * number, z.y * number}; }
Parts times_i(const Parts& z) { return {-z.y, z.x}; }
Parts times_minus_i(const Parts& z) { return {z.y, -z.x}; }
Parts inverse(const Parts& z) {
  const Tensor w = 1 / complex(z.x, z.y);
  return {real(w), imag(w)};
}

Parts neg(const Parts& z) { return -z; }

Parts exp(const Parts& z) {
  const Tensor size = z.x.exp();
  return {size * z.y.cos(), where(z.y == 0, z.y, size * z.y.sin())};
}
Parts exp2(const Parts& z) { return exp(z * std::numbers::ln2); }
Parts expm1(const Parts& z) { return {z.x.expm1() * z.y.cos() - 2 * (z.y / 2).sin().square(), z.x.exp() * z.y.sin()}; }

// Near |z| = 1 the logarithm of |z| is computed from 1 + (|z|² - 1).
Parts log(const Parts& z) {
  const Tensor a = z.x.abs(), b = z.y.abs(), larger = maximum(a, b), smaller = minimum(a, b), size = hypot(z.x, z.y),
               near = ((larger - 1) * (larger + 1) + smaller * smaller).log1p() / 2;
  return {where(logical_and(size > 0.5, size < 2), near, size.log()), atan2(z.y, z.x)};
}
Parts log2(const Parts& z) { return log(z) * (1 / std::numbers::ln2); }
Parts log10(const Parts& z) { return log(z) * (1 / std::numbers::ln10); }
Parts log1p(const Parts& z) {
  const Tensor near = (z.x * (z.x + 2) + z.y * z.y).log1p() / 2;
  const Parts far = log(z + 1);
  return {where(hypot(z.x, z.y) < 0.5, near, far.x), far.y};
}

Parts sqrt(const Parts& z) {
  const Tensor root = ((hypot(z.x, z.y) + z.x.abs()) / 2).sqrt(), half = z.y / (root * 2), right = z.x >= 0;
  const Tensor re = where(right, root, half.abs()), im = where(right, half, root.copysign(z.y));
  const Tensor far = z.y.abs() == std::numeric_limits<double>::infinity(), zero = root == 0;
  return {where(far, z.y.abs(), where(zero, Scalar(0.0), re)), where(logical_or(far, zero), z.y, im)};
}
Parts rsqrt(const Parts& z) { return inverse(sqrt(z)); }

// On the real axis infinite values must not meet the zero of the sine.
Parts sinh(const Parts& z) { return {z.x.sinh() * z.y.cos(), where(z.y == 0, z.y, z.x.cosh() * z.y.sin())}; }
Parts cosh(const Parts& z) {
  return {z.x.cosh() * z.y.cos(), where(z.y == 0, z.y * z.x.sign(), z.x.sinh() * z.y.sin())};
}
Parts sin(const Parts& z) { return times_minus_i(sinh(times_i(z))); }
Parts cos(const Parts& z) { return cosh(times_i(z)); }
Parts tanh(const Parts& z) {
  const Tensor far = z.x.abs() > 20, x = where(far, Scalar(0.0), z.x), t = z.y.tan(), beta = t * t + 1, s = x.sinh(),
               divisor = beta * s * s + 1;
  const Tensor im_far = 4 * z.y.sin() * z.y.cos() * (-2 * z.x.abs()).exp();
  return {where(far, z.x.sign(), beta * s * x.cosh() / divisor), where(far, im_far, t / divisor)};
}
Parts tan(const Parts& z) { return times_minus_i(tanh(times_i(z))); }

Parts asin(const Parts& z) {
  const Parts less = sqrt(-z + 1), more = sqrt(z + 1);
  return {atan2(z.x, less.x * more.x - less.y * more.y), (less.x * more.y - less.y * more.x).asinh()};
}
Parts acos(const Parts& z) {
  const Parts less = sqrt(-z + 1), more = sqrt(z + 1);
  return {2 * atan2(less.x, more.x), (more.x * less.y - more.y * less.x).asinh()};
}
Parts atanh(const Parts& z) {
  const Tensor square = z.y * z.y, left = 1 - z.x, size = z.x.abs(), gap = (size - 1).square() + square;
  const Tensor re = (4 * size / gap).log1p() / 4;  // from |x|, since the logarithm cancels near x = -1
  const Tensor im = atan2(2 * z.y, left * (z.x + 1) - square) / 2;
  const Tensor far = gap == std::numeric_limits<double>::infinity();
  return {where(far, Scalar(0.0), re).copysign(z.x), where(far, Scalar(std::numbers::pi / 2), im).copysign(z.y)};
}
Parts atan(const Parts& z) { return times_minus_i(atanh(times_i(z))); }
Parts asinh(const Parts& z) { return times_i(asin(times_minus_i(z))); }
Parts acosh(const Parts& z) {
  const Parts less = sqrt(z + -1), more = sqrt(z + 1);
  return {(less.x * more.x + less.y * more.y).asinh(), 2 * atan2(less.y, more.x)};
}
Parts sigmoid(const Parts& z) { return inverse(exp(-z) + 1); }

struct Function {
  std::string_view name;
  Parts (*of)(const Parts& z);
};
constexpr Function kFunctions[] = {
    {"neg", neg},     {"exp", exp},     {"exp2", exp2},       {"expm1", expm1},        {"log", log},
    {"log2", log2},   {"log10", log10}, {"log1p", log1p},     {"sqrt", sqrt},          {"rsqrt", rsqrt},
    {"sin", sin},     {"cos", cos},     {"tan", tan},         {"asin", asin},          {"acos", acos},
    {"atan", atan},   {"sinh", sinh},   {"cosh", cosh},       {"tanh", tanh},          {"asinh", asinh},
    {"acosh", acosh}, {"atanh", atanh}, {"sigmoid", sigmoid}, {"reciprocal", inverse},
};

}  // namespace

Tensor complex_unary(const char* name, const Tensor& z) {
  NoGradGuard no_grad;
  if (std::string_view(name) == "square") return z * z;
  const Tensor parts = parts_raw(z);
  for (const Function& function : kFunctions)
    if (function.name == name) {
      const Parts w = function.of({parts.select(-1, 0), parts.select(-1, 1)});
      return complex(w.x, w.y);
    }
  unsupported_dtype(name, z.scalar_type());
}

// In complex128, because an error of the logarithm is multiplied by b.
Tensor complex_pow(const Tensor& a, const Tensor& b) {
  NoGradGuard no_grad;
  const Tensor wide_a = a.to(kComplexDouble), wide_b = b.to(kComplexDouble);
  const Tensor value = complex_unary("exp", wide_b * complex_unary("log", wide_a));
  const Tensor at_zero = where(wide_b == 0, Scalar(1.0), Scalar(0.0)).to(kComplexDouble);
  return where(logical_or(wide_a == 0, wide_b == 0), at_zero, value).to(a.dtype());
}

}  // namespace tandem::autograd
