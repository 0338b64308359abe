// Testing of differentiable code on every device: numeric gradient checks, and descriptions of operations
// that one harness runs in every mode. The framework's own operations are tested by it; so can yours be.
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

/// Compares backward of `fn` with central differences, for every element of every input that requires a
/// gradient. Inputs: float64, small. Outputs that are not floating point are ignored. Throws Error that names
/// the input, the output, both places and both numbers.
void gradcheck(const TensorFn& fn, const Tensors& inputs, const GradcheckOptions& options = {});

/// gradcheck of the gradient itself: first-order gradients under create_graph, with random cotangents.
void gradgradcheck(const TensorFn& fn, const Tensors& inputs, const GradcheckOptions& options = {});

/// How an input is made. Values come from Philox, so a seed gives the same ones everywhere.
struct InputSpec {
  std::vector<int64_t> sizes;
  double low = -2, high = 2;                 ///< range of the values
  ScalarType dtype = ScalarType::Undefined;  ///< Undefined: the floating point type under test
  bool requires_grad = true;                 ///< of a floating point input
  bool distinct = false;                     ///< well separated values: for max, sort, abs, …
};
/// Floating point values in [low, high).
InputSpec real(std::vector<int64_t> sizes, double low = -2, double high = 2);
/// Pairwise different values, none near zero: for operations with kinks.
InputSpec distinct(std::vector<int64_t> sizes);
/// Floating point values without gradient.
InputSpec constant(std::vector<int64_t> sizes, double low = -2, double high = 2);
/// int64 (or `dtype`) in [low, high).
InputSpec integers(std::vector<int64_t> sizes, int64_t low, int64_t high, ScalarType dtype = kLong);
InputSpec booleans(std::vector<int64_t> sizes);

/// A call that must be refused with an Error whose text contains `text`.
struct Refusal {
  std::function<Tensors(Device)> make;
  std::string text;
};

struct OpTest {
  std::string name;
  std::string torch;  ///< the same in PyTorch: a Python expression of x0, x1, …; empty: no counterpart
  TensorFn fn;
  std::vector<std::vector<InputSpec>> cases;
  bool first_order = true;
  bool second_order = true;
  bool noncontiguous = true;  ///< false: fn depends on strides by contract
  double tolerance32 = 1e-5;  ///< |difference| <= tolerance (1 + |expected|)
  double tolerance64 = 1e-11;
  std::vector<Refusal> refusals = {};
};

/// What one run found. `skipped` says what could not run here and why.
struct Report {
  int checks = 0;
  std::vector<std::string> failures;
  std::vector<std::string> skipped;
};

/// Expected outputs and gradients by key, from PyTorch: see reference_keys.
using References = std::function<Tensor(const std::string& key)>;

/// Runs every mode: values and gradients against `references` (where it has them) in float32 and float64,
/// float32 against float64, non-contiguous inputs, 1 against 3 threads bit for bit, gradcheck, gradgradcheck,
/// every device that is present against cpu:0, refusals.
Report run(const OpTest& test, const References& references = {});

/// The inputs of case `index` in `dtype` on cpu:0.
Tensors make_inputs(const OpTest& test, std::size_t index, ScalarType dtype);

/// Outputs, then the gradients of sum_i <outputs[i], cotangent_i> with respect to the inputs that require one
/// (undefined where there is none). Cotangents are drawn from `seed`.
struct Evaluation {
  Tensors outputs, cotangents, gradients;
};
Evaluation evaluate(const OpTest& test, const Tensors& inputs);

/// Whether a and b have one shape and dtype and |a - b| <= tolerance (1 + |b|) everywhere; NaN equals NaN.
/// Otherwise `why` says where.
bool close(const Tensor& a, const Tensor& b, double tolerance, std::string* why = nullptr);
/// Bit for bit.
bool identical(const Tensor& a, const Tensor& b);

}  // namespace tandem::testing
