// The harness must pass correct operations and catch mistakes: each kind of mistake once.
#include <doctest/doctest.h>

#include <set>

#include "tandem/autograd/record.h"
#include "tandem/core/random/philox.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::testing;
using test::error_of;

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

// Checks on a GPU come to the others.
bool has_gpu() {
  if (device_count(kCUDA) == 0) return false;
  MESSAGE("skipped: a GPU adds checks");
  return true;
}

std::string first(const Report& report) { return report.failures.empty() ? "" : report.failures[0]; }

// What is behind "NAME, case 0, " in the failures.
std::vector<std::string> failures(const Report& report) {
  std::vector<std::string> out;
  for (const std::string& text : report.failures) out.push_back(text.substr(text.find(", case") + 10));
  return out;
}
std::set<std::string> modes(const Report& report) {
  std::set<std::string> out;
  for (const std::string& text : failures(report)) out.insert(text.substr(0, text.find(':')));
  return out;
}
using Modes = std::set<std::string>;

OpTest of(TensorFn fn, std::vector<InputSpec> inputs = {real({2})}) {
  return {.name = "f", .torch = "", .fn = std::move(fn), .cases = {std::move(inputs)}};
}

// factor * x, whose gradient has `backward` as its factor.
struct ScaleBackward final : autograd::NamedNode<ScaleBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = g[0] * factor; }
  double factor = 1;
};
Tensor scaled(const Tensor& x, double factor, double backward) {
  const Tensor out = x.detach() * factor;
  if (auto* node = autograd::record<ScaleBackward>(out, x)) node->factor = backward;
  return out;
}

// a * b, which is wrong if only `a` needs a gradient, and keeps its inputs if asked to.
struct ProductBackward final : autograd::NamedNode<ProductBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    if (needs(0)) out[0] = g[0] * b * (needs(1) ? 1 : alone);
    if (needs(1)) out[1] = g[0] * a;
  }
  void release() override {
    if (!keeps) a = b = Tensor();
  }
  Tensor a, b;
  double alone = 1;
  bool keeps = false;
};
Tensor product(const Tensor& a, const Tensor& b, double alone, bool keeps) {
  const Tensor out = a.detach() * b.detach();
  if (auto* node = autograd::record<ProductBackward>(out, a, b)) {
    node->a = a.detach();
    node->b = b.detach();
    node->alone = alone;
    node->keeps = keeps;
  }
  return out;
}

struct ThreeDevices {
  ThreeDevices() { cpu::set_device_count(3); }
  ~ThreeDevices() { cpu::set_device_count(1); }
};

std::vector<double> numbers(const Tensor& t) {
  const Tensor host = t.detach().to(kDouble).contiguous();
  return {host.data_ptr<double>(), host.data_ptr<double>() + host.numel()};
}

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

TEST_CASE("the harness counts its checks, names its modes in order and says what it skipped") {
  if (has_gpu()) return;
  const auto twice = [](const Tensors& x) { return Tensors{x[0] * 2}; };
  OpTest test = of(twice);
  // An output and a gradient each against float64, with other strides, with 3 threads and in two half types; the first
  // and the second gradients against differences; the memory.
  CHECK_EQ(run(test).checks, 2 + 2 + 2 + 2 * 2 + 2 + 1);
  CHECK_EQ(run(test).skipped.size(), 1);
  CHECK_EQ(run(test).skipped[0].substr(0, 11), "f on cuda: ");
  test.cases.push_back(test.cases[0]);
  CHECK_EQ(run(test).checks, 26);
  CHECK_EQ(run(test).skipped.size(), 1);
  CHECK_EQ(run(of(twice, {real({1, 2, 1, 2})})).checks, 15);  // channels-last, too
  CHECK_EQ(run(of(twice, {real({1, 2, 1, 1, 2})})).checks, 15);
  CHECK_EQ(run(of(twice, {real({1, 2, 1, 1, 1, 2})})).checks, 13);
  CHECK_EQ(run(of(twice, {constant({2})})).checks, 5);  // no gradients
  CHECK_EQ(run(of([](const Tensors& x) { return Tensors{x[0] * x[1]}; }, {real({2}), real({2})})).checks,
           5 * 3 + 2 + 1 + 2);  // two gradients, which are alone in two further checks
  test = of(twice);
  test.second_order = false;
  CHECK_EQ(run(test).checks, 12);
  test.first_order = false;
  CHECK_EQ(run(test).checks, 5);
  test.noncontiguous = false;
  CHECK_EQ(run(test).checks, 4);
  test.half_units = 0;
  test.fn = [](const Tensors& x) {
    check(!isReducedFloatingType(x[0].scalar_type()), "f: not for half types");
    return Tensors{x[0] * 2};
  };
  CHECK_EQ(run(test).checks, 4);
  test.refusals = {{[](Device) -> Tensors { fail("no"); }, "no"}};
  CHECK_EQ(run(test).checks, 5);
  test.cases = {{constant({0})}};  // no element whose type could be refused
  CHECK_EQ(run(test).checks, 3);

  test = of([](const Tensors&) -> Tensors { fail("broken"); }, {real({1, 1, 1, 2}), real({2})});
  CHECK_EQ(failures(run(test)),
           std::vector<std::string>{"values: broken", "gradients: broken", "single gradients: broken",
                                    "release: broken", "strides: broken", "channels-last: broken", "threads: broken",
                                    "devices: broken", "half types: broken"});
  test.cases.insert(test.cases.begin(), std::vector<InputSpec>{real({1, 1, 1, 2}), real({3})});
  CHECK_EQ(run(test).failures.size(), 18);
  CHECK_EQ(run(test).failures[9], "f, case 1, values: broken");
}

TEST_CASE("the harness finds mistakes that only one of its modes sees") {
  if (has_gpu()) return;
  const auto once = [](const Tensors& x) { return Tensors{x[0] * 1.0}; };
  CHECK_EQ(modes(run(of(once, {real({2, 3, 1, 2})}))), Modes{});
  // One type.
  const auto in_type = [](ScalarType type) {
    return of([type](const Tensors& x) { return Tensors{x[0] * 2, x[0] * (x[0].dtype() == type ? 1.25 : 1)}; });
  };
  CHECK_EQ(modes(run(in_type(kFloat))), Modes{"values"});
  Report report = run(in_type(kFloat));
  REQUIRE_EQ(report.failures.size(), 2);
  CHECK_EQ(failures(report)[0].find("values: float32 against float64, output 1: element 0 of [2] float32"), 0);
  CHECK_EQ(failures(report)[1].find("values: float32 against float64, gradient 0: element 0 of"), 0);
  for (const ScalarType type : {kBFloat16, kHalf}) {
    CHECK_EQ(modes(run(in_type(type))), Modes{"half types"});
    report = run(in_type(type));
    REQUIRE_EQ(report.failures.size(), 2);
    CHECK_EQ(
        failures(report)[0].find(concat("half types: ", type, " on ", Device(kCPU, 0), " against float64, output 1")),
        0);
  }
  // One layout.
  const auto with_layout = [](ScalarType type, double factor) {
    return of(
        [=](const Tensors& x) { return Tensors{x[0] * (x[0].dtype() == type && !x[0].is_contiguous() ? factor : 1)}; },
        {real({2, 3, 1, 2})});
  };
  CHECK_EQ(modes(run(with_layout(kDouble, 1.0001))), Modes{"strides"});
  CHECK_EQ(failures(run(with_layout(kDouble, 1.0001)))[0].find("strides: other strides, output 0: element 0"), 0);
  CHECK_EQ(failures(run(with_layout(kFloat, 1.0000002))),
           std::vector<std::string>{"channels-last: output 0 differs between row-major and channels-last inputs",
                                    "channels-last: gradient 0 differs between row-major and channels-last inputs"});
  OpTest any_layout = with_layout(kFloat, 2);
  any_layout.noncontiguous = false;
  CHECK_EQ(modes(run(any_layout)), Modes{});
  any_layout = with_layout(kFloat, 2);
  any_layout.cases = {{real({1, 2, 3, 1, 2})}};
  CHECK_EQ(modes(run(any_layout)), Modes{"channels-last"});
  // Some number of threads.
  const int before = get_num_threads();
  set_num_threads(2);
  const auto on_threads = [](int count) {
    return of([count](const Tensors& x) { return Tensors{x[0] * (get_num_threads() == count ? 1.0000002 : 1)}; });
  };
  for (const int count : {1, 3})
    CHECK_EQ(failures(run(on_threads(count))),
             std::vector<std::string>{"threads: output 0 differs between 1 and 3 threads",
                                      "threads: gradient 0 differs between 1 and 3 threads"});
  CHECK_EQ(modes(run(on_threads(4))), Modes{});
  CHECK_EQ(get_num_threads(), 2);
  set_num_threads(before);
  // Gradients.
  const auto products = [](double alone, bool keeps) {
    return of([=](const Tensors& x) { return Tensors{product(x[0], x[1], alone, keeps)}; }, {real({2}), real({2})});
  };
  OpTest test = products(1, false);
  test.second_order = false;
  CHECK_EQ(modes(run(test)), Modes{});
  test = products(2, false);
  test.second_order = false;
  CHECK_EQ(modes(run(test)), Modes{"single gradients"});
  CHECK_EQ(run(test).failures.size(), 1);
  CHECK_EQ(failures(run(test))[0].find("single gradients: gradient of input 0 alone: element 0 of"), 0);
  test = products(1, true);
  test.second_order = false;
  CHECK_EQ(modes(run(test)), Modes{"release"});
  CHECK_EQ(failures(run(test))[0].find("release: the graph holds "), 0);
  test = of([](const Tensors& x) { return Tensors{x[0].detach() * 1.0}; });
  CHECK_EQ(failures(run(test))[0], "values: no output requires a gradient");
  test.first_order = false;
  CHECK_EQ(modes(run(test)), Modes{});
  // A gradient that should not be there, or is missing.
  const auto uses_second = [](ScalarType type) {
    OpTest out = of([type](const Tensors& x) { return Tensors{x[0].dtype() == type ? x[0] + x[1] * 0 : x[0] * 1.0}; },
                    {real({2}), real({2})});
    return out;
  };
  CHECK_EQ(failures(run(uses_second(kFloat))),
           std::vector<std::string>{"values: float32 against float64, gradient 1: a gradient where none was expected"});
  CHECK_EQ(failures(run(uses_second(kDouble)))[0], "values: float32 against float64, gradient 1: no gradient");
  for (const int count : {1, 3})
    CHECK_EQ(
        failures(run(
            of([count](const Tensors& x) { return Tensors{get_num_threads() == count ? x[0] + x[1] * 0 : x[0] * 1.0}; },
               {real({2}), real({2})}))),
        std::vector<std::string>{"threads: gradient 1 differs between 1 and 3 threads"});
}

TEST_CASE("the harness finds results on the wrong device, and wrong ones on one of several devices") {
  if (has_gpu()) return;
  const ThreeDevices three;
  const auto device = [](int i) { return Device(kCPU, static_cast<DeviceIndex>(i)); };
  CHECK_EQ(modes(run(of([](const Tensors& x) { return Tensors{x[0] * 1.0}; }, {real({2, 3, 1, 2})}))), Modes{});
  Report report = run(of([&](const Tensors& x) { return Tensors{x[0].to(device(0)) * 1.0}; }));
  CHECK_EQ(modes(report), Modes{"devices"});
  REQUIRE_EQ(report.failures.size(), 8);  // in two types and layouts each
  CHECK_EQ(failures(report)[0], concat("devices: an output is on ", device(0), " instead of ", device(1)));
  CHECK_EQ(failures(report)[2], concat("devices: an output is on ", device(0), " instead of ", device(2)));
  const auto wrong_on = [&](ScalarType type, bool contiguous, double factor) {
    return run(of(
        [=](const Tensors& x) {
          return Tensors{
              x[0] *
              (x[0].device() == device(2) && x[0].dtype() == type && x[0].is_contiguous() == contiguous ? factor : 1)};
        },
        {real({2, 3, 1, 2})}));
  };
  for (const ScalarType type : {kFloat, kDouble})
    for (const bool contiguous : {true, false}) {
      report = wrong_on(type, contiguous, type == kFloat ? 1.001 : 1.000001);
      CHECK_EQ(modes(report), Modes{"devices"});
      REQUIRE_EQ(report.failures.size(), 2);
      const char* layout = contiguous ? "" : type == kFloat ? ", channels-last" : ", other strides";
      CHECK_EQ(failures(report)[0].find(concat("devices: ", device(2), layout, " output 0: element 0 of")), 0);
      CHECK_EQ(failures(report)[1].find(concat("devices: ", device(2), layout, " gradient 0: element 0 of")), 0);
    }
  CHECK_EQ(modes(wrong_on(kFloat, true, 1.0000002)), Modes{});
  OpTest any_layout = of(
      [&](const Tensors& x) {
        return Tensors{x[0] * (x[0].device() == device(2) && !x[0].is_contiguous() ? 2 : 1), x[1].to(kLong)};
      },
      {real({2, 3, 1, 2}), real({2})});
  any_layout.noncontiguous = false;
  CHECK_EQ(modes(run(any_layout)), Modes{});
  // float32 results of float64 inputs are compared as float32.
  CHECK_EQ(modes(run(of(
               [&](const Tensors& x) {
                 return Tensors{x[0] * 1.0, (x[1] * (x[0].device() == device(2) ? 1.0000002 : 1)).to(kFloat)};
               },
               {real({2}), constant({2})}))),
           Modes{});
}

TEST_CASE("the harness asks for the references of all outputs and gradients") {
  const OpTest test = of([](const Tensors& x) { return Tensors{x[0] * 1.0, x[1] * 1.0}; }, {real({2}), real({3})});
  std::vector<std::string> keys;
  CHECK_EQ(first(run(test, [&](const std::string& key) { return keys.push_back(key), Tensor(); })), "");
  std::vector<std::string> expected;
  for (const char* type : {"float32", "float64"})
    for (const char* what : {"output0", "output1", "gradient0", "gradient1"})
      expected.push_back(concat("f/0/", type, "/", what));
  CHECK_EQ(keys, expected);
  const int unasked = run(test).checks;
  for (const std::string& wrong : expected) {
    const Report report = run(test, [&](const std::string& key) {
      const ScalarType type = key.find("float32") != std::string::npos ? kFloat : kDouble;
      const std::size_t i = key.back() == '1';
      const Evaluation e = evaluate(test, make_inputs(test, 0, type));
      const Tensor right = key.find("output") != std::string::npos ? e.outputs[i].detach() : e.gradients[i];
      return key == wrong ? right + 1 : right;
    });
    CHECK_EQ(report.checks, unasked + 8);
    REQUIRE_EQ(report.failures.size(), 1);
    const bool output = wrong.find("output") != std::string::npos;
    CHECK_EQ(failures(report)[0].find(
                 concat("values: against PyTorch, ", output ? "output " : "gradient ", wrong.back(), ": element 0")),
             0);
  }
}

TEST_CASE("half types may differ by so many units of their last place, relative to 1 + the value") {
  for (const ScalarType type : {kBFloat16, kHalf}) {
    const double unit = type == kHalf ? 0x1p-10 : 0x1p-7;
    const auto off_by = [&](double units) {
      OpTest test = of([=](const Tensors& x) { return Tensors{x[0] + (x[0].dtype() == type ? units * unit : 0.0)}; },
                       {constant({3}, 1, 1)});
      test.half_units = 4;
      return modes(run(test));
    };
    CHECK_EQ(off_by(8), Modes{});
    CHECK_EQ(off_by(-8), Modes{});
    CHECK_EQ(off_by(9), Modes{"half types"});
    CHECK_EQ(off_by(-9), Modes{"half types"});
  }
  // A result that is float64 whatever the input's type is compared as it is.
  CHECK_EQ(modes(run(of([](const Tensors& x) { return Tensors{x[0].to(kDouble) / 3}; }, {constant({3})}))), Modes{});
}

TEST_CASE("a refusal of half types names its dtype as a word") {
  OpTest test = of([](const Tensors& x) { return x; });
  test.half_units = 0;
  const auto refused_with = [&](const std::string& message) {
    test.fn = [message](const Tensors& x) {
      check(!isReducedFloatingType(x[0].scalar_type()), message);
      return Tensors{x[0] * 2};
    };
    return run(test).failures.size();
  };
  test.name = "operation";
  CHECK_EQ(refused_with("float16 is refused"), 1);  // does not name bfloat16
  CHECK_EQ(refused_with("not float16, not bfloat16"), 0);
  CHECK_EQ(refused_with("bfloat16 is refused, and so is float16"), 0);
  CHECK_EQ(refused_with("xfloat16, 1bfloat16"), 2);
  CHECK_EQ(refused_with("an operation"), 0);
  CHECK_EQ(refused_with("cooperation"), 2);
}

TEST_CASE("what a refusal must be") {
  OpTest test = of([](const Tensors& x) { return Tensors{x[0] * 2}; });
  test.refusals = {{[](Device device) -> Tensors {
                      CHECK_EQ(device, Device(kCPU, 0));
                      return {};
                    },
                    "two"},
                   {[](Device) -> Tensors { fail("one two three"); }, "two"},
                   {[](Device) -> Tensors { fail("one three"); }, "two"}};
  CHECK_EQ(failures(run(test)), std::vector<std::string>{"refusal: no error; expected one with \"two\"",
                                                         "refusal: the error does not contain \"two\": one three"});
}

TEST_CASE("the inputs of a test: their ranges, types and draws") {
  const OpTest test{.name = "f",
                    .torch = "",
                    .fn = {},
                    .cases = {{real({3, 5}), constant({200}, 2, 3), integers({300}, -1, 3), booleans({100}),
                               distinct({7}), integers({9}, 0, 9, kInt)},
                              {real({3, 5}), distinct({7})}}};
  const Tensors x = make_inputs(test, 0, kDouble), y = make_inputs(test, 1, kDouble), z = make_inputs(test, 0, kFloat);
  REQUIRE_EQ(x.size(), 6);
  const std::vector<ScalarType> types{kDouble, kDouble, kLong, kBool, kDouble, kInt};
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK_EQ(x[i].dtype(), types[i]);
    CHECK_EQ(x[i].requires_grad(), i == 0 || i == 4);
    CHECK_EQ(z[i].dtype(), types[i] == kDouble ? kFloat : types[i]);
    CHECK_EQ(z[i].requires_grad(), i == 0 || i == 4);
    CHECK_EQ(numbers(x[i]), numbers(z[i]));  // what float32 represents
    CHECK(identical(x[i], make_inputs(test, 0, kDouble)[i]));
  }
  CHECK_EQ(x[0].sizes(), IntArrayRef({3, 5}));
  CHECK_NE(numbers(x[0]), numbers(y[0]));
  CHECK_NE(numbers(x[4]), numbers(y[1]));
  for (const double v : numbers(x[1])) CHECK((v >= 2 && v < 3));
  const std::vector<double> integer = numbers(x[2]), boolean = numbers(x[3]);
  CHECK_EQ(std::set<double>(integer.begin(), integer.end()), std::set<double>{-1, 0, 1, 2});
  CHECK_EQ(std::set<double>(boolean.begin(), boolean.end()), std::set<double>{0, 1});
  // The generator's numbers, moved to the range and rounded.
  const std::vector<double> given = numbers(x[0]);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const PhiloxBlock block = philox(11, 0, i);
    CHECK_EQ(given[i], static_cast<float>(-2 + 4 * uniform_double(block.word[0], block.word[1])));
  }
  // Half apart, of both signs, in any order.
  const std::vector<double> apart = numbers(x[4]);
  CHECK_EQ(std::set<double>(apart.begin(), apart.end()),
           std::set<double>{0.25, 0.75, 1.25, 1.75, -0.35f, -0.85f, -1.35f});
  CHECK_FALSE((apart[0] == 0.25 && apart[6] == 1.75));
}

TEST_CASE("inputs in other layouts, and what evaluate() computes from them") {
  std::set<std::string> seen;
  const auto look = [&](const Tensors& x) {
    CHECK(x[0].requires_grad());
    if (x[0].dtype() == kDouble || !x[0].is_contiguous())
      seen.insert(concat(x[0].dtype(), " ", x[0].strides(), " ", x[0].storage_offset()));
    return Tensors{x[0] * 1.0};
  };
  const auto layouts = [&](std::vector<int64_t> sizes) {
    seen.clear();
    OpTest test = of(look, {real(std::move(sizes))});
    test.fn = [&](const Tensors& x) { return GradMode::is_enabled() ? look(x) : Tensors{x[0] * 1.0}; };
    test.second_order = false;
    CHECK_EQ(first(run(test)), "");
    return seen;
  };
  CHECK_EQ(layouts({}), Modes{"float64 [] 0"});
  CHECK_EQ(layouts({5}), Modes{"float64 [1] 0", "float64 [2] 1"});
  CHECK_EQ(layouts({3, 4}), Modes{"float64 [4, 1] 0", "float64 [2, 7] 1"});
  CHECK_EQ(layouts({2, 3, 4}), Modes{"float64 [12, 4, 1] 0", "float64 [28, 2, 7] 1"});
  CHECK_EQ(layouts({1, 2, 3, 4}),
           Modes{"float64 [24, 12, 4, 1] 0", "float64 [56, 28, 2, 7] 1", "float32 [24, 1, 8, 2] 0"});
  CHECK_EQ(layouts({0, 4}), Modes{"float64 [4, 1] 0"});

  const OpTest test = of(
      [](const Tensors& x) {
        return Tensors{x[0] * 3, x[1], x[0].detach() + 1, x[2] * x[0], x[0].to(kComplexDouble)};
      },
      {real({4}), integers({4}, 0, 5), real({4}), real({4})});
  const Tensors inputs = make_inputs(test, 0, kDouble);
  const Evaluation e = evaluate(test, inputs);
  REQUIRE_EQ(e.outputs.size(), 5);
  REQUIRE_EQ(e.cotangents.size(), 5);
  REQUIRE_EQ(e.gradients.size(), 3);  // of the inputs that require one
  CHECK(identical(e.outputs[2].detach(), inputs[0].detach() + 1));
  CHECK_FALSE(e.cotangents[1].defined());
  CHECK_FALSE(e.cotangents[4].defined());  // nor have complex outputs any
  for (const std::size_t i : {0, 2, 3}) {
    CHECK_EQ(e.cotangents[i].dtype(), kDouble);
    CHECK_FALSE(e.cotangents[i].requires_grad());
    for (const double v : numbers(e.cotangents[i])) CHECK((v >= -1 && v < 1));
  }
  CHECK_NE(numbers(e.cotangents[0]), numbers(e.cotangents[3]));
  CHECK(close(e.gradients[0], e.cotangents[0] * 3 + e.cotangents[3] * inputs[2].detach(), 1e-15));
  CHECK(close(e.gradients[1], e.cotangents[3] * inputs[0].detach(), 1e-15));
  CHECK_FALSE(e.gradients[2].defined());
}

TEST_CASE("close tensors and identical ones") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const auto of = [](double value) { return tensor(std::vector<double>{1, value}, TensorOptions(kDouble)); };
  struct Pair {
    double a, b, tolerance;
    bool close;
  };
  for (const Pair& p : std::vector<Pair>{{3, 3, 0, true},
                                         {3.5, 3, 0.125, true},  // 0.125 (1 + 3)
                                         {2.5, 3, 0.125, true},
                                         {3.5625, 3, 0.125, false},
                                         {2.4375, 3, 0.125, false},
                                         {-3.5, -3, 0.125, true},
                                         {-3.5625, -3, 0.125, false},
                                         {0.125, 0, 0.125, true},
                                         {0.1875, 0, 0.125, false},
                                         {inf, inf, 0, true},
                                         {inf, -inf, 1, false},
                                         {1, inf, 1, false},
                                         {inf, 1, 1, false},
                                         {nan, nan, 0, true},
                                         {nan, 1, 1, false},
                                         {1, nan, 1, false}}) {
    CAPTURE(p.a);
    CAPTURE(p.b);
    std::string why = "before";
    CHECK_EQ(close(of(p.a), of(p.b), p.tolerance, &why), p.close);
    CHECK_EQ(why, p.close ? "" : concat("element 1 of ", of(0).describe(), ": got ", p.a, ", expected ", p.b));
    CHECK_EQ(close(of(p.a), of(p.b), p.tolerance), p.close);
  }
  std::string why;
  CHECK_FALSE(close(ones({2}), ones({3}), 1, &why));
  CHECK_EQ(why, concat("got ", ones({2}), ", expected ", ones({3})));
  CHECK_FALSE(close(ones({2}), ones({2}, kDouble), 1));
  CHECK(close(ones({2, 3}).t(), ones({3, 2}), 0));
  CHECK(close(ones({0}), ones({0}), 0));

  CHECK(identical(ones({2, 3}).t(), ones({3, 2})));
  CHECK(identical(ones({0}), ones({0})));
  CHECK(identical(of(nan), of(nan)));
  CHECK_FALSE(identical(of(0.0), of(-0.0)));
  CHECK_FALSE(identical(of(1), of(2)));
  CHECK_FALSE(identical(ones({2, 3}), ones({3, 2})));
  CHECK_FALSE(identical(zeros({2}), zeros({2}, kInt)));
  CHECK_FALSE(identical(ones({2}), Tensor()));
}

TEST_CASE("gradcheck names what differs, and compares within its tolerances") {
  const auto input = [](std::vector<double> values) { return tensor(values, TensorOptions(kDouble)).requires_grad_(); };
  const Tensor a = input({1, 2, 3}), b = input({4, 5, 6});
  const auto message = [](const TensorFn& fn, const Tensors& inputs, const GradcheckOptions& options = {}) {
    return error_of([&] { gradcheck(fn, inputs, options); });
  };
  const TensorFn product = [](const Tensors& x) { return Tensors{x[0].detach() * 2, x.back() * x[1]}; };
  CHECK_EQ(message(product, {ones({3}, kDouble), a, Tensor(), b}), "");
  // The inputs before the wrong one are undefined and without gradient.
  const TensorFn wrong = [](const Tensors& x) {
    const Tensor y = scaled(x[2], 3, 3);
    return Tensors{y, cat({y.narrow(0, 0, 1), scaled(y.narrow(0, 1, 1), 1, 2)})};
  };
  CHECK_EQ(message(wrong, {Tensor(), ones({3}), a}),
           "gradcheck: d output 1[1] / d input 2[1]: backward gives 6, differences give 3");
  CHECK_EQ(message(
               [](const Tensors& x) {
                 return Tensors{x[0].to(kLong), scaled(x[0], 1, 1.5)};
               },
               {a}),
           "gradcheck: d output 0[0] / d input 0[0]: backward gives 1.5, differences give 1");
  CHECK_EQ(message([](const Tensors& x) { return Tensors{Tensor(), x[0] * 2}; }, {a}), "");
  CHECK_EQ(message([](const Tensors& x) { return Tensors{x[0].detach()}; }, {a}),
           "gradcheck: d output 0[0] / d input 0[0]: backward gives 0, differences give 1");
  CHECK_EQ(message([](const Tensors& x) { return Tensors{x[0] * x[1].detach()}; }, {a, b}),
           "gradcheck: d output 0[0] / d input 1[0]: backward gives 0, differences give 1");
  CHECK_EQ(message(product, {ones({3}, kDouble), ones({3}), ones({3}, kDouble)}),
           "gradcheck: no input requires a gradient");
  CHECK_EQ(message(product, {a, ones({3}).requires_grad_()}),
           concat("gradcheck: input 1 must be float64, got ", ones({3}).requires_grad_()));
  // Elements of a transposed input, in the order of its rows.
  const Tensor t = arange(6, TensorOptions(kDouble)).view({2, 3}).t().detach().requires_grad_();
  const Tensor weights = tensor(std::vector<double>{1, 1, 1, 1, 1, 2}, TensorOptions(kDouble)).view({3, 2});
  CHECK_EQ(message([](const Tensors& x) { return Tensors{x[0].square()}; }, {t}), "");
  CHECK_EQ(message(
               [&](const Tensors& x) {
                 return Tensors{(x[0] * (GradMode::is_enabled() ? weights : ones({3, 2}, kDouble))).sum()};
               },
               {t}),
           "gradcheck: d output 0[0] / d input 0[5]: backward gives 2, differences give 1");
  // Tolerances: |a - b| <= atol + rtol |b|.
  const auto off = [&](double factor, double backward, const GradcheckOptions& options) {
    return message([=](const Tensors& x) { return Tensors{scaled(x[0], factor, backward)}; }, {a}, options) != "";
  };
  CHECK_FALSE(off(0, 0.9e-5, {}));
  CHECK(off(0, 1.1e-5, {}));
  CHECK_FALSE(off(-100, -100.09, {}));
  CHECK_FALSE(off(-100, -99.91, {}));
  CHECK(off(-100, -100.11, {}));
  CHECK(off(-100, -99.89, {}));
  CHECK_FALSE(off(0, 0.09, {.atol = 0.1}));
  CHECK_FALSE(off(1, 1.2, {.rtol = 0.21}));
  // The step.
  const Tensor near = input({0.125});
  const TensorFn kink = [](const Tensors& x) { return Tensors{x[0].abs()}; };
  CHECK_EQ(message(kink, {near}), "");
  CHECK_EQ(message(kink, {near}, {.eps = 0.5}),
           "gradcheck: d output 0[0] / d input 0[0]: backward gives 1, differences give 0.25");
}

TEST_CASE("gradcheck looks at both parts of complex numbers, gradgradcheck at all second derivatives") {
  const Tensor z = complex(tensor(std::vector<double>{1, 2}, TensorOptions(kDouble)),
                           tensor(std::vector<double>{-1, 0.5}, TensorOptions(kDouble)))
                       .requires_grad_();
  const Tensor x = tensor(std::vector<double>{3, 4}, TensorOptions(kDouble)).requires_grad_();
  const TensorFn product = [](const Tensors& in) { return Tensors{in[0] * in[1] * in[0].conj(), real(in[0])}; };
  gradcheck(product, {z, x});
  gradgradcheck(product, {z, x});
  gradcheck([](const Tensors& in) { return Tensors{in[1].square()}; }, {z.detach(), x});
  // d imag / d z is wrong.
  CHECK_EQ(
      error_of([&] { gradcheck([](const Tensors& in) { return Tensors{imag(in[0]).detach() + real(in[0])}; }, {z}); }),
      "gradcheck: d output 0[0] / d input 0[1]: backward gives 0, differences give 1");

  const auto second = [&](const TensorFn& fn, const Tensors& inputs) {
    return error_of([&] { gradgradcheck(fn, inputs); }).substr(0, 17);
  };
  const Tensor y = tensor(std::vector<double>{-1, 2}, TensorOptions(kDouble)).requires_grad_();
  const TensorFn cubes = [](const Tensors& in) {
    return Tensors{Tensor(), in[0].to(kLong), in[0].square() * in[2] * in[2]};
  };
  CHECK_EQ(second(cubes, {x, Tensor(), y}), "");
  CHECK_EQ(second(cubes, {x, Tensor(), y.detach()}), "");
  CHECK_EQ(second([](const Tensors& in) { return Tensors{in[0] * 2}; }, {x}), "");
  CHECK_EQ(second([](const Tensors& in) { return Tensors{in[0].detach()}; }, {x}), "");
  // The first gradients are right, but say that they do not depend on one of what they depend on.
  const auto forgets = [](bool of_first) {
    return [of_first](const Tensors& in) {
      const Tensor out = in[0].detach() * in[1].detach();
      struct Node final : autograd::Node {
        const char* label() const override { return "ForgetsBackward"; }
        void backward(std::span<Tensor> g, std::span<Tensor> grads) override {
          if (needs(0)) grads[0] = g[0] * (of_first ? b.detach() : b);
          if (needs(1)) grads[1] = g[0] * a;
        }
        Tensor a, b;
        bool of_first = false;
      };
      if (auto* node = autograd::record<Node>(out, in[0], in[1])) {
        node->a = in[0];
        node->b = in[1];
        node->of_first = of_first;
      }
      return Tensors{out};
    };
  };
  CHECK_EQ(second(forgets(false), {x, y}), "");
  CHECK_EQ(second(forgets(true), {x, y}), "gradcheck: d outp");
  CHECK_EQ(second([](const Tensors& in) { return Tensors{scaled(in[0], 1, 1).square()}; }, {x}), "");
}
