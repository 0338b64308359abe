// Elementwise operations on one tensor, and factories.
#include "tandem/tests/ops/torch_table.h"

#define BOTH(f)             \
  table.give<T(CT)>(#f, f); \
  table.write<>(#f "_", &T::f##_)
#define ONE(f) table.give<T(CT)>(#f, f)
#define WRITES(f, ...)                                                 \
  table.add(#f, std::type_identity<T(T __VA_OPT__(, ) __VA_ARGS__)>(), \
            [](T x, auto... a) { return f(x, a...); })

namespace tandem::testing {
namespace {

void add_unary(Table& table) {
  BOTH(neg);
  BOTH(abs);
  BOTH(sign);
  BOTH(square);
  BOTH(relu);
  BOTH(floor);
  BOTH(ceil);
  BOTH(round);
  BOTH(trunc);
  BOTH(frac);
  BOTH(exp);
  BOTH(exp2);
  BOTH(expm1);
  BOTH(log);
  BOTH(log2);
  BOTH(log10);
  BOTH(log1p);
  BOTH(erf);
  BOTH(erfc);
  BOTH(sqrt);
  BOTH(rsqrt);
  BOTH(reciprocal);
  BOTH(sigmoid);
  BOTH(sin);
  BOTH(cos);
  BOTH(tan);
  BOTH(asin);
  BOTH(acos);
  BOTH(atan);
  BOTH(sinh);
  BOTH(cosh);
  BOTH(tanh);
  BOTH(asinh);
  BOTH(acosh);
  BOTH(atanh);
  BOTH(bitwise_not);
  BOTH(logical_not);
  ONE(isnan);
  ONE(isinf);
  ONE(isfinite);
}

void add_activations(Table& table) {
  ONE(log_sigmoid);
  ONE(silu);
  ONE(mish);
  ONE(softsign);
  ONE(selu);
  ONE(relu6);
  ONE(hardsigmoid);
  ONE(hardswish);
  WRITES(silu_);
  WRITES(mish_);
  WRITES(selu_);
  WRITES(relu6_);
  WRITES(hardsigmoid_);
  WRITES(hardswish_);
  table.give<T(CT, std::string_view)>("gelu", gelu);
  table.give<T(CT, CS, CS)>("softplus", softplus);
  table.give<T(CT, CS, CS)>("elu", elu);
  WRITES(elu_, Scalar, Scalar);
  table.give<T(CT, CS)>("celu", celu);
  WRITES(celu_, Scalar);
  table.give<T(CT, CS)>("leaky_relu", leaky_relu);
  WRITES(leaky_relu_, Scalar);
  table.give<T(CT, CS, CS)>("hardtanh", hardtanh);
  WRITES(hardtanh_, Scalar, Scalar);
  table.give<T(CT, CS, CS)>("threshold", threshold);
  WRITES(threshold_, Scalar, Scalar);
  table.give<T(CT, double, bool)>("dropout", dropout);
  WRITES(dropout_, double, bool);
  table.give<T(CT, double, bool)>("feature_dropout", feature_dropout);
}

void add_factories(Table& table) {
  table.give<T(Ints, Options)>("zeros", zeros);
  table.give<T(Ints, Options)>("ones", ones);
  table.give<T(Ints, CS, Options)>("full", full);
  table.give<T(CS, Options)>("arange", arange);
  table.give<T(CS, CS, Options)>("arange", arange);
  table.give<T(CS, CS, CS, Options)>("arange", arange);
  table.give<T(CS, CS, I, Options)>("linspace", linspace);
  table.give<T(CS, CS, I, double, Options)>("logspace", logspace);
  table.give<T(I, Options)>("eye", eye);
  table.give<T(I, I, Options)>("eye", eye);
  table.give<T(CT, Options)>("zeros_like", zeros_like);
  table.give<T(CT, Options)>("ones_like", ones_like);
  table.give<T(CT, CS, Options)>("full_like", full_like);
  table.give<T(CS, Options)>("scalar_tensor", scalar_tensor);
  table.add("new_zeros", std::type_identity<T(T, Ints, Options)>(),
            [](CT x, Ints size, Options o) { return x.new_zeros(size, o); });
  table.add("new_full", std::type_identity<T(T, Ints, CS, Options)>(),
            [](CT x, Ints size, CS value, Options o) { return x.new_full(size, value, o); });
}

}  // namespace

void add_pointwise(Table& table) {
  add_unary(table);
  table.give<T(CT, I)>("round", round);
  table.write<I>("round_", &T::round_);
  add_activations(table);
  add_factories(table);
  using Bound = const optional<Scalar>&;
  using Real = optional<double>;
  table.give<T(CT, Bound, Bound)>("clamp", clamp);
  table.give<T(CT, CT, CT)>("clamp", clamp);
  table.write<Bound, Bound>("clamp_", &T::clamp_);
  table.give<T(CT, CS)>("clamp_min", clamp_min);
  table.give<T(CT, CS)>("clamp_max", clamp_max);
  table.write<CS>("clamp_min_", &T::clamp_min_);
  table.write<CS>("clamp_max_", &T::clamp_max_);
  table.give<T(CT, Real, Real, Real)>("nan_to_num", nan_to_num);
  table.write<CS>("fill_", &T::fill_);
  table.write<CT>("fill_", &T::fill_);
  table.write<>("zero_", &T::zero_);
  table.add("to", std::type_identity<T(T, ScalarType)>(), [](CT x, ScalarType type) { return x.to(type); });
  table.add("clone", std::type_identity<T(T)>(), [](CT x) { return x.clone(); });
  table.add("contiguous", std::type_identity<T(T)>(), [](CT x) { return x.contiguous(); });
  table.add("copy_", std::type_identity<T(T, CT)>(), [](T x, CT y) { return x.copy_(y); });
}

}  // namespace tandem::testing
