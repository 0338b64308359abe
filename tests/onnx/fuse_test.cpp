// Nodes that become one: behind convolutions while a model is loaded, and by nn::fuse.
#include <doctest/doctest.h>

#include <cmath>

#include "block_model.h"
#include "tandem/tandem.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::test;
using tandem::onnx::Model;
using Elements = ::onnx::TensorProto;

TEST_CASE("what follows a convolution is fused without changing a bit") {
  manual_seed(1);
  const ModelBuilder m = block(false);
  Model model = m.load();
  CHECK(node_count(model) == 2);
  const Tensor x = randn({2, 4, 6, 6});
  const auto p = model->named_parameters();
  const auto conv = [&](const Tensor& in, const std::string& name) {
    return conv2d(in, p[name + ".weight"], p[name + ".bias"], 1, 1);
  };
  const Tensor wanted = relu(x + conv(relu(conv(x, "c1")), "c2"));
  CHECK(equal(model(x), wanted));
  {
    const NoGradGuard no_grad;
    CHECK(equal(model(x), wanted));
  }
  // With gradients, too.
  const auto got = autograd::grad({model(x).sum()}, model->parameters());
  const auto expected = autograd::grad({wanted.sum()}, model->parameters());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(allclose(got[i], expected[i]));
}

TEST_CASE("a residual that is broadcast is not fused into the convolution's kernel") {
  ModelBuilder m;
  m.input("x", Elements::FLOAT, {"1", "1", "4", "4"}).input("r", Elements::FLOAT, {"N", "1", "4", "4"}).output("y");
  m.floats("w", {1, 1, 1, 1}, {2});
  m.node("Conv", {"x", "w"}, {"c"});
  m.node("Add", {"c", "r"}, {"s"});
  m.node("Relu", {"s"}, {"y"});
  const Tensor x = randn({1, 1, 4, 4}), r = randn({3, 1, 4, 4});
  const NoGradGuard no_grad;
  CHECK(equal(m.load()->forward(x, r), relu(x * 2 + r)));
}

TEST_CASE("what follows the activation of a convolution is not fused") {
  ModelBuilder m;
  m.input("x", Elements::FLOAT, {"N", "1", "4", "4"}).output("y").floats("w", {1, 1, 1, 1}, {2});
  m.node("Conv", {"x", "w"}, {"c"});
  m.node("Relu", {"c"}, {"r"});
  m.node("Add", {"r", "x"}, {"y"});
  const Tensor x = randn({2, 1, 4, 4}), wanted = relu(x * 2) + x;
  Model model = m.load();
  CHECK(equal(model(x), wanted));
  nn::fuse(model);
  CHECK(equal(model(x), wanted));

  ModelBuilder two(12);
  two.input("x", Elements::FLOAT, {"N", "1", "4", "4"}).output("y").floats("w", {1, 1, 1, 1}, {9});
  two.floats("low", {}, {0}).floats("high", {}, {6});
  two.node("Conv", {"x", "w"}, {"c"});
  two.node("Add", {"c", "x"}, {"s"});
  two.node("Relu", {"s"}, {"r"});
  two.node("Clip", {"r", "low", "high"}, {"y"});
  CHECK(equal(two.load()(x), relu(x * 9 + x).clamp_max(6)));
}

TEST_CASE("nn::fuse folds normalisations") {
  manual_seed(2);
  Model model = block(true).load();
  const Tensor x = randn({2, 4, 6, 6});
  const Tensor before = model(x);
  CHECK(node_count(model) == 7);  // of the activations and additions none follows its convolution
  nn::fuse(model);
  CHECK(node_count(model) == 2);
  CHECK(model->named_parameters().keys() == std::vector<std::string>{"c1.weight", "c1.b", "c2.weight", "c2.b"});
  CHECK(model->buffers().empty());
  CHECK(allclose(model(x), before, 1e-4, 1e-4));
  CHECK(equal(std::dynamic_pointer_cast<tandem::onnx::ModelImpl>(model->clone())->forward(x), model(x)));
  Model training = block(true).load();
  training->train();
  CHECK(error_of([&] { nn::fuse(training); }) != "");
}

TEST_CASE("nn::fuse finds products with a bias, attention, gelu and gates") {
  manual_seed(3);
  ModelBuilder m;
  m.input("x", Elements::FLOAT, {"N", "5", "8"}).output("y").output("z");
  const auto number = [&](const std::string& name, float value) {
    auto& node = m.node("Constant", {}, {name});
    attribute(node, "value_float", ::onnx::AttributeProto::FLOAT).set_f(value);
  };
  number("root2", 1.41421356f);
  number("one", 1);
  number("half", 0.5f);
  number("scale", 0.35355339f);
  std::vector<float> weights(64), biases(8, 0.25f);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = std::sin(static_cast<float>(i));
  m.floats("w", {8, 8}, weights).floats("b", {8}, biases).floats("mask", {5, 5}, std::vector<float>(25, 0.5f));
  m.node("MatMul", {"x", "w"}, {"p"});
  m.node("Add", {"b", "p"}, {"h"});
  // gelu(h), as opset 17 has it
  m.node("Div", {"h", "root2"}, {"g1"});
  m.node("Erf", {"g1"}, {"g2"});
  m.node("Add", {"g2", "one"}, {"g3"});
  m.node("Mul", {"h", "g3"}, {"g4"});
  m.node("Mul", {"g4", "half"}, {"gelu"});
  // attention of h to itself
  auto& transpose = m.node("Transpose", {"h"}, {"t"});
  set(transpose, "perm", {0, 2, 1});
  m.node("MatMul", {"gelu", "t"}, {"s1"});
  m.node("Mul", {"s1", "scale"}, {"s2"});
  m.node("Add", {"s2", "mask"}, {"s3"});
  set(m.node("Softmax", {"s3"}, {"s4"}), "axis", -1);
  m.node("MatMul", {"s4", "x"}, {"y"});
  m.node("Sigmoid", {"x"}, {"q"});
  m.node("Mul", {"x", "q"}, {"z"});
  Model model = m.load();
  const Tensor x = randn({3, 5, 8});
  const auto before = model->forward(std::vector<IValue>{x});
  CHECK(node_count(model) == 15);
  nn::fuse(model);
  CHECK(node_count(model) == 5);  // Linear, Gelu, Transpose, Attention, Swish
  const auto after = model->forward(std::vector<IValue>{x});
  for (std::size_t i = 0; i < 2; ++i) CHECK(allclose(after[i].toTensor(), before[i].toTensor(), 1e-5, 1e-5));
}

TEST_CASE("nn::fuse leaves alone what only resembles a pattern") {
  manual_seed(6);
  struct Near {
    std::string what;
    std::function<void(ModelBuilder&)> build;  // computes y of x [2, 4, 4]
    int64_t version = 17;
  };
  const auto number = [](ModelBuilder& m, const std::string& name, float value) {
    attribute(m.node("Constant", {}, {name}), "value_float", ::onnx::AttributeProto::FLOAT).set_f(value);
  };
  const auto weights = [](ModelBuilder& m) {
    m.floats("w", {4, 4}, {1, 2, 0, 1, 0, 1, 1, 2, 1, 0, 1, 0, 2, 1, 0, 1}).floats("b", {4}, {1, 2, 3, 4});
  };
  // gelu(x) but for one number, or with tanh.
  const auto gelu = [&](float root, float plus, float half) {
    return [=](ModelBuilder& m) {
      number(m, "root", root);
      number(m, "plus", plus);
      number(m, "half", half);
      m.node("Div", {"x", "root"}, {"g1"});
      m.node("Erf", {"g1"}, {"g2"});
      m.node("Add", {"g2", "plus"}, {"g3"});
      m.node("Mul", {"x", "g3"}, {"g4"});
      m.node("Mul", {"g4", "half"}, {"y"});
    };
  };
  const auto tanh_gelu = [&](float scale, float cube, float power, const std::string& summed) {
    return [=](ModelBuilder& m) {
      number(m, "scale", scale);
      number(m, "cube", cube);
      number(m, "power", power);
      number(m, "one", 1);
      number(m, "half", 0.5f);
      m.node("Pow", {"x", "power"}, {"p"});
      m.node("Mul", {"p", "cube"}, {"q"});
      m.node("Neg", {"x"}, {"other"});
      m.node("Add", {summed, "q"}, {"s"});
      m.node("Mul", {"s", "scale"}, {"t"});
      m.node("Tanh", {"t"}, {"g2"});
      m.node("Add", {"g2", "one"}, {"g3"});
      m.node("Mul", {"x", "g3"}, {"g4"});
      m.node("Mul", {"g4", "half"}, {"g5"});
      m.node("Add", {"g5", "other"}, {"y"});
    };
  };
  const float root2 = 1.41421356f, tanh_scale = 0.79788456f, cubed = 0.044715f;
  const auto attention = [](int64_t axis, bool turned, bool twice) {
    return [=](ModelBuilder& m) {
      m.node("MatMul", {"x", "x"}, {"s"});
      set(m.node("Softmax", {"s"}, {"p"}), "axis", axis);
      m.node("MatMul", turned ? std::vector<std::string>{"x", "p"} : std::vector<std::string>{"p", "x"}, {"o"});
      m.node("Add", {"o", twice ? "p" : "x"}, {"y"});
    };
  };
  const std::vector<Near> cases = {
      {"a computed matrix",
       [&](ModelBuilder& m) {
         weights(m);
         m.node("Neg", {"x"}, {"n"});
         m.node("MatMul", {"x", "n"}, {"p"});
         m.node("Add", {"p", "b"}, {"y"});
       }},
      {"a computed bias",
       [&](ModelBuilder& m) {
         weights(m);
         m.node("Neg", {"x"}, {"n"});
         m.node("MatMul", {"x", "w"}, {"p"});
         m.node("Add", {"p", "n"}, {"y"});
       }},
      {"a bias of rows",
       [&](ModelBuilder& m) {
         weights(m);
         m.floats("rows", {4, 1}, {1, 2, 3, 4});
         m.node("MatMul", {"x", "w"}, {"p"});
         m.node("Add", {"p", "rows"}, {"y"});
       }},
      {"one number as a bias",
       [&](ModelBuilder& m) {
         weights(m);
         m.floats("single", {1}, {3});
         m.node("MatMul", {"x", "w"}, {"p"});
         m.node("Add", {"p", "single"}, {"y"});
       }},
      {"a product that is read twice",
       [&](ModelBuilder& m) {
         weights(m);
         m.node("MatMul", {"x", "w"}, {"p"});
         m.node("Add", {"p", "b"}, {"h"});
         m.node("Mul", {"h", "p"}, {"y"});
       }},
      {"another root", gelu(1.5f, 1, 0.5f)},
      {"another summand", gelu(root2, 1.5f, 0.5f)},
      {"another factor", gelu(root2, 1, 0.25f)},
      {"another scale of tanh", tanh_gelu(0.75f, cubed, 3, "x")},
      {"another factor of the cube", tanh_gelu(tanh_scale, 0.05f, 3, "x")},
      {"a square", tanh_gelu(tanh_scale, cubed, 2, "x")},
      {"another summand of the cube", tanh_gelu(tanh_scale, cubed, 3, "other")},
      {"a gate of another value",
       [](ModelBuilder& m) {
         m.node("Neg", {"x"}, {"n"});
         m.node("Sigmoid", {"x"}, {"s"});
         m.node("Mul", {"s", "n"}, {"y"});
       }},
      {"a hard gate of another slope",
       [](ModelBuilder& m) {
         m.node("HardSigmoid", {"x"}, {"s"});
         m.node("Mul", {"s", "x"}, {"y"});
       }},
      {"softmax of columns", attention(1, false, false)},
      {"softmax on the other side", attention(-1, true, false)},
      {"weights that are read twice", attention(-1, false, true)},
  };
  const Tensor x = randn({2, 4, 4});
  for (const Near& each : cases) {
    CAPTURE(each.what);
    ModelBuilder m(each.version);
    m.input("x", Elements::FLOAT, {"2", "4", "4"}).output("y");
    each.build(m);
    Model model = m.load();
    const std::size_t nodes = node_count(model);
    const Tensor before = model(x);
    nn::fuse(model);
    CHECK(node_count(model) == nodes);
    CHECK(equal(model(x), before));
  }
  // The same with the right numbers.
  for (const auto& [build, left] : std::vector<std::pair<std::function<void(ModelBuilder&)>, std::size_t>>{
           {gelu(root2, 1, 0.5f), 1}, {tanh_gelu(tanh_scale, cubed, 3, "x"), 3}, {attention(-1, false, false), 2}}) {
    ModelBuilder m;
    m.input("x", Elements::FLOAT, {"2", "4", "4"}).output("y");
    build(m);
    Model model = m.load();
    const Tensor before = model(x);
    nn::fuse(model);
    CHECK(node_count(model) == left);
    CHECK(allclose(model(x), before, 1e-4, 1e-4));
  }
}

TEST_CASE("a normalisation behind a sum is not folded into the convolution") {
  ModelBuilder m;
  m.input("x", Elements::FLOAT, {"N", "1", "4", "4"}).output("y").floats("w", {1, 1, 1, 1}, {2}).floats("wb", {1}, {1});
  for (const auto& [name, value] : std::vector<std::pair<std::string, float>>{{"g", 2}, {"b", 3}, {"m", 1}, {"v", 4}})
    m.floats(name, {1}, {value});
  m.node("Conv", {"x", "w", "wb"}, {"c"});
  m.node("Add", {"c", "x"}, {"s"});
  m.node("BatchNormalization", {"s", "g", "b", "m", "v"}, {"y"});
  Model model = m.load();
  const Tensor x = randn({2, 1, 4, 4}), before = model(x);
  CHECK(allclose(before, (x * 3 + 1 - 1) * 2 / std::sqrt(4 + 1e-5) + 3, 1e-4, 1e-4));
  nn::fuse(model);
  CHECK(allclose(model(x), before, 1e-5, 1e-5));
}
