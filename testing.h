// Testing of differentiable code on every device: numeric gradient checks, and operation descriptions that
// one harness runs in every mode. The framework tests its own operations this way; use it for yours too.
//
//   OpTest{.name = "softmax", .torch = "torch.softmax(x0, 1)",
//          .fn = [](const Tensors& x) { return Tensors{softmax(x[0], 1)}; },
//          .cases = {{real({3, 4})}, {real({2, 1})}, {real({0, 4})}}}
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::testing {

using Tensors = std::vector<Tensor>;
using TensorFn = std::function<Tensors(const Tensors&)>;

struct GradcheckOptions {
  double eps = 1e-6;  ///< step of the central difference
  double atol = 1e-5;
  double rtol = 1e-3;
};

/// Compares the backward pass of `fn` with central differences, for every element of every input that
/// requires a gradient; of complex numbers both parts. Inputs must be float64 or complex128 and should be small.
/// Integer outputs are ignored. Throws an Error that names the input, the output, both element positions and both
/// values.
void gradcheck(const TensorFn& fn, const Tensors& inputs, const GradcheckOptions& options = {});

/// gradcheck of the gradient itself: first-order gradients under create_graph, with random cotangents.
void gradgradcheck(const TensorFn& fn, const Tensors& inputs, const GradcheckOptions& options = {});

/// How to generate an input. Values come from Philox, so a seed produces the same values everywhere.
struct InputSpec {
  std::vector<int64_t> sizes;
  double low = -2, high = 2;                 ///< range of the values
  ScalarType dtype = ScalarType::Undefined;  ///< Undefined: the floating-point type under test
  bool requires_grad = true;                 ///< applies to floating-point inputs
  bool distinct = false;                     ///< well-separated values, for max, sort, abs, …
};
/// Floating-point values in [low, high).
InputSpec real(std::vector<int64_t> sizes, double low = -2, double high = 2);
/// Pairwise distinct values, none near zero, for operations with kinks.
InputSpec distinct(std::vector<int64_t> sizes);
/// Floating-point values that require no gradient.
InputSpec constant(std::vector<int64_t> sizes, double low = -2, double high = 2);
/// int64 (or `dtype`) in [low, high).
InputSpec integers(std::vector<int64_t> sizes, int64_t low, int64_t high, ScalarType dtype = kLong);
InputSpec booleans(std::vector<int64_t> sizes);

/// A call that must throw an Error with `text` in its message.
struct Refusal {
  std::function<Tensors(Device)> make;
  std::string text;
};

struct OpTest {
  std::string name;
  std::string torch;  ///< PyTorch equivalent: a Python expression in x0, x1, …; empty if there is none
  TensorFn fn;
  std::vector<std::vector<InputSpec>> cases;
  bool first_order = true;
  bool second_order = true;
  bool noncontiguous = true;  ///< false if fn depends on strides by contract
  double tolerance32 = 1e-5;  ///< |difference| <= tolerance (1 + |expected|)
  double tolerance64 = 1e-11;
  /// In units of the last place of float16 and bfloat16; 0:
  /// refuses them with an Error that names the dtype or the operation.
  double half_units = 8;
  std::vector<Refusal> refusals = {};
};

/// Results of one run. `skipped` lists what could not run here, with the reasons.
struct Report {
  int checks = 0;
  std::vector<std::string> failures;
  std::vector<std::string> skipped;
};

/// Expected outputs and gradients, computed by PyTorch. Keys: "NAME/CASE/DTYPE/outputI" and "…/gradientI"; an
/// undefined tensor means that there is no reference.
using References = std::function<Tensor(const std::string& key)>;

/// Runs every mode: values and gradients against `references` (where available) in float32 and float64,
/// float32, float16 and bfloat16 against float64, non-contiguous inputs, 1 thread against 3 threads bit for bit,
/// gradcheck, gradgradcheck, every available device against cpu:0, and refusals.
Report run(const OpTest& test, const References& references = {});

/// The inputs of case `index` in `dtype` on cpu:0.
Tensors make_inputs(const OpTest& test, std::size_t index, ScalarType dtype);

/// Outputs, then the gradients of sum_i <outputs[i], cotangents[i]> with respect to the inputs that require
/// one (undefined where an input has none). Cotangents are drawn from a fixed seed.
struct Evaluation {
  Tensors outputs, cotangents, gradients;
};
Evaluation evaluate(const OpTest& test, const Tensors& inputs);

/// Whether a and b have the same shape and dtype and |a - b| <= tolerance (1 + |b|) everywhere; NaN equals
/// NaN. If not, `why` receives the first difference.
bool close(const Tensor& a, const Tensor& b, double tolerance, std::string* why = nullptr);
/// Whether a and b are equal bit for bit.
bool identical(const Tensor& a, const Tensor& b);

}  // namespace tandem::testing
