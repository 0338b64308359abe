// Module: registration, names, modes, conversion, clone, hooks, printing, state dicts.
#include "tandem/nn/module.h"
#include "tandem/autograd/ops.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <sstream>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/nn/layers/activation.h"
#include "tandem/nn/layers/linear.h"
#include "tandem/nn/module_dict.h"
#include "tandem/nn/module_list.h"
#include "tandem/nn/sequential.h"

using namespace tandem;

namespace {

struct Net : nn::Module {
  Net() : fc1(nn::LinearOptions(4, 3)) {
    register_module("fc1", fc1);
    fc2 = register_module("fc2", nn::Linear(3, 2));
    scale = register_parameter("scale", ones({1}));
    steps = register_buffer("steps", zeros({1}, TensorOptions(kLong)));
  }
  Tensor forward(Tensor x) { return fc2(relu(fc1->forward(x))) * scale; }
  nn::Linear fc1;
  nn::Linear fc2{nullptr};
  Tensor scale, steps;
};

// A holder can be constructed from what its module can. As in LibTorch, the default constructor is declared even if the
// module has none.
template <class... Args>
inline constexpr bool linear_from = std::is_constructible_v<nn::Linear, Args...>;
static_assert(std::is_default_constructible_v<nn::Linear> && linear_from<std::nullptr_t> && linear_from<int, int64_t> &&
              linear_from<nn::LinearOptions> && linear_from<std::shared_ptr<nn::LinearImpl>> &&
              linear_from<const nn::Linear&>);
static_assert(!linear_from<int> && !linear_from<const char*, int> && !linear_from<std::shared_ptr<nn::Module>> &&
              !linear_from<nn::Sequential>);
static_assert(std::is_convertible_v<std::nullptr_t, nn::Linear> &&
              !std::is_convertible_v<nn::LinearOptions, nn::Linear>);

struct CloneableNet : nn::Cloneable<CloneableNet> {
  CloneableNet() { reset(); }
  void reset() override {
    fc = register_module("fc", nn::Linear(2, 2));
    w = register_parameter("w", full({2}, 7.0));
  }
  nn::Linear fc{nullptr};
  Tensor w;
  int option = 3;
};

float first(const Tensor& t) { return t.data_ptr<float>()[0]; }

}  // namespace

TEST_CASE("parameters and their names") {
  Net net;  // on the stack
  CHECK(net.parameters().size() == 5);
  CHECK(net.named_parameters().keys() ==
        std::vector<std::string>{"scale", "fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"});
  CHECK(net.named_parameters(false).keys() == std::vector<std::string>{"scale"});
  CHECK(net.named_buffers().keys() == std::vector<std::string>{"steps"});
  CHECK(net.named_children().keys() == std::vector<std::string>{"fc1", "fc2"});
  for (const auto& p : net.named_parameters()) CHECK(p.value().requires_grad());
  CHECK(net.parameters()[1].is_same(net.fc1->weight));
  CHECK_THROWS_WITH_AS(net.modules(),
                       doctest::Contains("you attempted to retrieve your top-level module as a shared_ptr"), Error);
  CHECK(net.modules(false).size() == 2);
  CHECK(std::make_shared<Net>()->named_modules().keys() == std::vector<std::string>{"", "fc1", "fc2"});
}

TEST_CASE("a shared parameter is listed once, but under both names in the state dict") {
  struct Tied : nn::Module {
    Tied() {
      const auto fc = register_module("a", nn::Linear(2, 2));
      register_module("b", fc);
    }
  };
  Tied net;
  CHECK(net.parameters().size() == 2);
  CHECK(net.state_dict().size() == 4);
}

TEST_CASE("names are validated") {
  struct Any : nn::Module {};
  Any m;
  m.register_parameter("w", ones({1}));
  CHECK_THROWS_WITH_AS(m.register_parameter("w", ones({1})), doctest::Contains("'w' already defined"), Error);
  CHECK_THROWS_WITH_AS(m.register_buffer("w", ones({1})), doctest::Contains("already defined"), Error);
  CHECK_THROWS_WITH_AS(m.register_parameter("a.b", ones({1})), doctest::Contains("dot"), Error);
  CHECK_THROWS_WITH_AS(m.register_module("", nn::Linear(1, 1)), doctest::Contains("empty"), Error);
  CHECK_THROWS_WITH_AS(m.unregister_module("x"), doctest::Contains("No Module with name"), Error);
  CHECK_THROWS_WITH_AS(m.register_parameter("product", m.parameters()[0] * 2),
                       doctest::Contains("'product' is the result of an operation"), Error);
  m.register_module("fc", nn::Linear(1, 1));
  m.unregister_module("fc");
  CHECK(m.children().empty());
}

TEST_CASE("a name belongs to one parameter, buffer or submodule") {
  struct Any : nn::Module {
    using Module::children_;
  };
  const std::vector<std::pair<const char*, std::function<void(Any&, const std::string&)>>> kinds{
      {"Parameter", [](Any& m, const std::string& name) { m.register_parameter(name, ones({1})); }},
      {"Buffer", [](Any& m, const std::string& name) { m.register_buffer(name, ones({1})); }},
      {"Submodule", [](Any& m, const std::string& name) { m.register_module(name, nn::Linear(1, 1)); }}};
  const char* others[] = {"a buffer or a submodule", "a parameter or a submodule", "a parameter or a buffer"};
  for (std::size_t first = 0; first < 3; ++first)
    for (std::size_t second = 0; second < 3; ++second) {
      Any m;
      kinds[first].second(m, "x");
      const std::string own = concat(kinds[second].first, " 'x' already defined");
      CHECK_THROWS_WITH_AS(kinds[second].second(m, "x"),
                           doctest::Contains(first == second ? own.c_str() : (own + " as " + others[second]).c_str()),
                           Error);
      CHECK(m.named_parameters(false).size() == (first == 0));
      CHECK(m.named_buffers(false).size() == (first == 1));
      CHECK(m.children().size() == (first == 2));
    }
  for (const auto& [what, register_as] : kinds) {
    Any m;
    CHECK_THROWS_WITH_AS(register_as(m, ""), (std::string(what) + " name must not be empty").c_str(), Error);
    CHECK_THROWS_WITH_AS(register_as(m, ".x"), (std::string(what) + " name must not contain a dot (got '.x')").c_str(),
                         Error);
  }
  Any m;
  m.register_module("fc", nn::Linear(1, 1));
  CHECK_THROWS_WITH_AS(m.register_module("none", std::shared_ptr<nn::LinearImpl>()),
                       doctest::Contains("Submodule 'none' must not be empty"), Error);
  CHECK_THROWS_WITH_AS(m.replace_module("fc", std::shared_ptr<nn::LinearImpl>()),
                       doctest::Contains("Submodule 'fc' must not be empty"), Error);
  CHECK_THROWS_WITH_AS(m.unregister_module("x"), "No Module with name `x` is registered", Error);
  CHECK(m.children().size() == 1);
  m.register_buffer("undefined", Tensor());
  m.register_parameter("none", Tensor());
  CHECK(m.named_buffers().size() == 0);
  CHECK(m.state_dict().size() == 2);
  const Tensor frozen = m.register_parameter("frozen", ones({1}), false);
  CHECK_FALSE(frozen.requires_grad());
}

TEST_CASE("train, eval and zero_grad") {
  auto net = std::make_shared<Net>();
  CHECK(net->is_training());
  net->eval();
  CHECK(!net->fc1->is_training());
  net->train();
  CHECK(net->fc2->is_training());

  net->forward(ones({2, 4})).sum().backward();
  CHECK(net->fc2->bias.grad().defined());
  net->zero_grad(false);
  CHECK(first(net->fc2->bias.grad()) == 0);
  net->zero_grad();
  CHECK(!net->fc2->bias.grad().defined());

  // A gradient with a history is set to zero without it.
  const Tensor w = net->fc1->weight;
  (w * w * w).sum().backward({}, true, /*create_graph=*/true);
  CHECK(w.grad().requires_grad());
  net->zero_grad(false);
  CHECK_FALSE(w.grad().requires_grad());
  CHECK(w.grad().eq(0).all().item<bool>());
  CHECK(!net->fc1->bias.grad().defined());
}

TEST_CASE("to() by device, dtype and both, for every kind of numbers") {
  struct Mixed : nn::Module {
    Mixed() {
      real = register_parameter("real", ones({2}));
      complex = register_parameter("complex", ones({2}, TensorOptions(kComplexFloat)));
      steps = register_buffer("steps", zeros({2}, TensorOptions(kLong)));
      none = register_buffer("none", Tensor());
    }
    Tensor real, complex, steps, none;
  };
  const auto dtypes = [](const std::function<void(nn::Module&)>& convert) {
    Mixed net;
    net.real.mutable_grad() = ones({2});
    convert(net);
    CHECK((net.real.grad().dtype() == net.real.dtype()));
    CHECK(net.real.requires_grad());
    return std::vector<ScalarType>{net.real.dtype(), net.complex.dtype(), net.steps.dtype()};
  };
  using Types = std::vector<ScalarType>;
  const Device cpu(kCPU);
  CHECK((dtypes([&](nn::Module& m) { m.to(cpu); }) == Types{kFloat, kComplexFloat, kLong}));
  CHECK((dtypes([&](nn::Module& m) { m.to(kDouble); }) == Types{kDouble, kComplexFloat, kLong}));
  CHECK((dtypes([&](nn::Module& m) { m.to(cpu, kDouble); }) == Types{kDouble, kComplexFloat, kLong}));
  CHECK((dtypes([&](nn::Module& m) { m.to(kHalf); }) == Types{kHalf, kComplexFloat, kLong}));
  for (const ScalarType type : {kLong, kBool}) {
    CHECK_THROWS_WITH_AS(dtypes([&](nn::Module& m) { m.to(type); }),
                         doctest::Contains("Module.to: expected a floating point or complex dtype, got"), Error);
    CHECK_THROWS_WITH_AS(dtypes([&](nn::Module& m) { m.to(cpu, type); }),
                         doctest::Contains("Module.to: expected a floating point or complex dtype, got"), Error);
  }
  Mixed net;
  net.to(kComplexDouble);
  CHECK((net.complex.dtype() == kComplexDouble));
  CHECK((net.real.dtype() == kComplexDouble));
  CHECK_THROWS_WITH_AS(net.to(MemoryFormat::Preserve), "Module.to: there is no format to preserve", Error);
}

TEST_CASE("to() converts floating-point tensors in place") {
  auto net = std::make_shared<Net>();
  const Tensor handle = net->fc1->weight;
  net->to(kDouble);
  CHECK((handle.dtype() == kDouble));
  CHECK(net->fc1->weight.is_same(net->named_parameters()["fc1.weight"]));
  CHECK((net->steps.dtype() == kLong));
  CHECK(net->fc1->weight.requires_grad());
  net->forward(ones({1, 4}, TensorOptions(kDouble))).sum().backward();
  CHECK(((handle.grad().dtype() == kDouble)));
  net->to(Device(kCPU), kFloat);
  CHECK(((handle.grad().dtype() == kFloat)));
  CHECK_THROWS_WITH_AS(net->to(kLong), doctest::Contains("floating point"), Error);
}

TEST_CASE("the four forms of apply") {
  auto net = std::make_shared<Net>();
  int count = 0;
  net->apply([&](nn::Module&) { ++count; });
  CHECK(count == 3);
  std::string names;
  net->apply([&](const std::string& name, nn::Module&) { names += name + ";"; });
  CHECK(names == ";fc1;fc2;");
  net->apply([&](const std::shared_ptr<nn::Module>& m) { count += m->as<nn::Linear>() != nullptr; });
  CHECK(count == 5);
  net->apply([&](nn::Module& m) {
    if (auto* linear = m.as<nn::Linear>()) nn::init::zeros_(linear->weight);
  });
  CHECK(first(net->fc1->weight) == 0);
}

TEST_CASE("clones: what they share, keep and refuse") {
  struct Odd : nn::Cloneable<Odd> {  // registers more in its constructor than in reset()
    explicit Odd(int kind) : kind(kind) {
      reset();
      if (kind == 1) register_parameter("more", ones({1}));
      if (kind == 2) register_buffer("more", ones({1}));
      if (kind == 3) register_module("more", nn::Linear(1, 1));
    }
    void reset() override {
      w = register_parameter("w", ones({2}));
      none = register_parameter("none", Tensor());
      if (kind != 4) return;
      if (resets++ == 0)
        register_module("part", nn::Linear(2, 2));
      else
        register_module("part", nn::ReLU());
    }
    int kind, resets = 0;
    Tensor w, none;
  };
  const auto odd = std::make_shared<Odd>(0);
  odd->w.requires_grad_(false);
  const auto copy = std::dynamic_pointer_cast<Odd>(odd->clone());
  CHECK_FALSE(copy->w.requires_grad());
  CHECK_FALSE(copy->none.defined());
  CHECK_FALSE(copy->w.is_same(odd->w));
  CHECK(copy->w.data_ptr() != odd->w.data_ptr());
  for (const int kind : {1, 2, 3})
    CHECK_THROWS_WITH_AS(
        std::make_shared<Odd>(kind)->clone(),
        doctest::Contains("has different parameters, buffers or children; register all of them in reset()"), Error);
  CHECK_THROWS_WITH_AS(std::make_shared<Odd>(4)->clone(), doctest::Contains("clone: child modules differ in type"),
                       Error);
}

TEST_CASE("clone is deep and draws no random numbers") {
  auto net = std::make_shared<CloneableNet>();
  net->option = 9;
  net->fc->eval();
  net->w.requires_grad_(false);
  const auto offset = default_generator().offset();
  auto copy = std::dynamic_pointer_cast<CloneableNet>(net->clone());
  CHECK(default_generator().offset() == offset);
  CHECK(copy->option == 9);
  CHECK(!copy->fc->is_training());
  CHECK(!copy->w.requires_grad());
  CHECK(first(copy->fc->weight) == first(net->fc->weight));
  CHECK(copy->fc->weight.is_same(copy->named_parameters()["fc.weight"]));
  nn::init::zeros_(copy->fc->weight);
  CHECK(first(net->fc->weight) != 0);
  CHECK_THROWS_WITH_AS(Net().clone(), doctest::Contains("Cloneable"), Error);
}

TEST_CASE("forward hooks") {
  auto net = std::make_shared<Net>();
  int calls = 0;
  auto pre = net->fc1->register_forward_pre_hook(
      [&](nn::Module& m, const std::vector<Tensor>& inputs) { calls += m.is_training() && inputs.size() == 1; });
  auto replace = net->fc2->register_forward_hook(
      [](nn::Module&, const std::vector<Tensor>&, const Tensor& y) { return y * 0 + 5; });
  CHECK(first(nn::call(net, ones({1, 4}))) == 5);
  CHECK(calls == 0);  // Net calls fc1->forward, which has no hooks
  net->fc1(ones({1, 4}));
  CHECK(calls == 1);
  pre.remove();
  pre.remove();
  net->fc1(ones({1, 4}));
  CHECK(calls == 1);
  replace.remove();
  auto twice =
      net->fc1->register_forward_pre_hook([](nn::Module&, const std::vector<Tensor>& in) { return in[0] * 2; });
  const float bias = first(net->fc1->bias);
  const Tensor x = ones({1, 4});
  const float plain = first(net->fc1->forward(x)) - bias, hooked = first(net->fc1(x)) - bias;
  CHECK(hooked == doctest::Approx(2 * plain).epsilon(1e-4));
}

TEST_CASE("printing") {
  Net net;
  std::ostringstream out;
  out << net;
  CHECK(
      out.str().ends_with("Net(\n"
                          "  (fc1): tandem::nn::Linear(in_features=4, out_features=3, bias=true)\n"
                          "  (fc2): tandem::nn::Linear(in_features=3, out_features=2, bias=true)\n"
                          ")"));
  CHECK(net.fc1->name() == "tandem::nn::LinearImpl");
}

TEST_CASE("state dicts") {
  Net from, to;
  const auto state = from.state_dict();
  CHECK(state.keys() == std::vector<std::string>{"scale", "steps", "fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"});
  CHECK(!state["scale"].requires_grad());
  to.load_state_dict(state);
  CHECK(first(to.fc2->weight) == first(from.fc2->weight));
  CHECK(to.fc2->weight.requires_grad());

  SUBCASE("with a wrapped model's prefix") {
    OrderedDict<std::string, Tensor> wrapped;
    for (const auto& item : state) wrapped.insert("module." + item.key(), item.value() * 2);
    to.load_state_dict(wrapped);
    CHECK(first(to.fc2->weight) == 2 * first(from.fc2->weight));
    OrderedDict<std::string, Tensor> compiled;
    for (const auto& item : wrapped) compiled.insert("_orig_mod." + item.key(), item.value() * 2);
    to.load_state_dict(compiled);
    CHECK(first(to.fc2->weight) == 4 * first(from.fc2->weight));
    compiled.insert("fc3.bias", ones({1}));
    CHECK_THROWS_WITH_AS(to.load_state_dict(compiled), doctest::Contains("_orig_mod.module.fc1.weight"), Error);
  }
  SUBCASE("the message lists each problem once, up to five of a kind") {
    const auto refusal = [&](const OrderedDict<std::string, Tensor>& given, bool strict) {
      const auto before = to.state_dict()["scale"].clone();
      std::string text;
      try {
        to.load_state_dict(given, strict);
      } catch (const Error& error) {
        text = error.what();
        CHECK(to.state_dict()["scale"].equal(before));
      }
      const std::size_t end = text.find('\n');
      if (end != std::string::npos)
        CHECK(text.substr(0, end) == "load_state_dict: the state dict does not match " + to.name());
      return end == std::string::npos ? text : text.substr(end);
    };
    const auto without = [&](std::vector<std::string> names, int more = 0) {
      OrderedDict<std::string, Tensor> out;
      for (const auto& item : state)
        if (std::find(names.begin(), names.end(), item.key()) == names.end()) out.insert(item.key(), item.value());
      for (int i = 0; i < more; ++i) out.insert(concat("x", i), ones({1}));
      return out;
    };
    CHECK(refusal(without({}), true) == "");
    CHECK(refusal(without({"scale"}), true) == "\n  missing:\n    scale");
    CHECK(refusal(without({"scale"}), false) == "");
    CHECK(refusal(without({}, 1), true) == "\n  unexpected:\n    x0");
    CHECK(refusal(without({}, 1), false) == "");
    CHECK(refusal(without({}, 5), true) == "\n  unexpected:\n    x0\n    x1\n    x2\n    x3\n    x4");
    CHECK(refusal(without({}, 6), true) == "\n  unexpected:\n    x0\n    x1\n    x2\n    x3\n    x4\n    and 1 more");
    CHECK(refusal(without({"scale", "steps"}, 1), true) == "\n  missing:\n    scale\n    steps\n  unexpected:\n    x0");
    auto shape = without({"fc2.bias"}, 1);
    shape["scale"] = ones({2});
    CHECK(refusal(shape, true) ==
          "\n  missing:\n    fc2.bias\n  unexpected:\n    x0\n  shape mismatch:\n    scale: is [1] here, [2] in the "
          "state "
          "dict");
    CHECK(refusal(shape, false) == "\n  shape mismatch:\n    scale: is [1] here, [2] in the state dict");
    auto int8 = without({}, 0);
    int8.insert("fc1.weight_int8", ones({1}));
    CHECK(
        refusal(int8, true) ==
        "\n  unexpected:\n    fc1.weight_int8\n  the state dict's weights are int8, those of the module are not: call "
        "nn::quantize_like(module, state) before");
  }
  SUBCASE("at most five of each problem are listed") {
    OrderedDict<std::string, Tensor> many;
    for (int i = 0; i < 7; ++i) many.insert(concat("other", i), ones({1}));
    try {
      to.load_state_dict(many);
      FAIL("accepted");
    } catch (const Error& e) {
      const std::string text = e.what();
      CHECK(text.find("other4\n    and 2 more") != std::string::npos);
      CHECK(text.find("fc2.weight\n    and 1 more") != std::string::npos);
    }
  }
  SUBCASE("all problems are listed and nothing changes") {
    OrderedDict<std::string, Tensor> broken;
    broken.insert("scale", full({1}, 42.0));
    broken.insert("fc1.weight", ones({2, 2}));
    broken.insert("other", ones({1}));
    try {
      to.load_state_dict(broken);
      FAIL("accepted");
    } catch (const Error& e) {
      const std::string text = e.what();
      for (const char* part : {"missing:", "fc2.bias", "unexpected:", "other", "fc1.weight: is [3, 4] here, [2, 2]"})
        CHECK(text.find(part) != std::string::npos);
    }
    CHECK(first(to.scale) == 1);
  }
  SUBCASE("not strict") {
    OrderedDict<std::string, Tensor> part;
    part.insert("scale", full({1}, 42.0));
    part.insert("other", ones({1}));
    const auto result = to.load_state_dict(part, false);
    CHECK(first(to.scale) == 42);
    CHECK(result.missing_keys.size() == 5);
    CHECK(result.unexpected_keys == std::vector<std::string>{"other"});
    part.insert("fc1.bias", Tensor());  // counts as missing
    CHECK(to.load_state_dict(part, false).missing_keys.size() == 5);
  }
}

namespace {
struct Part : nn::Module {
  Part() { register_parameter("w", ones({2})); }
};
std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}
}  // namespace

TEST_CASE("registering a module that closes a cycle throws") {
  const auto a = std::make_shared<Part>(), b = std::make_shared<Part>(), c = std::make_shared<Part>();
  CHECK(refusal([&] { a->register_module("self", a); }).find("'self' is the module itself") != std::string::npos);
  a->register_module("b", b);
  b->register_module("c", c);
  const std::string text = refusal([&] { c->register_module("back", a); });
  CHECK(text.find("Submodule 'back' of") != std::string::npos);
  CHECK(text.find("'back.b.c' is the module itself") != std::string::npos);
  c->register_module("part", std::make_shared<Part>());
  CHECK(refusal([&] { c->replace_module("part", a); }).find("'part.b.c'") != std::string::npos);

  CHECK(a->parameters().size() == 4);
  CHECK(a->modules().size() == 4);
  CHECK(c->children().size() == 1);
}

TEST_CASE("containers cannot contain themselves") {
  nn::Sequential s;
  nn::ModuleList list;
  nn::ModuleDict dict;
  list->push_back(s.ptr());
  dict->insert("list", list.ptr());
  CHECK(!refusal([&] { list->push_back(list.ptr()); }).empty());
  CHECK(!refusal([&] { list->insert(0, dict.ptr()); }).empty());
  CHECK(list->size() == 1);
  CHECK(list->children().size() == 1);
  CHECK(!refusal([&] { dict->insert("list", dict.ptr()); }).empty());
  CHECK(dict->modules().size() == 3);
}

TEST_CASE("modules may share a child") {
  const auto top = std::make_shared<Part>(), left = std::make_shared<Part>(), right = std::make_shared<Part>(),
             shared = std::make_shared<Part>();
  left->register_module("shared", shared);
  right->register_module("shared", shared);
  top->register_module("left", left);
  top->register_module("right", right);
  CHECK(top->parameters().size() == 4);
  CHECK(top->modules().size() == 5);
}
