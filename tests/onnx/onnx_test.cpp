// ONNX models as modules: names, modes, devices, control flow, functions, what is refused. What the operators compute
// is compared with ONNX's own tests by backend_test.py.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <sstream>

#include "block_model.h"
#include "tandem/onnx/save.h"
#include "tandem/tandem.h"
#include "tandem/tests/parallel/logical_devices.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::test;
using tandem::onnx::Model;
using Elements = ::onnx::TensorProto;

namespace {

// y = relu(x w + b) as a Gemm with transB, with PyTorch's names.
ModelBuilder layer() {
  ModelBuilder m;
  m.input("x", Elements::FLOAT, {"N", "2"}).output("y", Elements::FLOAT, {"N", "3"});
  m.floats("model.fc.weight", {3, 2}, {1, 2, 3, 4, 5, 6}).floats("model.fc.bias", {3}, {-1, 0, 1});
  set(m.node("Gemm", {"x", "model.fc.weight", "model.fc.bias"}, {"h"}), "transB", 1);
  m.node("Relu", {"h"}, {"y"});
  return m;
}

std::string load_error(const ModelBuilder& m) {
  return error_of([&] { m.load(); });
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a model is a module whose state has the names of the file") {
  Model model = layer().load();
  CHECK(!model->is_training());
  CHECK(model->named_parameters().keys() == std::vector<std::string>{"model.fc.weight", "model.fc.bias"});
  CHECK(model->inputs()[0].type == "float32 [N, 2]");
  CHECK(model->outputs()[0].name == "y");
  const Tensor x = tensor({1.f, -1.f, 0.5f, 2.f}).view({2, 2});
  const Tensor weight = model->named_parameters()["model.fc.weight"], bias = model->named_parameters()["model.fc.bias"];
  const Tensor wanted = relu(linear(x, weight, bias));
  CHECK(equal(model->forward(x), wanted));
  CHECK(equal(model(x), wanted));
  const auto by_name = model->forward(OrderedDict<std::string, IValue>{{"x", IValue(x)}});
  CHECK(equal(by_name["y"].toTensor(), wanted));
}

TEST_CASE("a loaded model trains, moves, is cloned and saved") {
  Model model = layer().load();
  const Tensor x = randn({8, 2}), target = zeros({8, 3});
  optim::SGD sgd(model->parameters(), optim::SGDOptions(0.01));
  const double before = mse_loss(model(x), target).item<double>();
  for (int i = 0; i < 50; ++i) {
    sgd.zero_grad();
    mse_loss(model(x), target).backward();
    sgd.step();
  }
  CHECK(mse_loss(model(x), target).item<double>() < before);

  const auto copy = std::dynamic_pointer_cast<tandem::onnx::ModelImpl>(model->clone());
  CHECK(equal(copy->forward(x), model(x)));
  copy->parameters()[0].data().fill_(0);
  CHECK(!equal(copy->forward(x), model(x)));

  Model other = layer().load();
  other->load_state_dict(model->state_dict());
  CHECK(equal(other(x), model(x)));
  other->to(kDouble);
  CHECK((other->forward(x.to(kDouble)).scalar_type() == kDouble));

  nn::Sequential sequence(model, nn::ReLU());
  CHECK(equal(sequence->forward(x), model(x)));
}

TEST_CASE("a model moves to another device, and its shapes stay on the host") {
  const LogicalDevices devices(2);
  const Device device = cpu_device(1);
  ModelBuilder m;
  m.input("x", Elements::FLOAT, {"N", "2", "2"}).output("y").integers("shape", {0, -1}).floats("w", {4}, {1, 2, 3, 4});
  m.node("Reshape", {"x", "shape"}, {"flat"});
  m.node("Mul", {"flat", "w"}, {"y"});
  Model model = m.load();
  CHECK(model->named_parameters().keys() == std::vector<std::string>{"w"});
  CHECK(model->buffers().empty());
  model->to(device);
  const Tensor y = model(ones({3, 2, 2}, TensorOptions(device)));
  CHECK(y.device() == device);
  CHECK(y.sizes() == IntArrayRef({3, 4}));
}

TEST_CASE("batch normalisation uses and tracks the batch in training mode only") {
  ModelBuilder m;
  m.input("x", Elements::FLOAT, {"N", "2"}).output("y");
  m.floats("bn.weight", {2}, {1, 1}).floats("bn.bias", {2}, {0, 0});
  m.floats("bn.running_mean", {2}, {0, 0}).floats("bn.running_var", {2}, {1, 1});
  m.node("BatchNormalization", {"x", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"}, {"y"});
  Model model = m.load();
  CHECK(model->named_buffers().keys() == std::vector<std::string>{"bn.running_mean", "bn.running_var"});
  const Tensor x = randn({64, 2}) * 3 + 5;
  CHECK(allclose(model(x), x, 1e-4, 1e-4));
  CHECK(model->named_buffers()["bn.running_mean"].sum().item<double>() == 0);
  model->train();
  CHECK(model(x).mean().abs().item<double>() < 1e-4);
  CHECK(model->named_buffers()["bn.running_mean"].sum().item<double>() > 0.5);
}

TEST_CASE("nodes that the file has in training mode follow the module's mode") {
  ModelBuilder m;
  m.input("x", Elements::FLOAT, {"N", "4"}).output("y").floats("ratio", {}, {0.5f});
  auto* always = m.graph().add_initializer();
  always->set_name("always");
  always->set_data_type(Elements::BOOL);
  always->add_int32_data(1);
  m.node("Dropout", {"x", "ratio", "always"}, {"y"});
  Model dropout = m.load();
  const Tensor x = ones({250, 4});
  CHECK(equal(dropout(x), x));
  dropout->train();
  const auto dropped = (dropout(x) == 0).sum().item<int64_t>();
  CHECK(dropped > 400);
  CHECK(dropped < 600);
  dropout->eval();
  const TempFolder folder;
  tandem::onnx::save(dropout, {x}, folder / "y.onnx");
  CHECK(equal(tandem::onnx::load(folder / "y.onnx")->forward(x), x));
  ModelBuilder old(6);
  old.input("x", Elements::FLOAT, {"N", "4"}).output("y").node("Dropout", {"x"}, {"y"});
  CHECK(equal(old.load()->forward(x), x));

  manual_seed(4);
  for (const int64_t version : {17, 9}) {
    CAPTURE(version);
    Model norm = block(true, true, version).load();
    const Tensor images = randn({3, 4, 6, 6}), first = images.narrow(0, 0, 1);
    CHECK(allclose(norm(images).narrow(0, 0, 1), norm(first), 1e-5, 1e-5));
    const auto buffers = norm->named_buffers();
    const Tensor mean = buffers["c1.mean"].clone();
    norm->train();
    const Tensor trained = norm(images);
    CHECK_FALSE(allclose(trained.narrow(0, 0, 1), norm(first), 1e-2, 1e-2));
    CHECK_FALSE(allclose(buffers["c1.mean"], mean));
    norm->eval();
    const Tensor before = norm(images);
    nn::fuse(norm);
    CHECK(node_count(norm) == 2);
    CHECK(allclose(norm(images), before, 1e-4, 1e-4));
  }
}

TEST_CASE("a node in training mode tracks ONNX's running variance, of the whole batch") {
  ModelBuilder m;
  m.input("x", Elements::FLOAT, {"N", "1"}).output("y").output("mean").output("var");
  for (const char* name : {"g", "b", "m", "v"}) m.floats(name, {1}, {*name == 'g' || *name == 'v' ? 1.0f : 0.0f});
  set(m.node("BatchNormalization", {"x", "g", "b", "m", "v"}, {"y", "mean", "var"}), "training_mode", 1);
  Model model = m.load();
  model->train();
  const Tensor x = tensor({1.0f, 3.0f}).view({2, 1});
  const auto out = model->forward(std::vector<IValue>{x});
  CHECK(out[1].toTensor().item<float>() == doctest::Approx(0.1 * 2));
  CHECK(out[2].toTensor().item<float>() == doctest::Approx(0.9 * 1 + 0.1 * 1));
  CHECK(equal(model->named_buffers()["v"], out[2].toTensor()));
  model->eval();
  const auto kept = model->forward(std::vector<IValue>{x});
  CHECK(equal(kept[2].toTensor(), out[2].toTensor()));
}

TEST_CASE("a result that is a constant can be written") {
  ModelBuilder m;
  m.input("x", Elements::FLOAT, {"N"}).output("y").output("z");
  auto& node = m.node("Constant", {}, {"z"});
  attribute(node, "value_int", ::onnx::AttributeProto::INT).set_i(3);
  m.node("Relu", {"x"}, {"y"});
  Model model = m.load();
  for (int i = 0; i < 2; ++i) {
    const Tensor z = model->forward(std::vector<IValue>{ones({1})})[1].toTensor();
    CHECK(z.item<int64_t>() == 3);
    z.fill_(4);
  }
}

TEST_CASE("statistics behind an Identity, or in a function, are buffers; an exponent is a parameter") {
  ModelBuilder m;
  m.input("x", Elements::FLOAT, {"N", "2"}).output("y");
  for (const char* name : {"g", "b", "mean", "var", "p"}) m.floats(name, {2}, {1, 2});
  m.node("Identity", {"mean"}, {"mean2"});
  m.node("BatchNormalization", {"x", "g", "b", "mean2", "var"}, {"n"});
  m.node("Pow", {"n", "p"}, {"y"});
  Model model = m.load();
  CHECK(model->named_buffers().keys() == std::vector<std::string>{"mean", "var"});
  CHECK(model->named_parameters().keys() == std::vector<std::string>{"g", "b", "p"});
}

TEST_CASE("equal vectors that PyTorch's exporter wrote once are trained apart, matrices together") {
  ModelBuilder m;
  m.input("x", Elements::FLOAT, {"N", "2"}).output("y");
  m.floats("a.g", {2}, {1, 1}).floats("a.b", {2}, {0, 0}).floats("w", {2, 2}, {1, 2, 3, 4});
  m.node("Identity", {"a.g"}, {"a.var"});
  m.node("Identity", {"a.b"}, {"a.mean"});
  m.node("Identity", {"a.g"}, {"b.g"});
  m.node("Identity", {"a.b"}, {"b.b"});
  m.node("Identity", {"a.b"}, {"b.mean"});
  m.node("Identity", {"a.g"}, {"b.var"});
  m.node("Identity", {"w"}, {"w2"});
  m.node("MatMul", {"x", "w"}, {"h"});
  m.node("BatchNormalization", {"h", "a.g", "a.b", "a.mean", "a.var"}, {"n"});
  m.node("MatMul", {"n", "w2"}, {"o"});
  m.node("BatchNormalization", {"o", "b.g", "b.b", "b.mean", "b.var"}, {"y"});
  Model model = m.load();
  CHECK(model->named_parameters().keys() == std::vector<std::string>{"w", "a.g", "a.b", "b.g", "b.b"});
  CHECK(model->named_buffers().keys() == std::vector<std::string>{"a.var", "a.mean", "b.mean", "b.var"});
  model->train();
  optim::SGD sgd(model->parameters(), 0.1);
  (model(randn({8, 2})) * rand({8, 2})).sum().backward();
  sgd.step();
  CHECK_FALSE(equal(model->named_parameters()["a.g"], model->named_parameters()["b.g"]));
}

TEST_CASE("attributes of old files do not say their type") {
  using Type = ::onnx::AttributeProto;
  const auto constant = [](const std::string& attribute_name, const std::function<void(Type&)>& fill) {
    ModelBuilder m;
    m.input("x", Elements::FLOAT, {"N"}).output("y");
    fill(attribute(m.node("Constant", {}, {"y"}), attribute_name, Type::UNDEFINED));
    m.node("Relu", {"x"}, {"unused"});
    return m.load()->forward(std::vector<IValue>{ones({1})})[0].toTensor();
  };
  CHECK(equal(constant("value_int", [](Type& a) { a.set_i(3); }), full({}, 3, kLong)));
  CHECK(equal(constant("value_float", [](Type& a) { a.set_f(0.5f); }), full({}, 0.5f)));
  CHECK(equal(constant("value_ints",
                       [](Type& a) {
                         a.add_ints(3);
                         a.add_ints(4);
                       }),
              tensor({3, 4}, kLong)));
  CHECK(equal(constant("value_floats", [](Type& a) { a.add_floats(0.5f); }), tensor({0.5f})));
  CHECK(equal(constant("value",
                       [](Type& a) {
                         a.mutable_t()->set_data_type(Elements::FLOAT);
                         a.mutable_t()->add_float_data(2);
                       }),
              full({}, 2.0f)));
  CHECK(has(error_of([&] { constant("value_string", [](Type& a) { a.set_s("text"); }); }), "has no number or tensor"));
  CHECK(has(error_of([&] { constant("value_strings", [](Type& a) { a.add_strings("text"); }); }),
            "has no number or tensor"));
  CHECK(has(error_of([&] { constant("value", [](Type& a) { a.mutable_g()->set_name("g"); }); }),
            "has a graph as its value"));
}

TEST_CASE("loops, scans and maps over sequences") {
  const Tensor x = tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}).view({2, 3});
  // Doubles v while it is below 10, and keeps all of them.
  const auto loop = [](bool trips, bool condition) {
    ModelBuilder m;
    m.input("n", Elements::INT64, {})
        .input("go", Elements::BOOL, {})
        .input("v", Elements::FLOAT, {})
        .output("last")
        .output("all");
    auto& node = m.node("Loop", {trips ? "n" : "", condition ? "go" : "", "v"}, {"last", "all"});
    GraphBuilder body(attribute(node, "body", ::onnx::AttributeProto::GRAPH).mutable_g());
    body.input("i", Elements::INT64, {}).input("c", Elements::BOOL, {}).input("a", Elements::FLOAT, {});
    body.floats("limit", {}, {10});
    body.node("Add", {"a", "a"}, {"b"});
    body.node("Less", {"b", "limit"}, {"more"});
    body.node("Identity", {"b"}, {"scanned"});
    body.output("more").output("b").output("scanned");
    return m.load();
  };
  const auto values = [&](bool trips, bool condition, int64_t n, bool go) {
    const auto out =
        loop(trips, condition)->forward(std::vector<IValue>{full({}, n, kLong), full({}, go, kBool), full({}, 1.f)});
    return std::pair(out[0].toTensor().item<float>(), out[1].toTensor().numel());
  };
  CHECK(values(true, false, 5, true) == std::pair(32.f, int64_t{5}));
  CHECK(values(true, false, 1, true) == std::pair(2.f, int64_t{1}));
  CHECK(values(true, true, 5, true) == std::pair(16.f, int64_t{4}));
  CHECK(values(true, true, 2, true) == std::pair(4.f, int64_t{2}));
  CHECK(values(false, true, 0, true) == std::pair(16.f, int64_t{4}));
  CHECK(values(true, true, 5, false) == std::pair(1.f, int64_t{0}));
  CHECK(values(true, false, 0, true) == std::pair(1.f, int64_t{0}));
  CHECK(has(error_of([&] { values(false, false, 0, true); }),
            "a loop with neither a trip count nor a condition does not end"));

  for (const bool listed : {false, true}) {  // bodies may declare the counter as [1]
    const std::vector<std::string> sizes = listed ? std::vector<std::string>{"1"} : std::vector<std::string>();
    ModelBuilder m;
    m.input("n", Elements::INT64, {}).input("v", Elements::INT64, sizes).output("last");
    auto& node = m.node("Loop", {"n", "", "v"}, {"last"});
    GraphBuilder body(attribute(node, "body", ::onnx::AttributeProto::GRAPH).mutable_g());
    body.input("i", Elements::INT64, sizes).input("c", Elements::BOOL, sizes).input("a", Elements::INT64, sizes);
    body.node("Add", {"a", "i"}, {"b"});
    body.output("c").output("b");
    const Tensor start = listed ? zeros({1}, kLong) : zeros({}, kLong);
    const Tensor sum = m.load()->forward(std::vector<IValue>{full({}, 4, kLong), start})[0].toTensor();
    CHECK(sum.sizes() == start.sizes());
    CHECK(sum.item<int64_t>() == 6);
  }

  // Running sums of columns, from either side.
  const auto scan = [](const std::vector<std::pair<std::string, std::vector<int64_t>>>& lists, int64_t count = 1) {
    ModelBuilder m;
    m.input("s", Elements::FLOAT, {"N"}).input("x", Elements::FLOAT, {"N", "M"}).output("last").output("all");
    auto& node = m.node("Scan", {"s", "x"}, {"last", "all"});
    set(node, "num_scan_inputs", count);
    for (const auto& [name, list] : lists) set(node, name, list);
    GraphBuilder body(attribute(node, "body", ::onnx::AttributeProto::GRAPH).mutable_g());
    body.input("a", Elements::FLOAT, {"N"}).input("b", Elements::FLOAT, {"N"});
    body.node("Add", {"a", "b"}, {"c"});
    body.node("Identity", {"c"}, {"d"});
    body.output("c").output("d");
    return m.load();
  };
  const auto scanned = [&](Model model, const Tensor& start) {
    const auto out = model->forward(std::vector<IValue>{start, x});
    return std::pair(out[0].toTensor(), out[1].toTensor());
  };
  const auto rows = scanned(scan({}), zeros({3}));
  CHECK(equal(rows.first, x.sum(0)));
  CHECK(equal(rows.second, x.cumsum(0)));
  const auto columns = scanned(scan({{"scan_input_axes", {1}}, {"scan_output_axes", {-1}}}), zeros({2}));
  CHECK(equal(columns.second, x.cumsum(1)));
  const auto back = scanned(scan({{"scan_input_directions", {1}}, {"scan_output_directions", {1}}}), zeros({3}));
  CHECK(equal(back.second, x.flip({0}).cumsum(0).flip({0})));
  CHECK(equal(scanned(scan({{"scan_input_directions", {1}}}), zeros({3})).second, x.flip({0}).cumsum(0)));
  CHECK(has(error_of([&] {
              scanned(scan({{"scan_input_axes", {0, 1}}}), zeros({3}));
            }),
            "scan_input_axes must have 1 numbers, it has 2"));
  CHECK(has(error_of([&] {
              scanned(scan({{"scan_output_axes", {0, 1}}}), zeros({3}));
            }),
            "scan_output_axes must have 1 numbers, it has 2"));
  CHECK(has(error_of([&] {
              scanned(scan({{"scan_input_axes", {2}}}), zeros({3}));
            }),
            "axis 2 is out of range for 2 dimensions"));
  CHECK(has(error_of([&] { scanned(scan({}, 3), zeros({3})); }), "num_scan_inputs 3 is out of range for 2 inputs"));
  CHECK(has(error_of([&] { scanned(scan({}, 0), zeros({3})); }), "num_scan_inputs 0 is out of range for 2 inputs"));

  ModelBuilder m;
  m.input("x", Elements::FLOAT, {"N", "M"}).input("y", Elements::FLOAT, {"M"}).output("z").output("w");
  m.node("SplitToSequence", {"x"}, {"parts"});
  auto& node = m.node("SequenceMap", {"parts", "y"}, {"z", "w"});
  GraphBuilder body(attribute(node, "body", ::onnx::AttributeProto::GRAPH).mutable_g());
  body.input("a", Elements::FLOAT, {"1", "M"}).input("b", Elements::FLOAT, {"M"});
  body.node("Mul", {"a", "b"}, {"c"});
  body.node("Neg", {"a"}, {"d"});
  body.output("c").output("d");
  const Tensor y = tensor({1.f, 10.f, 100.f});
  const auto mapped = m.load()->forward(std::vector<IValue>{x, y});
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(equal(mapped[0].toTensorVector()[i], x.narrow(0, static_cast<int64_t>(i), 1) * y));
    CHECK(equal(mapped[1].toTensorVector()[i], -x.narrow(0, static_cast<int64_t>(i), 1)));
  }
}

TEST_CASE("tensors of every dtype, as bytes and as numbers, and sparse ones") {
  const auto constant = [](const std::function<void(Elements&)>& fill) {
    ModelBuilder m;
    m.input("x", Elements::FLOAT, {"N"}).output("y");
    auto& node = m.node("Constant", {}, {"y"});
    fill(*attribute(node, "value", ::onnx::AttributeProto::TENSOR).mutable_t());
    m.node("Relu", {"x"}, {"unused"});
    return m.load()->forward(std::vector<IValue>{ones({1})})[0].toTensor();
  };
  const auto of = [](int type, const std::vector<int64_t>& sizes, const std::string& bytes) {
    return [=](Elements& t) {
      t.set_data_type(type);
      for (const int64_t size : sizes) t.add_dims(size);
      t.set_raw_data(bytes);
    };
  };
  const std::vector<std::pair<int, ScalarType>> types = {
      {Elements::FLOAT, kFloat},   {Elements::UINT8, kByte},       {Elements::INT8, kChar}, {Elements::INT16, kShort},
      {Elements::INT32, kInt},     {Elements::INT64, kLong},       {Elements::BOOL, kBool}, {Elements::FLOAT16, kHalf},
      {Elements::DOUBLE, kDouble}, {Elements::BFLOAT16, kBFloat16}};
  for (const auto& [type, dtype] : types) {
    const Tensor wanted = tensor({1.f, 0.f, 3.f}).to(dtype);
    CAPTURE(wanted);
    const std::string bytes(static_cast<const char*>(wanted.data_ptr()), wanted.nbytes());
    CHECK(equal(constant(of(type, {3}, bytes)), wanted));
    CHECK(has(error_of([&, type = type] { constant(of(type, {4}, bytes)); }),
              concat("its data have ", bytes.size(), " bytes, expected ", bytes.size() / 3 * 4)));
    const auto numbers = [&, type = type, dtype = dtype](Elements& t) {
      t.set_data_type(type);
      t.add_dims(3);
      for (int64_t i = 0; i < 3; ++i) {
        if (dtype == kFloat)
          t.add_float_data(wanted[i].item<float>());
        else if (dtype == kDouble)
          t.add_double_data(wanted[i].item<double>());
        else if (dtype == kLong)
          t.add_int64_data(wanted[i].item<int64_t>());
        else if (isReducedFloatingType(dtype))
          t.add_int32_data(static_cast<const uint16_t*>(wanted.data_ptr())[i]);
        else
          t.add_int32_data(static_cast<int32_t>(wanted[i].item<double>()));
      }
    };
    CHECK(equal(constant(numbers), wanted));
    CHECK(has(error_of([&] {
                constant([&](Elements& t) {
                  numbers(t);
                  t.set_dims(0, 2);
                });
              }),
              "it has 3 numbers, expected 2"));
  }
  CHECK(constant(of(Elements::FLOAT, {0, 3}, "")).sizes() == IntArrayRef({0, 3}));
  CHECK(equal(constant(of(Elements::BOOL, {2}, std::string("\2\0", 2))), tensor({true, false})));
  CHECK(equal(view_as_real(constant(of(Elements::COMPLEX64, {1}, std::string("\0\0\x80\x3f\0\0\0\x40", 8)))),
              tensor({1.f, 2.f}).view({1, 2})));
  for (const int type : std::vector<int>{Elements::UINT16, Elements::STRING, 23, 26})
    CHECK(has(error_of([&] { constant(of(type, {1}, "ab")); }), "Tandem has no dtype "));
  CHECK(has(error_of([&] { constant(of(99, {1}, "ab")); }), "Tandem has no dtype number 99"));
  CHECK(has(error_of([&] { constant(of(Elements::FLOAT, std::vector<int64_t>(65, 1), "abcd")); }),
            "dimensions, more than"));

  const auto sparse = [](const std::vector<int64_t>& sizes, const std::vector<int64_t>& at, int64_t columns,
                         int64_t count = 2) {
    ModelBuilder m;
    m.input("x", Elements::FLOAT, {"N"}).output("y");
    auto& node = m.node("Constant", {}, {"y"});
    auto* t = attribute(node, "sparse_value", ::onnx::AttributeProto::SPARSE_TENSOR).mutable_sparse_tensor();
    for (const int64_t size : sizes) t->add_dims(size);
    t->mutable_values()->set_data_type(Elements::FLOAT);
    t->mutable_values()->add_dims(count);
    for (int64_t i = 0; i < count; ++i) t->mutable_values()->add_float_data(static_cast<float>(i + 1));
    t->mutable_indices()->set_data_type(Elements::INT64);
    t->mutable_indices()->add_dims(columns == 0 ? static_cast<int64_t>(at.size())
                                                : static_cast<int64_t>(at.size()) / columns);
    if (columns > 0) t->mutable_indices()->add_dims(columns);
    for (const int64_t each : at) t->mutable_indices()->add_int64_data(each);
    m.node("Relu", {"x"}, {"unused"});
    return m.load()->forward(std::vector<IValue>{ones({1})})[0].toTensor();
  };
  const Tensor dense = tensor({0.f, 1.f, 0.f, 0.f, 0.f, 2.f}).view({2, 3});
  CHECK(equal(sparse({2, 3}, {1, 5}, 0), dense));
  CHECK(equal(sparse({2, 3}, {0, 1, 1, 2}, 2), dense));
  CHECK(equal(sparse({2, 3}, {}, 0, 0), zeros({2, 3})));
  for (const auto& [at, columns, count] :
       std::vector<std::tuple<std::vector<int64_t>, int64_t, int64_t>>{{{1, 6}, 0, 2},
                                                                       {{-1, 5}, 0, 2},
                                                                       {{1, 5}, 0, 1},
                                                                       {{1}, 0, 2},
                                                                       {{0, 1, 1, 3}, 2, 2},
                                                                       {{0, 1, 2, 0}, 2, 2},
                                                                       {{0, -1, 1, 2}, 2, 2},
                                                                       {{-1, 1, 1, 2}, 2, 2},
                                                                       {{0, 1, 0, 1, 2, 0}, 3, 2}})
    CHECK(has(error_of([&, at = at, columns = columns, count = count] {
                sparse({2, 3}, at, columns, count);
              }),
              "is not valid"));
  CHECK(has(error_of([&] { sparse({2, -3}, {1, 5}, 0); }), "is not valid"));
}

TEST_CASE("control flow reads values of the graph around it") {
  ModelBuilder m;
  m.input("x", Elements::FLOAT, {"N"}).input("flag", Elements::BOOL, {}).output("y").floats("two", {1}, {2});
  auto& node = m.node("If", {"flag"}, {"y"});
  GraphBuilder then(attribute(node, "then_branch", ::onnx::AttributeProto::GRAPH).mutable_g());
  then.node("Mul", {"x", "two"}, {"z"});
  then.output("z");
  GraphBuilder otherwise(attribute(node, "else_branch", ::onnx::AttributeProto::GRAPH).mutable_g());
  otherwise.node("Neg", {"x"}, {"z"});
  otherwise.output("z");
  Model model = m.load();
  const Tensor x = tensor({1.f, 2.f});
  CHECK(equal(model->forward(x, full({}, true)), x * 2));
  CHECK(equal(model->forward(x, full({}, false)), -x));
}

TEST_CASE("functions of the model are called, also within each other") {
  ModelBuilder m;
  auto* domain = m.model().add_opset_import();
  domain->set_domain("mine");
  domain->set_version(1);
  for (const std::string name : {"double", "quadruple"}) {
    auto* function = m.model().add_functions();
    function->set_name(name);
    function->set_domain("mine");
    function->add_input("a");
    function->add_output("b");
    auto* set = function->add_opset_import();
    set->set_version(17);
    for (int i = 0; i < (name == "double" ? 1 : 2); ++i) {
      auto* node = function->add_node();
      node->set_op_type(name == "double" ? "Add" : "double");
      if (name != "double") node->set_domain("mine");
      for (int k = 0; k < (name == "double" ? 2 : 1); ++k) node->add_input(i == 0 ? "a" : "t");
      node->add_output(name == "double" || i == 1 ? "b" : "t");
    }
  }
  m.input("x", Elements::FLOAT, {"N"}).output("y");
  m.node("quadruple", {"x"}, {"y"}).set_domain("mine");
  CHECK(equal(m.load()(tensor({1.f, 2.f})), tensor({4.f, 8.f})));

  // One that calls itself never ends.
  m.model().mutable_functions(0)->mutable_node(0)->set_op_type("quadruple");
  m.model().mutable_functions(0)->mutable_node(0)->set_domain("mine");
  m.model().mutable_functions(0)->mutable_node(0)->mutable_input()->RemoveLast();
  CHECK(has(load_error(m), "functions call each other more than 64 deep"));
}

TEST_CASE("constants are computed when the model is loaded") {
  ModelBuilder m;
  m.input("x", Elements::FLOAT, {"N", "4"}).output("y").integers("a", {2}).integers("b", {-1}).integers("axis", {0});
  m.node("Add", {"a", "axis"}, {"two"});
  set(m.node("Concat", {"b", "two"}, {"shape"}), "axis", 0);
  m.node("Reshape", {"x", "shape"}, {"y"});
  Model model = m.load();
  CHECK(model(ones({3, 4})).sizes() == IntArrayRef({6, 2}));
  std::stringstream text;
  text << *model.ptr();
  CHECK(has(text.str(), "1 nodes, x: float32 [N, 4]"));
}

TEST_CASE("data in another file are read, but only from the model's folder") {
  TempFolder folder;
  ModelBuilder m = layer();
  auto* weight = m.graph().mutable_initializer(0);
  const std::string data(reinterpret_cast<const char*>(weight->float_data().data()), 24);
  std::ofstream(folder / "weights.bin", std::ios::binary) << "skip" << data;
  weight->clear_float_data();
  weight->set_data_location(Elements::EXTERNAL);
  const auto locate = [&](const std::string& key, const std::string& value) {
    auto* entry = weight->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  locate("location", "weights.bin");
  locate("offset", "4");
  locate("length", "24");
  const auto save = [&] { std::ofstream(folder / "net.onnx", std::ios::binary) << m.bytes(); };
  save();
  const Tensor x = tensor({1.f, 1.f}).view({1, 2});
  CHECK(equal(tandem::onnx::load(folder / "net.onnx")(x), layer().load()(x)));
  CHECK(has(load_error(m), "tensor 'model.fc.weight': its data are in another file"));

  const auto error = [&] {
    save();
    return error_of([&] { tandem::onnx::load(folder / "net.onnx"); });
  };
  weight->mutable_external_data(1)->set_value("5");
  CHECK(has(error(), "has 28 bytes, too few for 24 bytes from byte 5"));
  weight->mutable_external_data(1)->set_value("-1");
  CHECK(has(error(), "offset is not a number: '-1'"));
  weight->mutable_external_data(1)->set_value("4");
  weight->mutable_external_data(2)->set_value("20");
  CHECK(has(error(), "its data have 20 bytes, expected 24"));
  weight->mutable_external_data(2)->set_value("24");
  for (const char* outside : {"../weights.bin", "/etc/passwd", "a/../../b", ""}) {
    weight->mutable_external_data(0)->set_value(outside);
    CHECK(has(error(), "must be in a file within the model's folder"));
  }
}

TEST_CASE("what is wrong with a file is named") {
  const std::string noise = "this is not a model at all";
  CHECK(has(error_of([&] { tandem::onnx::parse(noise.data(), noise.size(), "noise.onnx"); }),
            "noise.onnx: this is not an ONNX model, or it is damaged"));
  CHECK(has(error_of([] { tandem::onnx::load("no such file.onnx"); }), "no such file.onnx"));

  ModelBuilder missing = layer();
  missing.node("Frobnicate", {"y"}, {"z"});
  missing.node("Twiddle", {"z"}, {"q"}).set_domain("com.acme");
  CHECK(has(load_error(missing), "Tandem has no operator for Frobnicate, Twiddle (com.acme)"));

  ModelBuilder unsorted;
  unsorted.input("x", Elements::FLOAT, {"N"}).output("y");
  unsorted.node("Relu", {"h"}, {"y"});
  unsorted.node("Neg", {"y"}, {"h"});
  CHECK(has(load_error(unsorted), "a node (Relu) reads 'h', which nothing before it computes"));

  ModelBuilder twice = layer();
  twice.node("Neg", {"x"}, {"y"});
  CHECK(has(load_error(twice), "graph 'test' computes 'y' twice"));

  ModelBuilder no_output = layer();
  no_output.output("nothing");
  CHECK(has(load_error(no_output), "has the output 'nothing', which nothing computes"));

  ModelBuilder too_new(99);
  CHECK(has(load_error(too_new), "it needs operator set 99"));

  ModelBuilder wrong_count = layer();
  wrong_count.graph().mutable_initializer(0)->set_dims(0, 1000000);
  CHECK(has(load_error(wrong_count), "tensor 'model.fc.weight': it has 6 numbers, expected 2000000"));
  wrong_count.graph().mutable_initializer(0)->set_dims(0, int64_t{1} << 62);
  CHECK(has(load_error(wrong_count), "too many elements"));
  wrong_count.graph().mutable_initializer(0)->set_dims(0, -3);
  CHECK(has(load_error(wrong_count), "it has the size -3"));
  wrong_count.graph().mutable_initializer(0)->set_data_type(17);
  CHECK(has(load_error(wrong_count), "Tandem has no dtype float8e4m3fn"));

  ModelBuilder differs = layer();
  differs.input("model.fc.bias", Elements::INT64, {"3"});
  CHECK(has(load_error(differs), "'model.fc.bias' is declared as int64 [3], its initialiser is"));

  ModelBuilder deep;
  deep.input("x", Elements::BOOL, {}).output("y");
  ::onnx::GraphProto* graph = &deep.graph();
  for (int i = 0; i < 80; ++i) {
    GraphBuilder builder(graph);
    auto& node = builder.node("If", {"x"}, {"y" + std::to_string(i)});
    graph = attribute(node, "then_branch", ::onnx::AttributeProto::GRAPH).mutable_g();
  }
  CHECK(!load_error(deep).empty());
}

TEST_CASE("operators of com.microsoft name what Tandem does not have of them") {
  const auto error = [](const std::string& op, std::vector<Tensor> inputs, const std::string& flag = "",
                        std::vector<std::string> outputs = {"y"}) {
    ModelBuilder m;
    std::vector<std::string> names;
    std::vector<IValue> given;
    for (const Tensor& input : inputs) {
      const std::string name = "i" + std::to_string(names.size());
      names.push_back(input.defined() ? name : "");
      if (!input.defined()) continue;
      std::vector<std::string> sizes{"a", "b", "c", "d", "e"};
      sizes.resize(static_cast<std::size_t>(input.dim()));
      m.input(name, input.dtype() == kFloat ? Elements::FLOAT : Elements::INT32, sizes);
      given.push_back(input);
    }
    for (const auto& output : outputs) m.output(output);
    auto& node = m.node(op, names, outputs);
    node.set_domain("com.microsoft");
    set(node, "num_heads", 2);
    if (!flag.empty()) set(node, flag, 1);
    Model model = m.load();
    return error_of([&] { model->forward(given); });
  };
  const Tensor x = randn({2, 3, 4}), w = randn({4, 12}), b = randn({12}), none;
  CHECK(error("Attention", {x, w, b}).empty());
  CHECK(error("Attention", {x, w, b}, "do_rotary") == "Attention: Tandem does not have its attribute do_rotary");
  CHECK(has(error("Attention", {x, w, b}, "past_present_share_buffer"), "attribute past_present_share_buffer"));
  CHECK(has(error("Attention", {x, w, b, ones({2, 1, 3, 3}, kInt)}), "Tandem takes masks [2, 3]"));
  CHECK(has(error("Attention", {x, w, b, none, randn({2, 2, 2, 4})}), "past must be [2, batch, heads, length, size]"));
  CHECK(has(error("Attention", {x, w, b, none, none, randn({2, 2, 3, 4})}), "attention_bias must be [batch or 1"));
  CHECK(has(error("Attention", {x, randn({4, 13})}), "qkv_hidden_sizes does not fit the weights"));
  CHECK(has(error("Attention", {x, randn({5, 12})}), "linear"));
  CHECK(has(error("MultiHeadAttention", {x}), "Tandem does not have its packed query, key and value"));
  CHECK(has(error("MultiHeadAttention", {x, x, x}, "", {"y", "k", "v", "qk"}), "Tandem does not have its output qk"));
  CHECK(has(error("MultiHeadAttention", {x, x, x, randn({11})}), "the bias must have 12 elements"));
  CHECK(has(error("MultiHeadAttention", {x, x, x, none, none, none, x, x}), "the past does not fit"));
  const Tensor longer = randn({2, 5, 4});
  CHECK(error("MultiHeadAttention", {x, longer, longer}).empty());
  CHECK(has(error("MultiHeadAttention", {x, longer, longer}, "unidirectional"), "attribute unidirectional for keys"));
  CHECK(has(error("SkipLayerNormalization", {x, x, randn({4})}, "", {"y", "mean"}), "outputs for training"));
  CHECK(has(error("SkipLayerNormalization", {x, randn({5, 2, 3, 4}), randn({4})}), "skip does not fit the input"));
  CHECK(has(error("BiasGelu", {x, randn({3, 4})}), "the bias"));
  const Tensor ids = ones({2, 3}, kInt), rows = randn({2, 4}), four = randn({4});
  CHECK(has(error("EmbedLayerNormalization", {ids, none, rows, rows, none, four, four}), "there are 2 positions"));
  CHECK(has(error("EmbedLayerNormalization", {ids, ids, rows, x[0], none, four, four}), "go together"));
  CHECK(!error("EmbedLayerNormalization", {ids + 1, none, rows, x[0], none, four, four}).empty());
  CHECK(has(error("RotaryEmbedding", {x, ids, rows, rows}, "is_packed_batching"), "is_packed_batching"));

  ModelBuilder other;
  other.input("x", Elements::FLOAT, {"N"})
      .output("y")
      .node("GroupQueryAttention", {"x"}, {"y"})
      .set_domain("com.microsoft");
  CHECK(has(load_error(other), "Tandem has no operator for GroupQueryAttention (com.microsoft)"));
}

TEST_CASE("the value of com.microsoft's masks may be too large for a half type") {
  ModelBuilder m;
  m.input("x", Elements::FLOAT, {"N", "3", "4"}).input("mask", Elements::INT32, {"N", "3"}).output("y");
  m.floats("w", {4, 12}, std::vector<float>(48, 0.1f));
  auto& node = m.node("Attention", {"x", "w", "", "mask"}, {"y"});
  node.set_domain("com.microsoft");
  set(node, "num_heads", 2);
  attribute(node, "mask_filter_value", ::onnx::AttributeProto::FLOAT).set_f(std::numeric_limits<float>::lowest());
  Model model = m.load();
  const Tensor x = randn({2, 3, 4}), mask = tensor({1, 1, 0, 0, 0, 0}, kInt).view({2, 3});
  const Tensor wanted = model->forward(x, mask);
  CHECK(allclose(wanted[1], x[1].mean(0).sum().expand({3, 4}) * 0.1, 1e-5, 1e-5));  // nothing is shown: all count
  for (const ScalarType type : {kHalf, kBFloat16}) {
    model->to(type);
    CHECK(allclose(model->forward(x.to(type), mask).to(kFloat)[0], wanted[0], 2e-2, 2e-2));
  }
}

TEST_CASE("operators of com.microsoft train, and are written as ONNX's own") {
  ModelBuilder m;
  m.input("x", Elements::FLOAT, {"N", "3", "4"}).output("y");
  m.floats("w", {4, 12}, std::vector<float>(48, 0.1f)).floats("b", {12}, std::vector<float>(12, 0.5f));
  m.floats("scale", {4}, {1, 2, 3, 4});
  auto& node = m.node("Attention", {"x", "w", "b"}, {"a"});
  node.set_domain("com.microsoft");
  set(node, "num_heads", 2);
  set(node, "unidirectional", 1);
  m.node("SkipLayerNormalization", {"a", "x", "scale"}, {"s"}).set_domain("com.microsoft");
  m.node("FastGelu", {"s"}, {"y"}).set_domain("com.microsoft");
  Model model = m.load();
  const Tensor x = randn({2, 3, 4});
  model(x).square().sum().backward();
  for (const Tensor& p : model->parameters()) CHECK(p.grad().abs().sum().item<double>() > 0);
  const TempFolder folder;
  tandem::onnx::save(model, {x}, folder / "y.onnx");
  CHECK(equal(tandem::onnx::load(folder / "y.onnx")->forward(x), model(x)));
}

TEST_CASE("wrong inputs are named, and so is the node that fails") {
  Model model = layer().load();
  CHECK(has(error_of([&] { model(randn({2, 3})); }), "input 'x' must be float32 [N, 2], got"));
  CHECK(has(error_of([&] { model(ones({2, 2}, kLong)); }), "input 'x' must be float32 [N, 2], got"));
  CHECK(has(error_of([&] { model(randn({2, 2}), randn({1})); }), "expected 1 inputs, got 2"));
  CHECK(has(error_of([&] {
              model->forward(OrderedDict<std::string, IValue>{{"z", IValue(randn({2, 2}))}});
            }),
            "input 'x' is missing; the model has 'x'"));

  ModelBuilder m;
  m.input("x", Elements::FLOAT, {"N"}).output("y").floats("w", {3}, {1, 2, 3});
  m.node("Mul", {"x", "w"}, {"y"}).set_name("/scale/Mul");
  CHECK(has(error_of([&] { m.load()(ones({2})); }), "node '/scale/Mul' (Mul): in Model: mul: shapes [2] and [3]"));
}

TEST_CASE("names of tensors that are no names of modules still become names") {
  ModelBuilder m;
  m.input("x", Elements::FLOAT, {"1"}).output("y");
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "a.";
  deep += "w";
  for (const std::string& name : {std::string("a"), std::string("a.b"), std::string(".c"), std::string("d..e"),
                                  std::string("onnx::MatMul_12"), deep})
    m.floats(name, {1}, {1});
  m.node("Sum", {"x", "a", "a.b", ".c", "d..e", "onnx::MatMul_12", deep}, {"y"});
  Model model = m.load();
  CHECK(model->parameters().size() == 6);
  CHECK(model(ones({1})).item<float>() == 7);
  CHECK(
      equal(std::dynamic_pointer_cast<tandem::onnx::ModelImpl>(model->clone())->forward(ones({1})), model(ones({1}))));
}
