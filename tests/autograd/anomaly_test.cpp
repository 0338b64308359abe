// Anomaly mode: the errors it throws and what it prints about the forward pass.
#include <doctest/doctest.h>

#include <limits>
#include <stdexcept>

#include "tandem/autograd/checkpoint.h"
#include "tandem/autograd/engine.h"
#include "tandem/autograd/function.h"
#include "tandem/autograd/ops.h"
#include "tandem/tests/autograd/printed.h"

using namespace tandem;
using autograd::AnomalyMode;
using autograd::DetectAnomalyGuard;
using testing::printed_by;

namespace {
// 0 times infinity, when the gradient of log at 0 is multiplied by 0.
Tensor log_of_zero(const Tensor& x) { return (x.log() * 0).sum(); }
Tensor zero_leaf() { return zeros({2}, requires_grad()); }
bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("the mode and its guards") {
  CHECK_FALSE(AnomalyMode::is_enabled());
  CHECK(AnomalyMode::should_check_nan());
  {
    const DetectAnomalyGuard outer;
    CHECK(AnomalyMode::is_enabled());
    {
      const DetectAnomalyGuard inner(false);
      CHECK(AnomalyMode::is_enabled());
      CHECK_FALSE(AnomalyMode::should_check_nan());
    }
    CHECK(AnomalyMode::is_enabled());
    CHECK(AnomalyMode::should_check_nan());
  }
  CHECK_FALSE(AnomalyMode::is_enabled());
  AnomalyMode::set_enabled(true, false);
  CHECK_FALSE(AnomalyMode::should_check_nan());
  { const DetectAnomalyGuard guard; }
  CHECK(AnomalyMode::is_enabled());
  CHECK_FALSE(AnomalyMode::should_check_nan());
  AnomalyMode::set_enabled(false);
  CHECK(AnomalyMode::should_check_nan());
}

TEST_CASE("a node that returns NaN: PyTorch's message, and the forward calls on stderr") {
  const Tensor x = zero_leaf();
  CHECK(printed_by([&] { log_of_zero(x).backward(); }) == "");
  const DetectAnomalyGuard guard;
  const Tensor y = log_of_zero(x);
  const std::string text = printed_by([&] {
    CHECK_THROWS_WITH_AS(
        y.backward(), "Function 'LogBackward' returned nan values in its 0th output.\n  forward: Log([2] float32 cpu)",
        Error);
  });
  CHECK(has(text, "warning: error detected in LogBackward"));
  CHECK(has(text, "was Log([2] float32 cpu)\n    "));
  CHECK(has(text, "\n    tandem::Tensor::log() const\n"));
  CHECK(has(text, "test_autograd_warning(+0x"));  // log_of_zero
  CHECK_FALSE(has(text, "note_forward"));
}

TEST_CASE("the number of the gradient with NaN; a check that was turned off; infinity") {
  const Tensor base = zero_leaf(), exponent = zero_leaf();
  const Tensor nan = full({2}, std::numeric_limits<double>::quiet_NaN());
  const DetectAnomalyGuard guard;
  const Tensor y = (base.detach() + nan) * exponent, z = (1 / base).sum();
  CHECK(
      has(printed_by([&] { CHECK_THROWS_WITH_AS(y.sum().backward(), doctest::Contains("in its 1th output"), Error); }),
          "MulBackward"));
  z.backward();
  CHECK(base.grad().isinf().all().item<bool>());
  const DetectAnomalyGuard unchecked(false);
  CHECK(printed_by([&] { ((base.detach() + nan) * exponent).sum().backward(); }) == "");
  CHECK(exponent.grad().isnan().all().item<bool>());
}

TEST_CASE("complex NaN, and NaN in a backward pass nested in a custom function or in a checkpoint's second run") {
  struct Nested : autograd::Function<Nested> {
    static Tensor forward(autograd::AutogradContext*, const Tensor& x) { return x * 1; }
    static autograd::variable_list backward(autograd::AutogradContext*, autograd::variable_list) {
      const AutoGradMode recording(true);
      const Tensor x = zero_leaf();
      log_of_zero(x).backward();
      return {x.grad()};
    }
  };
  const DetectAnomalyGuard guard;
  const auto text_of = [](const Tensor& y) {
    return printed_by(
        [&] { CHECK_THROWS_WITH_AS(y.backward(), doctest::Contains("'LogBackward' returned nan"), Error); });
  };
  const Tensor complex = zeros({2}, TensorOptions(kComplexFloat).requires_grad(true));
  CHECK(has(text_of(real(log_of_zero(complex))), "Log([2] complex64 cpu)"));
  const std::string nested = text_of(Nested::apply(zero_leaf()).sum());
  CHECK(has(nested, "recorded by the backward of Nested([2] float32 cpu)"));
  CHECK(has(nested, "error detected in NestedBackward"));
  CHECK(has(text_of(utils::checkpoint(log_of_zero, zero_leaf())), "test_autograd_warning(+0x"));
}

TEST_CASE("a node recorded before the mode was enabled") {
  const Tensor y = log_of_zero(zero_leaf());
  const DetectAnomalyGuard guard;
  const std::string text = printed_by(
      [&] { CHECK_THROWS_WITH_AS(y.backward(), doctest::Contains("recorded outside anomaly mode"), Error); });
  CHECK(has(text, "enable the mode for the forward pass"));
}

TEST_CASE("a node recorded by a backward pass names the node that recorded it") {
  const DetectAnomalyGuard guard;
  const Tensor x = zero_leaf();
  // d/dx x^1.5 = 1.5 sqrt(x), whose derivative times 0 is NaN at 0.
  const Tensor g = autograd::grad({x.pow(1.5).sum()}, {x}, {}, nullopt, true)[0];
  const std::string text = printed_by([&] { CHECK_THROWS_AS((g * 0).sum().backward(), Error); });
  CHECK(has(text, "recorded by the backward of Pow"));
}

TEST_CASE("any exception of a node is located, and keeps its type") {
  struct Throws : autograd::Function<Throws> {
    static Tensor forward(autograd::AutogradContext*, const Tensor& x) { return x * 2; }
    static autograd::variable_list backward(autograd::AutogradContext*, autograd::variable_list) {
      throw std::out_of_range("from backward");
    }
  };
  const DetectAnomalyGuard guard;
  const Tensor x = ones({3}, requires_grad());
  CHECK(has(printed_by([&] { CHECK_THROWS_AS(Throws::apply(x).sum().backward(), std::out_of_range); }),
            "error detected in ThrowsBackward: the forward call that caused it was Throws([3] float32"));
  const Tensor y = x * 1, z = (y * y).sum();
  y.mul_(2);
  CHECK(has(printed_by([&] { CHECK_THROWS_WITH_AS(z.backward(), doctest::Contains("overwritten"), Error); }),
            "was Mul([3] float32 cpu, [3] float32 cpu)\n"));
}
