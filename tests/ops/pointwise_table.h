// The elementwise functions of one and two tensors, each described in one line. Derived from it are the cases of the
// harness, the comparisons with the standard library and, on random and extreme values, with PyTorch, and the
// tests of dtypes and fused gradients.
#pragma once
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "tandem/tandem.h"
#include "tandem/testing.h"

namespace tandem::testing {

/// An argument after the tensors: a number, a text or None.
struct Parameter {
  Parameter(std::nullopt_t) {}
  Parameter(const Scalar& value) : number(value) {}
  template <class N>
  requires(std::is_arithmetic_v<N>) Parameter(N value) : number(value) {}
  Parameter(std::string value) : text(std::move(value)) {}
  Parameter(const char* value) : text(value) {}
  operator const Scalar&() const { return number.value(); }
  optional<double> real() const { return number ? optional<double>(number->toDouble()) : nullopt; }

  optional<Scalar> number;
  optional<std::string> text;
};
/// In Python.
std::string python(const Parameter& parameter);
/// All of a function's parameters, or none of them for the defaults.
using Parameters = std::vector<Parameter>;

/// A case of the harness: its name, and the parameters.
struct Variant {
  std::string name;
  Parameters parameters = {};
};

/// The inputs of the harness, and what is drawn for the random comparison with PyTorch: for one tensor a kind of
/// torch_draw.py, for two a function of torch_cases/pairs.py.
struct Domain {
  double low = -2, high = 2;
  const char* drawn = "any";
  bool distinct = false;  ///< for functions with kinks: well-separated values
};
inline constexpr Domain kReals{}, kKinks{.distinct = true}, kPositive{0.2, 3, "positive"}, kUnit{-0.8, 0.8, "unit"},
    kSteps{-2.9, 2.9};

/// What a function does with integers.
enum class Integers { kBecomeFloat, kStay, kBecomeBool, kRejected };
/// The dtypes drawn for the random comparison.
enum class Drawn { kAll, kNumbers, kFloats, kIntegers };

/// The interval over which a function is compared with the standard library.
struct Interval {
  double low, high;
};

struct UnaryFunction {
  std::string name;  ///< without the underscore of the in-place form
  Tensor (*function)(const Tensor&, const Parameters&);
  Tensor (*in_place)(Tensor, const Parameters&) = nullptr;
  Domain domain = {};
  Integers integers = Integers::kBecomeFloat;
  Drawn types = Drawn::kAll;
  std::string torch = "";                    ///< PyTorch's function; empty: torch.NAME
  double (*exact)(double) = nullptr;         ///< of the standard library
  std::vector<Interval> intervals = {};      ///< for `exact`
  std::vector<Variant> variants = {};        ///< empty: one of that name, without parameters
  std::vector<std::string> parameters = {};  ///< Python: the values of each to draw from; `number` is any number
  std::vector<Parameters> extremes = {{}};   ///< for the sweep over extreme values
  std::string keyword = "";                  ///< PyTorch's name of the parameter, if it must be named
  double tolerance64 = 1e-11;                ///< of the harness
};

struct BinaryFunction {
  std::string name;
  Tensor (*function)(const Tensor&, const Tensor&, const Parameters&) = nullptr;
  Tensor (*right)(const Tensor&, const Scalar&, const Parameters&) = nullptr;  ///< with a number
  Tensor (*left)(const Scalar&, const Tensor&, const Parameters&) = nullptr;
  Tensor (*in_place)(Tensor, const Tensor&, const Parameters&) = nullptr;
  Tensor (*in_place_right)(Tensor, const Scalar&, const Parameters&) = nullptr;
  std::string drawn = "any";  ///< a function of torch_cases/pairs.py
  /// Cases of the harness.
  std::vector<std::vector<InputSpec>> cases = {};
  bool differentiable = true;
  std::string torch = "";
  std::vector<Variant> variants = {};
  std::vector<std::string> parameters = {};
  std::vector<Parameters> extremes = {{}};
  std::string keyword = "";
};

const std::vector<UnaryFunction>& unary_functions();
const std::vector<BinaryFunction>& binary_functions();

/// In Python.
template <class F>
std::string torch_name(const F& f) {
  return f.torch.empty() ? "torch." + f.name : f.torch;
}
/// The harness's tests of all variants; without a gradient where there is none.
std::vector<OpTest> tests_of(const UnaryFunction& f);
std::vector<OpTest> tests_of(const BinaryFunction& f);
/// Functions of a tensor and a fixed number.
std::vector<OpTest> tests_with_numbers();

}  // namespace tandem::testing
