// Dtypes of elementwise operations: promotion, integers, bool, in-place forms and errors.
#include <cmath>
#include <limits>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/ops.h"
#include "tandem/autograd/ops/pointwise/activation.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/where.h"
#include "tandem/tests/ops/pointwise_table.h"
#include "tandem/tests/ops/values.h"

using namespace tandem;
using namespace tandem::testing;

namespace {

Tensor ints(std::vector<int64_t> numbers, ScalarType type = kLong) { return indices(numbers).to(type); }
Tensor autograd_grad(const Tensor& y, const Tensor& w) { return autograd::grad({y.sum()}, {w})[0]; }
const ScalarType kIntegers[] = {kByte, kChar, kShort, kInt, kLong};

}  // namespace

TEST_CASE("result dtypes") {
  CHECK(((ints({1}) / ints({2})).dtype() == kFloat));
  CHECK(((ints({1}) / 2).dtype() == kFloat));
  CHECK(((ones({1}, kDouble) / ints({2})).dtype() == kDouble));
  CHECK(((ints({1}) + 1.5).dtype() == kFloat));
  CHECK(((ones({1}, kFloat) + ones({}, kDouble)).dtype() == kFloat));
  CHECK(((ones({}, kDouble) - ones({1}, kFloat)).dtype() == kFloat));
  CHECK(((ints({1}, kByte) - ints({1}, kChar)).dtype() == kShort));
  CHECK(((ints({1}, kBool) * 2).dtype() == kLong));
  CHECK(((ints({1}, kChar) * 2).dtype() == kChar));
  CHECK(((exp(ints({1})).dtype() == kFloat)));
  CHECK(((sqrt(ints({1}, kBool)).dtype() == kFloat)));
  CHECK(((atan2(ints({1}), ints({1})).dtype() == kFloat)));
  for (const auto f : {static_cast<Tensor (*)(const Tensor&, const Tensor&)>(xlogy), special_xlog1py}) {
    CHECK((f(ones({1}, kFloat), ones({}, kDouble)).dtype() == kFloat));
    CHECK((f(ones({}, kDouble), ones({1}, kFloat)).dtype() == kFloat));
    CHECK((f(ones({1}, kBFloat16), ones({}, kFloat)).dtype() == kBFloat16));
    CHECK((f(ones({}, kDouble), ints({1})).dtype() == kDouble));
    CHECK((f(ints({1}), ones({}, kDouble)).dtype() == kDouble));
  }
  CHECK(((pow(ints({2}), 2).dtype() == kLong)));
  CHECK(((pow(ints({2}), 0.5).dtype() == kFloat)));
  CHECK(((floor(ints({2})).dtype() == kLong)));
  CHECK(((where(ints({1}, kBool), 1, 2).dtype() == kLong)));
  CHECK(((where(ints({1}, kBool), 1, 2.5).dtype() == kFloat)));
  CHECK(((where(ints({1}, kBool), ones({1}, kFloat), ones({1}, kDouble)).dtype() == kDouble)));
  CHECK(((clamp(ints({3}), Scalar(0.5)).dtype() == kFloat)));
  CHECK(((div(ints({7}), 2, "floor").dtype() == kLong)));
}

TEST_CASE("dtypes of functions of one argument") {
  for (const UnaryFunction& f : unary_functions())
    for (const OpTest& test : tests_of(f)) {
      CAPTURE(test.name);
      for (const ScalarType type : {kFloat, kDouble})
        if (f.types != Drawn::kIntegers)
          CHECK((test.fn({ones({3}, type)})[0].dtype() == (f.integers == Integers::kBecomeBool ? kBool : type)));
      for (const ScalarType type : kIntegers) {
        CAPTURE(std::string(name(type)));
        const Tensor x = ones({3}, type);
        if (f.integers == Integers::kRejected) {
          CHECK_THROWS_AS(test.fn({x}), Error);
          continue;
        }
        const bool to_float = f.integers == Integers::kBecomeFloat;
        CHECK((test.fn({x})[0].dtype() == (to_float ? kFloat : f.integers == Integers::kBecomeBool ? kBool : type)));
        if (to_float && f.in_place != nullptr && f.parameters.empty())
          CHECK_THROWS_WITH_AS(f.in_place(x, {}), doctest::Contains((f.name + "_").c_str()), Error);
      }
    }
}

// Also what reads the bits of numbers, or treats zeros, signs and infinities apart.
TEST_CASE("functions of half types at zeros, signs and infinities are those of float32, rounded") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const Tensor points = tensor({0.0F, -0.0F, 0.5F, -0.5F, 1.0F, -1.0F, 2.0F, -2.0F, 6.0F, -6.0F, inf, -inf, nan});
  for (const UnaryFunction& f : unary_functions()) {
    if (f.types == Drawn::kIntegers) continue;
    for (const OpTest& test : tests_of(f))
      for (const ScalarType type : {kHalf, kBFloat16}) {
        CAPTURE(test.name);
        CAPTURE(std::string(name(type)));
        const auto result = [&](const Tensor& x) {
          return test.fn({x})[0].to(kDouble).clamp(-6e4, 6e4);  // the largest finite number is another one
        };
        const Tensor exact = result(points);
        Tensor found;
        try {
          found = result(points.to(type));
        } catch (const Error&) {
          continue;  // a function that refuses half types
        }
        CHECK(isclose(found, exact, 0.03, 0.01, true).all().item<bool>());
        const Tensor rounding = isnan(exact) | ((exact != 0) & (abs(exact) < 0.01));
        CHECK((rounding | (signbit(found) == signbit(exact))).all().item<bool>());
      }
  }
}

TEST_CASE("functions of two arguments refuse tensors of two devices, in place too") {
  struct TwoDevices {
    TwoDevices() { cpu::set_device_count(2); }
    ~TwoDevices() { cpu::set_device_count(1); }
  } const two;
  const Device other(kCPU, 1);
  for (const BinaryFunction& f : binary_functions())
    for (const ScalarType type : {kFloat, kInt}) {
      CAPTURE(f.name);
      const Tensor here = ones({2}, type), there = here.to(other);
      const Parameters& parameters = f.extremes[0];
      CHECK_THROWS_AS(f.function(here, there, parameters), Error);
      CHECK_THROWS_AS(f.function(there, here, parameters), Error);
      if (f.in_place != nullptr) CHECK_THROWS_AS(f.in_place(here.clone(), there, parameters), Error);
    }
}

TEST_CASE("integer arithmetic for every type") {
  for (ScalarType type : kIntegers) {
    CAPTURE(name(type));
    const Tensor a = ints({7, 9, 100, 0}, type), b = ints({2, 4, 7, 3}, type);
    CHECK(show(a + b) == "[4] 9 13 107 3");
    CHECK(show(a - b) == (type == kByte ? "[4] 5 5 93 253" : "[4] 5 5 93 -3"));
    CHECK(show(div(a, b, "trunc")) == "[4] 3 2 14 0");
    CHECK(show(floor_divide(a, b)) == "[4] 3 2 14 0");
    CHECK(show(remainder(a, b)) == "[4] 1 1 2 0");
    CHECK(show(fmod(a, b)) == "[4] 1 1 2 0");
    CHECK(show(a % 4) == "[4] 3 1 0 0");
    CHECK(show(pow(b, 2)) == "[4] 4 16 49 9");
    CHECK(show(pow(b, ints({0, 1, 2, 3}, type))) == "[4] 1 4 49 27");
    CHECK(show(maximum(a, b)) == "[4] 7 9 100 3");
    CHECK(show(minimum(a, b)) == "[4] 2 4 7 0");
    CHECK(show(clamp(a, Scalar(3), Scalar(9))) == "[4] 7 9 9 3");
    CHECK(show(clamp_max(a, 8)) == "[4] 7 8 8 0");
    CHECK(show(a & b) == "[4] 2 0 4 0");
    CHECK(show(a | b) == "[4] 7 13 103 3");
    CHECK(show(a ^ b) == "[4] 5 13 99 3");
    CHECK(show(bitwise_left_shift(b, 2)) == "[4] 8 16 28 12");
    CHECK(show(bitwise_right_shift(a, 1)) == "[4] 3 4 50 0");
    CHECK(show(sign(a)) == "[4] 1 1 1 0");
    CHECK(show(square(b)) == "[4] 4 16 49 9");
    CHECK(show(addcmul(a, b, b)) == (type == kByte || type == kChar
                                         ? (type == kByte ? "[4] 11 25 149 9" : "[4] 11 25 -107 9")
                                         : "[4] 11 25 149 9"));
    CHECK_THROWS_WITH_AS(floor_divide(a, ints({1, 0, 1, 1}, type)), doctest::Contains("integer division by zero"),
                         Error);
    CHECK_THROWS_WITH_AS(remainder(a, 0), doctest::Contains("integer division by zero"), Error);
    CHECK_THROWS_AS(fmod(a, ints({0}, type)), Error);
    CHECK_THROWS_AS(div(a, 0, "trunc"), Error);
  }
  const Tensor n = ints({-7, 7, -7, 7}), d = ints({2, -2, -2, 2});
  CHECK(show(div(n, d, "trunc")) == "[4] -3 -3 3 3");
  CHECK(show(floor_divide(n, d)) == "[4] -4 -4 3 3");
  CHECK(show(fmod(n, d)) == "[4] -1 1 -1 1");
  CHECK(show(remainder(n, d)) == "[4] 1 -1 -1 1");
  CHECK(show(remainder(n.to(kDouble), d.to(kDouble))) == "[4] 1 -1 -1 1");
  CHECK(show(floor_divide(n.to(kDouble), d.to(kDouble))) == "[4] -4 -4 3 3");
  CHECK(show(bitwise_right_shift(ints({-8, -8, 8}), ints({1, 100, 100}))) == "[3] -4 -1 0");
  CHECK(show(pow(ints({1, -1, 2, -1}), ints({-1, -1, -1, -2}))) == "[4] 1 -1 0 1");
  CHECK(show(abs(ints({-3, 3}, kChar))) == "[2] 3 3");
}

TEST_CASE("the lowest integer divided by -1 wraps around") {
  const auto check_type = [](ScalarType type, int64_t lowest) {
    const Tensor a = ints({lowest}, type), b = ints({-1}, type);
    CHECK(values(div(a, b, "trunc"))[0] == static_cast<double>(lowest));
    CHECK(values(floor_divide(a, b))[0] == static_cast<double>(lowest));
    CHECK(values(remainder(a, b))[0] == 0);
    CHECK(values(fmod(a, b))[0] == 0);
    CHECK(values(neg(a))[0] == static_cast<double>(lowest));
    CHECK(values(abs(a))[0] == static_cast<double>(lowest));
  };
  check_type(kChar, -128);
  check_type(kShort, -32768);
  check_type(kInt, std::numeric_limits<int32_t>::min());
  check_type(kLong, std::numeric_limits<int64_t>::min());
}

TEST_CASE("bool") {
  const Tensor a = mask_of({0, 0, 1, 1}), b = mask_of({0, 1, 0, 1});
  CHECK(show(a + b) == "[4] 0 1 1 1");
  CHECK(show(a * b) == "[4] 0 0 0 1");
  CHECK(show(a & b) == "[4] 0 0 0 1");
  CHECK(show(a | b) == "[4] 0 1 1 1");
  CHECK(show(a ^ b) == "[4] 0 1 1 0");
  CHECK(show(~a) == "[4] 1 1 0 0");
  CHECK(show(!a) == "[4] 1 1 0 0");
  CHECK(((~a).dtype() == kBool));
  CHECK(show(logical_xor(arange(4), ints({0, 1, 0, 1}))) == "[4] 0 0 1 0");
  CHECK(show(logical_and(arange(4, kFloat), b)) == "[4] 0 1 0 1");
  CHECK(show(logical_or(zeros({4}), b)) == "[4] 0 1 0 1");
  CHECK(show(maximum(a, b)) == "[4] 0 1 1 1");
  CHECK_THROWS_WITH_AS(-a, doctest::Contains("logical_not"), Error);
  CHECK_THROWS_WITH_AS(a - b, doctest::Contains("logical_xor"), Error);
  CHECK_THROWS_WITH_AS(a - true, doctest::Contains("bool"), Error);
  CHECK_THROWS_AS(abs(a), NotImplementedError);
  CHECK_THROWS_AS(remainder(a, b), NotImplementedError);
}

TEST_CASE("invalid arguments throw") {
  CHECK_THROWS_WITH_AS(pow(arange(2), -1), doctest::Contains("negative integer powers"), Error);
  CHECK_THROWS_WITH_AS(ones({2}) & ones({2}), doctest::Contains("not defined for float32"), Error);
  CHECK_THROWS_WITH_AS(div(ones({2}), 2, "round"), doctest::Contains("rounding_mode"), Error);
  CHECK_THROWS_WITH_AS(ones({2}) - ones({3}), doctest::Contains("[2]"), Error);
  CHECK_THROWS_WITH_AS(clamp(ones({2}), optional<Scalar>(), nullopt), doctest::Contains("at least one"), Error);
  CHECK_THROWS_WITH_AS(where(ones({2}), 1, 2), doctest::Contains("must be bool"), Error);
  CHECK_THROWS_WITH_AS(masked_fill(arange(2).to(kByte), mask_of({0, 1}), 300), doctest::Contains("range of uint8"),
                       Error);
  CHECK_THROWS_WITH_AS(masked_fill(arange(2), arange(2), 1), doctest::Contains("must be bool"), Error);
  CHECK_THROWS_WITH_AS(addcdiv(arange(2), arange(2), arange(2)), doctest::Contains("integers"), Error);
  CHECK_THROWS_WITH_AS(lerp(ones({2}), ones({2}, kDouble), 0.5), doctest::Contains("dtypes differ"), Error);
  CHECK_THROWS_WITH_AS(gelu(ones({2}), "erf"), doctest::Contains("approximate"), Error);
  CHECK_THROWS_WITH_AS(arange(2).exp_(), doctest::Contains("exp_"), Error);
  CHECK_THROWS_WITH_AS(arange(2).div_(2), doctest::Contains("cannot be stored"), Error);
  CHECK_THROWS_WITH_AS(arange(2).add_(1.5), doctest::Contains("cannot be stored"), Error);
  CHECK_THROWS_WITH_AS(ones({2}, requires_grad()).exp_(), doctest::Contains("leaf"), Error);
  CHECK_THROWS_AS(ones({2}).mul_(ones({3, 2})), Error);
}

TEST_CASE("in-place forms") {
  Tensor x = arange(1, 4, kDouble);
  const void* place = x.data_ptr();
  x.sub_(1).mul_(2).div_(4).add_(ones({3}, kDouble), 3);
  CHECK(show(x) == "[3] 3 3.5 4");
  x.pow_(2).sub_(arange(3, kDouble)).floor_();
  CHECK(show(x) == "[3] 9 11 14");
  x.remainder_(4).clamp_(Scalar(2), Scalar(2.5)).neg_();
  CHECK(show(x) == "[3] -2 -2.5 -2");
  x.masked_fill_(x < -2, 8).lerp_(zeros({3}, kDouble), 0.5);
  CHECK(show(x) == "[3] -1 4 -1");
  x.addcmul_(x, x, 2).addcdiv_(ones({3}, kDouble), full({3}, 2.0, kDouble));
  CHECK(show(x) == "[3] 1.5 36.5 1.5");
  x -= 0.5;
  x /= 2;
  x.div_(5, "floor").logical_not_();
  CHECK(show(x) == "[3] 1 0 1");
  CHECK(x.data_ptr() == place);
  Tensor bits = ints({6, 3}, kInt);
  bits &= 5;
  bits |= ints({8, 8}, kInt);
  bits ^= 1;
  CHECK(show(bits) == "[2] 13 8");
  Tensor m = arange(6, kFloat).view({2, 3});
  m.transpose(0, 1).add_(m.as_strided({3, 2}, {2, 1}));  // reads the memory it writes, in a different order
  CHECK(show(m) == "[2, 3] 0 3 6 4 7 10");
}

TEST_CASE("in-place operations while recording") {
  Tensor w = full({3}, 2.0, TensorOptions(kDouble).requires_grad(true));
  Tensor y = w * 1;
  y.exp_().div_(w).pow_(2).sub_(w).sigmoid_();
  Tensor z = sigmoid(pow(exp(w * 1) / w, 2) - w);
  const Tensor a = autograd_grad(y, w), b = autograd_grad(z, w);
  CHECK(values(a) == values(b));
}

TEST_CASE("where and masked_fill broadcast") {
  const Tensor c = mask_of({1, 0, 1});
  CHECK(show(where(c, counting({2, 3}), zeros({2, 1}))) == "[2, 3] 0 0 2 3 0 5");
  CHECK(show(where(c, 1, 2)) == "[3] 1 2 1");
  CHECK(show(counting({3}).where(c, 9)) == "[3] 0 9 2");
  CHECK(show(masked_fill(counting({2, 3}), c, 7)) == "[2, 3] 7 1 7 7 4 7");
  CHECK(show(masked_fill(counting({3}), c, full({}, 4.0))) == "[3] 4 1 4");
  CHECK(((masked_fill(arange(3), c, 2.0).dtype() == kLong)));
  Tensor value = full({}, 4.0, requires_grad());
  masked_fill(zeros({2, 3}), c, value).sum().backward();
  CHECK(value.grad().item<float>() == 4);
  CHECK(show(where(c.to(kBool), arange(3).to(kBool), c)) == "[3] 0 0 1");
}

TEST_CASE("numbers as left operands") {
  const Tensor x = arange(1, 4, kDouble);
  CHECK(show(6 / x) == "[3] 6 3 2");
  CHECK(show(1 - x) == "[3] 0 -1 -2");
  CHECK(show(2 + x) == "[3] 3 4 5");
  CHECK(show(2 * x) == "[3] 2 4 6");
  CHECK(show(7 % x) == "[3] 0 1 1");
  CHECK(show(pow(2, x)) == "[3] 2 4 8");
  CHECK(show(2 < x) == "[3] 0 0 1");
  CHECK(show(2 >= x) == "[3] 1 1 0");
  CHECK(show(2 == x) == "[3] 0 1 0");
  CHECK(show(3 & arange(5)) == "[5] 0 1 2 3 0");
}

TEST_CASE("numbers become elements as in PyTorch: fractions are truncated, out-of-range numbers throw") {
  const Tensor bytes = zeros({2}, kByte), at = indices({0});
  CHECK(show(masked_fill(bytes, mask_of({1, 0}), 2.7)) == "[2] 2 0");
  CHECK(show(full({1}, -1, kByte)) == "[1] 255");
  for (const Scalar& number : {Scalar(300), Scalar(-0.5), Scalar(std::nan(""))}) {
    CHECK_THROWS_WITH_AS(full({1}, number, kByte), doctest::Contains("range of uint8"), Error);
    CHECK_THROWS_WITH_AS(bytes.clone().fill_(number), doctest::Contains("range of uint8"), Error);
    CHECK_THROWS_WITH_AS(bytes.scatter(0, at, number), doctest::Contains("range of uint8"), Error);
    CHECK_THROWS_WITH_AS(index_fill(bytes, 0, at, number), doctest::Contains("range of uint8"), Error);
  }
  CHECK(show(hardtanh(ints({0, 1, 200}, kByte))) == "[3] 0 1 1");
  CHECK(show(hardtanh_(ints({0, 1, 200}, kByte), -3, 300)) == "[3] 0 1 200");
  CHECK(show(hardtanh(ints({-128, 0, 127}, kChar), -2.5, 1000)) == "[3] -2 0 127");
  CHECK(show(relu6(ints({0, 3, 200}, kByte))) == "[3] 0 3 6");
  CHECK_THROWS_WITH_AS(hardtanh(bytes, -3, -1), doctest::Contains("hardtanh: bounds"), Error);
  CHECK(show(clamp_min(bytes, -1)) == "[2] 0 0");
  CHECK_THROWS_WITH_AS(clamp_max(bytes, -1), doctest::Contains("leave no value of uint8"), Error);
  CHECK(show(square(mask_of({1, 0}))) == "[2] 1 0");
  CHECK_THROWS_AS(hardtanh(mask_of({1, 0})), Error);
  CHECK((square(mask_of({1, 0})).dtype() == kLong));
  CHECK_THROWS_AS(addcdiv(ones({1}), ints({1}), ints({1})), Error);
}

TEST_CASE("arange and linspace with integer dtypes convert their ends first") {
  CHECK(show(arange(-2.5, 3, 2, kInt)) == "[3] -2 0 2");
  CHECK(show(arange(0.5, 1, 0.1, kLong)) == "[5] 0 0 0 0 0");
  CHECK(show(linspace(-4.75, -3.75, 5, kLong)) == "[5] -4 -3 -3 -3 -3");
  CHECK(show(linspace(9, -5, 2, kByte)) == "[2] 9 251");
  CHECK(show(linspace(2.25, -1000, 1, kByte)) == "[1] 2");  // an end that is not reached may have any value
  CHECK(linspace(1000, -1000, 0, kByte).numel() == 0);
  CHECK_THROWS_AS(linspace(0, 1000, 2, kByte), Error);
}
