// Functions and classes that a program registers with TORCH_LIBRARY.
#include <doctest/doctest.h>
#include <torch/library.h>
#include <torch/torch.h>

namespace {

int autograd_calls = 0;

torch::Tensor twice(const torch::Tensor& x, double factor) { return x * 2 * factor; }
int64_t count(const std::vector<torch::Tensor>& tensors) { return static_cast<int64_t>(tensors.size()); }

torch::Tensor scaled(const torch::Tensor& x) {
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("shop::scaled", "").typed<torch::Tensor(const torch::Tensor&)>();
  return op.call(x);
}
torch::Tensor scaled_cpu(const torch::Tensor& x) { return x * 3; }
struct ScaledFunction : torch::autograd::Function<ScaledFunction> {
  static torch::Tensor forward(torch::autograd::AutogradContext*, const torch::Tensor& x) {
    at::AutoDispatchBelowADInplaceOrView guard;
    return scaled(x);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                 torch::autograd::variable_list grads) {
    return {grads[0] * 30};  // not the derivative, so that it is seen to be used
  }
};
torch::Tensor scaled_autograd(const torch::Tensor& x) {
  ++autograd_calls;
  return ScaledFunction::apply(x);
}

struct Stack : torch::CustomClassHolder {
  explicit Stack(std::vector<std::string> values) : values(std::move(values)) { ++living; }
  Stack(const Stack& other) : CustomClassHolder(other), values(other.values) { ++living; }
  ~Stack() override { --living; }
  void push(std::string value) { values.push_back(std::move(value)); }
  int64_t size() const { return static_cast<int64_t>(values.size()); }
  c10::intrusive_ptr<Stack> clone() const { return c10::make_intrusive<Stack>(values); }
  std::vector<std::string> values;
  int64_t limit = 5;
  static inline int living = 0;
};

}  // namespace

TORCH_LIBRARY(shop, m) {
  m.def("twice(Tensor x, float factor) -> Tensor", &twice);
  m.def("scaled(Tensor x) -> Tensor").def("count.many", count);
  m.def(TORCH_SELECTIVE_SCHEMA("shop::late(Tensor x) -> Tensor"));
  m.class_<Stack>("Stack")
      .def(torch::init<std::vector<std::string>>())
      .def("push", &Stack::push, "adds one", {torch::arg("value") = "nothing"})
      .def("top", [](const c10::intrusive_ptr<Stack>& self) { return self->values.back(); })
      .def_static("none", [] { return c10::make_intrusive<Stack>(std::vector<std::string>()); })
      .def_property("size", &Stack::size)
      .def_readwrite("limit", &Stack::limit)
      .def_pickle([](const c10::intrusive_ptr<Stack>& self) { return self->values; },
                  [](std::vector<std::string> state) { return c10::make_intrusive<Stack>(std::move(state)); });
}
TORCH_LIBRARY_IMPL(shop, CPU, m) { m.impl("scaled", TORCH_FN(scaled_cpu)); }
TORCH_LIBRARY_IMPL(shop, Autograd, m) { m.impl(TORCH_SELECTIVE_NAME("shop::scaled"), &scaled_autograd); }
TORCH_LIBRARY_IMPL(shop, CUDA, m) {
  m.impl("late", [](const torch::Tensor& x) { return x; });
  m.impl("scaled", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_FRAGMENT(shop, m) {
  m.def("constant", [] { return int64_t{4}; });
}
static auto registered = torch::RegisterOperators("old::twice", &twice).op("old::count", &count);

TEST_CASE("registered functions are found by name and called") {
  auto& dispatcher = c10::Dispatcher::singleton();
  const auto op = dispatcher.findSchemaOrThrow("shop::twice", "").typed<torch::Tensor(const torch::Tensor&, double)>();
  CHECK(op.call(torch::ones({1}), 1.5).item<float>() == 3);
  CHECK(dispatcher.findSchemaOrThrow("old::twice", "").typed<decltype(twice)>()(torch::ones({1}), 2).item<float>() ==
        4);
  CHECK(dispatcher.findSchemaOrThrow("shop::count", "many").typed<decltype(count)>().call({torch::ones({1})}) == 1);
  CHECK(dispatcher.findSchema("old::count").has_value());
  CHECK(dispatcher.findSchemaOrThrow("shop::constant", "").typed<int64_t()>().call() == 4);
  CHECK_FALSE(dispatcher.findSchema("shop::none").has_value());
  CHECK_THROWS_WITH_AS(dispatcher.findSchemaOrThrow("shop::none", ""), doctest::Contains("shop::none"), c10::Error);
  CHECK_THROWS_WITH_AS(dispatcher.findSchemaOrThrow("shop::constant", "").typed<int()>().call(),
                       doctest::Contains("other types"), c10::Error);
  const auto late = dispatcher.findSchemaOrThrow("shop::late", "").typed<torch::Tensor(const torch::Tensor&)>();
  CHECK_THROWS_WITH_AS(late.call(torch::ones({1})), doctest::Contains("'CPU' backend"), c10::Error);
  CHECK_THROWS_WITH_AS(torch::RegisterOperators("old::count", &count), doctest::Contains("twice"), c10::Error);
}

TEST_CASE("a function for Autograd calls that of the device below it") {
  const torch::Tensor x = torch::ones({2}, torch::requires_grad());
  const torch::Tensor y = scaled(x);
  CHECK(y[1].item<float>() == 3);
  CHECK(autograd_calls == 1);
  y.sum().backward();
  CHECK(x.grad()[0].item<float>() == 30);
  {
    at::AutoDispatchBelowAutograd guard;
    CHECK_FALSE(scaled(x).requires_grad());
  }
  CHECK(autograd_calls == 1);
}

TEST_CASE("custom classes are counted") {
  {
    const auto stack = c10::make_intrusive<Stack>(std::vector<std::string>{"a"});
    c10::intrusive_ptr<torch::CustomClassHolder> base = stack;
    CHECK(stack.use_count() == 2);
    CHECK(Stack(*stack).size() == 1);
    base = stack->clone();
    CHECK(stack.unique());
    CHECK(Stack::living == 2);
    CHECK_FALSE(c10::intrusive_ptr<Stack>().defined());
  }
  CHECK(Stack::living == 0);
}
