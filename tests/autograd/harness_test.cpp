// The harness must pass correct operations and catch mistakes: each kind of mistake once.
#include <doctest/doctest.h>

#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/record.h"
#include "tandem/testing.h"

using namespace tandem;
using namespace tandem::testing;

namespace {

OpTest good() {
  return {.name = "mm of relu",
          .torch = "",
          .fn = [](const Tensors& x) { return Tensors{mm(relu(x[0]), x[1]) * x[1].sum()}; },
          .cases = {{distinct({3, 4}), real({4, 2})}, {distinct({0, 4}), real({4, 2})}}};
}

// y = 3 x, with `factor` used in the backward and `value` in the forward.
struct WrongBackward final : autograd::Node {
  const char* label() const override { return "WrongBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = g[0] * factor; }
  double factor = 3;
};
Tensor triple(const Tensor& x, double factor) {
  Tensor out;
  {
    NoGradGuard guard;
    out = x * 3;
  }
  if (auto* node = autograd::record<WrongBackward>(out, x)) node->factor = factor;
  return out;
}

std::string first(const Report& report) { return report.failures.empty() ? "" : report.failures[0]; }

}  // namespace

TEST_CASE("the harness passes correct operations and counts its checks") {
  const Report report = run(good());
  CHECK(first(report) == "");
  CHECK(report.checks > 20);
}

TEST_CASE("the harness finds a wrong gradient") {
  OpTest test{.name = "triple",
              .torch = "",
              .fn = [](const Tensors& x) { return Tensors{triple(x[0], 3.01)}; },
              .cases = {{real({2})}}};
  CHECK(first(run(test)).find("backward gives 3.01, differences give 3") != std::string::npos);
  test.fn = [](const Tensors& x) { return Tensors{triple(x[0], 3)}; };
  CHECK(first(run(test)) == "");
}

TEST_CASE("the harness finds a wrong second gradient") {
  struct Node final : autograd::Node {
    const char* label() const override { return "SquareBackward"; }
    void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = g[0] * (x.detach() * 2); }
    Tensor x;
  };
  OpTest test{.name = "square",
              .torch = "",
              .fn =
                  [](const Tensors& in) {
                    Tensor out = in[0].detach() * in[0].detach();
                    if (auto* node = autograd::record<Node>(out, in[0])) node->x = in[0];
                    return Tensors{out};
                  },
              .cases = {{real({2})}}};
  CHECK(first(run(test)).find("second gradients") != std::string::npos);
}

TEST_CASE("the harness finds an operation that ignores strides") {
  OpTest test{.name = "raw",
              .torch = "",
              .fn =
                  [](const Tensors& x) {
                    if (!x[0].is_cpu()) return Tensors{x[0].clone()};
                    Tensor out = empty_raw(x[0].sizes(), x[0].dtype(), x[0].device());
                    for (int64_t i = 0; i < out.numel(); ++i)
                      if (out.dtype() == kFloat)
                        out.data_ptr<float>()[i] = x[0].data_ptr<float>()[i];
                      else
                        out.data_ptr<double>()[i] = x[0].data_ptr<double>()[i];
                    return Tensors{out};
                  },
              .cases = {{constant({3, 2})}}};
  CHECK(first(run(test)).find("other strides") != std::string::npos);
}

TEST_CASE("the harness compares with references and checks expected errors") {
  OpTest test = good();
  test.cases.resize(1);
  test.refusals = {
      {[](Device) {
         return Tensors{mm(empty_raw({2, 3}, kFloat, Device(kCPU, 0)), empty_raw({2, 3}, kFloat, Device(kCPU, 0)))};
       },
       "inner sizes differ"}};
  const References wrong = [](const std::string& key) {
    return key == "mm of relu/0/float64/output0" ? empty_raw({1}, kDouble, Device(kCPU, 0)) : Tensor();
  };
  const Report report = run(test, wrong);
  CHECK(report.failures.size() == 1);
  CHECK(first(report).find("against PyTorch, output 0: got [3, 2]") != std::string::npos);
  test.refusals[0].text = "something else";
  CHECK(first(run(test)).find("does not contain \"something else\"") != std::string::npos);
}

TEST_CASE("the harness finds a half type that is accepted, or refused with another message") {
  OpTest test{.name = "linalg_solver first",
              .torch = "",
              .fn = [](const Tensors& x) { return Tensors{x[0] * 2}; },
              .cases = {{real({2})}}};
  test.half_units = 0;
  CHECK(first(run(test)).find("no error for bfloat16") != std::string::npos);
  std::string message;
  test.fn = [&](const Tensors& x) {
    check(!isReducedFloatingType(x[0].scalar_type()), message);
    return Tensors{x[0] * 2};
  };
  message = "sizes differ";
  CHECK(first(run(test)).find("names neither bfloat16 nor linalg_solver") != std::string::npos);
  message = "expected float32, got bfloat16";
  CHECK(first(run(test)).find("names neither float16 nor linalg_solver") != std::string::npos);
  message = "linalg.solver: not for half types";
  CHECK(first(run(test)) == "");
}
