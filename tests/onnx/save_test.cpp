// What an exported graph consists of, and what cannot be exported. export_test.py compares what exports compute.
#include "tandem/onnx/save.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "tandem/onnx/export/functions.h"
#include "tandem/onnx/export/geometry.h"
#include "tandem/onnx/export/model_writer.h"
#include "tandem/onnx/onnx.h"
#include "tandem/onnx/proto.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"
#include "tandem/tests/temp_folder.h"

namespace tandem {
namespace {

namespace proto = ::onnx;

using Tensors = std::vector<Tensor>;

proto::ModelProto read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  proto::ModelProto model;
  REQUIRE(model.ParseFromString(text.str()));
  return model;
}

struct Nothing : nn::Module {};

// The file of a function of one tensor.
proto::ModelProto exported(const std::function<Tensor(const Tensor&)>& f, const Tensor& x,
                           const onnx::SaveOptions& options = {}) {
  test::TempFolder folder;
  Nothing module;
  onnx::save(
      module, [&](const Tensors& inputs) { return Tensors{f(inputs[0])}; }, {x}, folder / "f.onnx", options);
  return read(folder / "f.onnx");
}

// "Gemm Relu Gemm", without constants.
std::string operators(const proto::ModelProto& model) {
  std::string text;
  for (const auto& node : model.graph().node())
    if (node.op_type() != "Constant") text += (text.empty() ? "" : " ") + node.op_type();
  return text;
}

std::string refusal(const std::function<Tensor(const Tensor&)>& f, const Tensor& x,
                    const onnx::SaveOptions& options = {}) {
  try {
    exported(f, x, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string sizes_of(const proto::ValueInfoProto& value) {
  std::string text;
  for (const auto& dim : value.type().tensor_type().shape().dim())
    text += (text.empty() ? "" : " ") + (dim.has_dim_value()   ? std::to_string(dim.dim_value())
                                         : dim.has_dim_param() ? dim.dim_param()
                                                               : "?");
  return text;
}

}  // namespace

TEST_CASE("a perceptron: one node per layer, parameters by their names, any batch") {
  test::TempFolder folder;
  nn::Sequential net(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 2));
  onnx::save(net, {randn({3, 4})}, folder / "net.onnx", onnx::SaveOptions{.input_names = {"x"}});
  const proto::ModelProto model = read(folder / "net.onnx");
  CHECK(operators(model) == "Gemm Relu Gemm");
  CHECK(model.graph().initializer_size() == 4);
  CHECK(model.graph().initializer(0).name() == "0.weight");
  CHECK(model.graph().input(0).name() == "x");
  CHECK(sizes_of(model.graph().input(0)) == "batch 4");
  CHECK(model.graph().output(0).name() == "output");
  CHECK(sizes_of(model.graph().output(0)) == "batch 2");
  CHECK(model.functions_size() == 0);
  CHECK(folder.entries() == 1);
}

TEST_CASE("the module runs in eval mode, and gets its modes back") {
  test::TempFolder folder;
  nn::Sequential net(nn::Linear(4, 4), nn::Dropout(0.5), nn::BatchNorm1d(4));
  net->train();
  net[2]->as<nn::BatchNorm1dImpl>()->eval();
  onnx::save(net, {randn({3, 4})}, folder / "net.onnx");
  CHECK(operators(read(folder / "net.onnx")) == "Gemm BatchNormalization");
  CHECK(net->is_training());
  CHECK(net[1]->is_training());
  CHECK_FALSE(net[2]->is_training());
}

TEST_CASE("several inputs and outputs") {
  struct TwoImpl : nn::Module {
    std::tuple<Tensor, std::vector<Tensor>> forward(const Tensor& a, const Tensor& b) { return {a + b, {a - b, a}}; }
  };
  test::TempFolder folder;
  onnx::save(std::make_shared<TwoImpl>(), {randn({2, 3}), randn({2, 3})}, folder / "two.onnx");
  const proto::ModelProto model = read(folder / "two.onnx");
  CHECK(operators(model) == "Add Sub Identity");
  CHECK(model.graph().input(1).name() == "input1");
  CHECK(model.graph().output(2).name() == "output2");
  CHECK_THROWS_WITH_AS(onnx::save(std::make_shared<TwoImpl>(), {randn({2, 3})}, folder / "one.onnx"),
                       doctest::Contains("does not take 1 tensors"), Error);
  CHECK_THROWS_WITH_AS(onnx::save(std::make_shared<TwoImpl>(), {randn({2, 3}), randn({2, 3})}, folder / "one.onnx",
                                  onnx::SaveOptions{.input_names = {"a"}}),
                       doctest::Contains("1 names for 2 inputs"), Error);
  CHECK(folder.entries() == 1);
}

TEST_CASE("views are found in the geometry of kernels' arguments") {
  const Tensor x = randn({2, 3, 4});
  CHECK(operators(exported([](const Tensor& t) { return t.transpose(1, 2).relu(); }, x)) == "Transpose Relu");
  CHECK(operators(exported([](const Tensor& t) { return t.view({-1, 12}).relu(); }, x)) == "Reshape Relu");
  CHECK(operators(exported([](const Tensor& t) { return t.narrow(1, 1, 2).relu(); }, x)) == "Slice Relu");
  CHECK(operators(exported([](const Tensor& t) { return t.select(1, 1).relu(); }, x)) == "Slice Reshape Relu");
  CHECK(operators(exported([](const Tensor& t) { return t.unfold(2, 2, 1).relu(); }, x)) == "Gather Relu");
}

TEST_CASE("writes into parts become Concat, Pad or slices around them") {
  const Tensor x = randn({2, 4});
  const auto halves = [](const Tensor& t) {
    const Tensor out = empty({t.size(0), 8});
    out.narrow(1, 0, 4).copy_(t);
    out.narrow(1, 4, 4).copy_(-t);
    return out;
  };
  CHECK(operators(exported(halves, x)) == "Neg Concat");
  const auto padded = [](const Tensor& t) {
    const Tensor out = zeros({t.size(0), 6});
    out.narrow(1, 1, 4).copy_(t);
    return out;
  };
  CHECK(operators(exported(padded, x, onnx::SaveOptions{.dynamic_batch = false})) == "Pad");
  const auto replaced = [](const Tensor& t) {
    const Tensor out = t.exp();
    out.narrow(1, 1, 1).zero_();
    return out;
  };
  CHECK(operators(exported(replaced, x, onnx::SaveOptions{.dynamic_batch = false})) == "Exp Expand Slice Slice Concat");
}

TEST_CASE("sizes that depend on the batch are computed") {
  const Tensor x = randn({3, 4});
  CHECK(operators(exported(
            [](const Tensor& t) {
              return t.unsqueeze(1).expand({-1, 2, 4}).reshape({-1, 4});
            },
            x)) == "Reshape Expand Reshape");
  const proto::ModelProto rows = exported([](const Tensor& t) { return t.view({1, -1}).relu(); }, x);
  CHECK(sizes_of(rows.graph().output(0)) == "1 ?");
  CHECK(operators(exported([](const Tensor& t) { return t / t.size(0); }, x)) == "Shape Reshape Cast Div");
  CHECK(operators(exported([](const Tensor& t) { return t + arange(t.size(0), kFloat).unsqueeze(1); }, x)) ==
        "Shape Reshape Range Reshape Cast Add");
}

TEST_CASE("a module without a batch, and one whose result depends on it") {
  const auto by_batch = [](const Tensor& t) { return t * std::sqrt(static_cast<double>(t.size(0))); };
  CHECK(refusal(by_batch, randn({3, 4})).find("kernel mul") != std::string::npos);
  CHECK(refusal(by_batch, randn({3, 4}), onnx::SaveOptions{.dynamic_batch = false}).empty());
  CHECK(refusal([](const Tensor& t) { return t.relu(); }, ones({})).find("dynamic_batch = false") != std::string::npos);
}

TEST_CASE("a module that takes one number of examples") {
  const std::string why = refusal([](const Tensor& t) { return t.view({3, 4}).relu(); }, randn({3, 4}));
  CHECK(why.find("4 examples instead of 3 (dimension 0 of input)") != std::string::npos);
  CHECK(why.find("dynamic_batch = false") != std::string::npos);
}

TEST_CASE("under autocast, weights are converted in the file") {
  test::TempFolder folder;
  nn::Sequential net(nn::Linear(4, 3));
  {
    const autocast::AutocastGuard guard(kCPU);
    onnx::save(net, {randn({2, 4})}, folder / "net.onnx");
  }
  CHECK(operators(read(folder / "net.onnx")) == "Cast Cast Cast Gemm");
}

TEST_CASE("values that the program reads, random numbers and unknown kernels are errors") {
  const Tensor x = rand({3, 4});
  CHECK(refusal([](const Tensor& t) { return t / t.sum().item<float>(); }, x).find("item()") != std::string::npos);
  CHECK(refusal([](const Tensor& t) { return t * ones({1}).item<float>(); }, x).empty());
  CHECK(refusal([](const Tensor& t) { return dropout(t, 0.5, true); }, x).find("eval mode") != std::string::npos);
  CHECK(refusal([](const Tensor& t) { return t.masked_select(t > 0.5); }, x).find("depend on values") !=
        std::string::npos);
  const auto repeated = [](const Tensor& t) { return ones({3, 2}).repeat_interleave(t, 0); };
  CHECK(refusal(repeated, tensor({1, 2, 1}), onnx::SaveOptions{.dynamic_batch = false}).find("integers of input") !=
        std::string::npos);
  const std::string missing = refusal([](const Tensor& t) { return t.lgamma() + std::get<0>(t.cummax(1)); }, x);
  CHECK(missing.find("lgamma") != std::string::npos);
  CHECK(missing.find("cummax") != std::string::npos);
}

TEST_CASE("a function of the domain tandem has a definition") {
  const proto::ModelProto model = exported([](const Tensor& t) { return silu(silu(t)); }, randn({2, 2}));
  REQUIRE(model.functions_size() == 1);
  CHECK(model.functions(0).name() == "silu");
  CHECK(model.functions(0).domain() == "tandem");
  CHECK(model.functions(0).node_size() == 2);
  CHECK(model.opset_import_size() == 2);
}

TEST_CASE("equal nodes are there once, a shared parameter too") {
  struct TiedImpl : nn::Module {
    TiedImpl() {
      weight = register_parameter("weight", randn({4, 4}));
      register_parameter("same", weight);
    }
    Tensor forward(const Tensor& x) { return mm(mm(x, weight).exp(), weight.t()) + mm(x, weight).exp(); }
    Tensor weight;
  };
  test::TempFolder folder;
  onnx::save(std::make_shared<TiedImpl>(), {randn({2, 4})}, folder / "tied.onnx");
  const proto::ModelProto model = read(folder / "tied.onnx");
  CHECK(operators(model) == "MatMul Exp Transpose MatMul Add");
  CHECK(model.graph().initializer_size() == 1);
}

TEST_CASE("a recurrent layer is one node, for sequences of any length") {
  test::TempFolder folder;
  onnx::save(nn::GRU(3, 4), {randn({5, 2, 3})}, folder / "gru.onnx");
  const proto::ModelProto model = read(folder / "gru.onnx");
  CHECK(operators(model).find("GRU") != std::string::npos);
  CHECK(operators(model).find("GRU", operators(model).find("GRU") + 1) == std::string::npos);
  CHECK(sizes_of(model.graph().output(0)) == "batch 2 4");
  CHECK(sizes_of(model.graph().output(1)) == "1 2 4");
}

TEST_CASE("a tensor of the module that forward() changes has the values from before") {
  struct CounterImpl : nn::Module {
    CounterImpl() { count = register_buffer("count", zeros({2})); }
    Tensor forward(const Tensor& x) { return x + count.add_(1); }
    Tensor count;
  };
  test::TempFolder folder;
  const auto counter = std::make_shared<CounterImpl>();
  CHECK_THROWS_WITH_AS(onnx::save(counter, {randn({3, 2})}, folder / "counter.onnx"), doctest::Contains("kernel add"),
                       Error);  // another value in each run
  CHECK(folder.entries() == 0);
}

TEST_CASE("bfloat16 keeps its bits") {
  test::TempFolder folder;
  nn::Sequential net(
      nn::Linear(6, 8), nn::GELU(), [](const Tensor& x) { return x * 0.1 + 0.3; },
      nn::LayerNorm(nn::LayerNormOptions({8})));
  net->to(kBFloat16);
  const Tensor x = randn({3, 6}).to(kBFloat16);
  onnx::save(net, {x}, folder / "net.onnx");
  NoGradGuard no_grad;
  CHECK(testing::identical(onnx::load(folder / "net.onnx")->forward(x), net->forward(x)));
}

TEST_CASE("a loaded model is exported again") {
  test::TempFolder folder;
  nn::Sequential net(nn::Conv2d(1, 2, 3), nn::ReLU(), nn::Flatten(), nn::Linear(72, 3));
  const Tensor x = randn({2, 1, 8, 8});
  onnx::save(net, {x}, folder / "a.onnx");
  onnx::Model model = onnx::load(folder / "a.onnx");
  onnx::save(model, {x}, folder / "b.onnx");
  CHECK(operators(read(folder / "b.onnx")) == operators(read(folder / "a.onnx")));
  NoGradGuard no_grad;
  CHECK(testing::identical(onnx::load(folder / "b.onnx")->forward(x), net->forward(x)));
}

TEST_CASE("weights that are too large for the file are in a second one") {
  using namespace onnx::exporter;
  test::TempFolder folder;
  Graph graph;
  graph.inputs.push_back(graph.add({.kind = Value::Kind::kInput, .sizes = {40}}));
  const Tensor weight = randn({40});
  const Id constant = graph.add({.kind = Value::Kind::kTensor, .sizes = {40}, .name = "weight", .tensor = weight});
  const Id sum = graph.add({.sizes = {40}});
  graph.nodes.push_back({.op = "Add", .inputs = {graph.inputs[0], constant}, .outputs = {sum}});
  graph.outputs.push_back(sum);
  write_model(graph, folder / "large.onnx", {.input_names = {"x"}, .output_names = {"y"}, .max_embedded_bytes = 64});
  CHECK(folder.entries() == 2);
  CHECK(read(folder / "large.onnx").graph().initializer(0).external_data_size() == 3);
  NoGradGuard no_grad;
  CHECK(testing::identical(onnx::load(folder / "large.onnx")->forward(ones({40})), weight + 1));
}

TEST_CASE("a geometry in another") {
  using namespace onnx::exporter;
  const Geometry from = row_major(kFloat, {4, 6});
  const auto plan = plan_view(from, {kFloat, {2, 3}, {6, 2}, 7});  // rows 1 and 2, columns 1, 3 and 5
  REQUIRE(plan.has_value());
  REQUIRE(plan->axes.size() == 3);
  CHECK(plan->axes[0].start == 1);
  CHECK(plan->axes[0].size == 4);
  CHECK(plan->axes[1].is_whole());
  CHECK(plan->axes[2].start == 1);
  CHECK_FALSE(plan_view(from, {kFloat, {25}, {1}, 0}).has_value());
  CHECK(is_dense({kFloat, {2, 3}, {1, 2}, 0}));
  CHECK_FALSE(is_dense({kFloat, {2, 3}, {4, 1}, 0}));
}

}  // namespace tandem
