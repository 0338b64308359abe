// nn::quantize_weights: what it converts and leaves alone, files, copies, ties, dtypes, and what a quantised model
// refuses.
#include "tandem/nn/quantize.h"

#include <doctest/doctest.h>

#include <cmath>
#include <sstream>

#include "tandem/autograd/ops.h"
#include "tandem/nn/nn.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using test::error_of;

namespace {

nn::Sequential network() {
  manual_seed(7);
  nn::Sequential net(nn::Linear(100, 40), nn::ReLU(), nn::Linear(nn::LinearOptions(40, 10).bias(false)));
  net->eval();
  return net;
}

double relative_difference(const Tensor& expected, const Tensor& found) {
  return (expected - found.to(expected.dtype())).abs().max().item<double>() / expected.abs().max().item<double>();
}

std::string text_of(const nn::Module& module) {
  std::ostringstream out;
  out << module;
  return out.str();
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("quantize_weights: int8 in place of float weights, and nearly the same results") {
  nn::Sequential net = network();
  const Tensor x = randn({6, 100}), before = net->forward(x).detach();
  const nn::QuantizeResult result = nn::quantize_weights(net);
  CHECK(result.converted == std::vector<std::string>{"0", "2"});
  CHECK(result.left_alone.empty());
  CHECK(net->state_dict().keys() ==
        std::vector<std::string>{"0.bias", "0.weight_int8", "0.weight_scale", "2.weight_int8", "2.weight_scale"});
  const auto state = net->state_dict();
  CHECK(state["0.weight_int8"].dtype() == kChar);
  CHECK(state["0.weight_int8"].sizes() == IntArrayRef({40, 100}));
  CHECK(state["0.weight_scale"].sizes() == IntArrayRef({40, 2}));
  CHECK(net->named_parameters().keys() == std::vector<std::string>{"0.bias"});
  const double difference = relative_difference(before, net->forward(x));
  CHECK(difference > 0);
  CHECK(difference < 0.02);
  CHECK(has(text_of(*net), "tandem::nn::Linear(in_features=100, out_features=40, bias=true, int8 in groups of 50)"));
  CHECK(nn::quantize_weights(net).converted.empty());
}

TEST_CASE("quantize_weights: embeddings") {
  nn::Embedding table(30, 70);
  table->eval();
  const Tensor at = randint(0, 30, {2, 5}, kLong), before = table->forward(at).detach();
  nn::quantize_weights(table, {.group = 16});
  CHECK(table->weight_scale.sizes() == IntArrayRef({30, 5}));
  const Tensor after = table->forward(at);
  CHECK(after.sizes() == IntArrayRef({2, 5, 70}));
  CHECK(relative_difference(before, after) < 0.01);
  CHECK_NE(error_of([&] { table->forward(at + 30); }).find("out of bounds"), std::string::npos);
  CHECK(has(text_of(*table), "embedding_dim=70, int8 in groups of 14)"));
}

TEST_CASE("quantize_weights says what it leaves alone, and why") {
  struct Net : nn::Module {
    Net() {
      conv = register_module("conv", nn::Conv2d(3, 4, 3));
      norm = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({4})));
      bounded = register_module("bounded", nn::Embedding(nn::EmbeddingOptions(5, 4).max_norm(1)));
      attention = register_module("attention", nn::MultiheadAttention(8, 2));
      broken = register_module("broken", nn::Linear(4, 4));
      fine = register_module("fine", nn::Linear(4, 4));
      shared = register_module("shared", nn::Linear(4, 4));
      table = register_parameter("table", shared->weight);
    }
    nn::Conv2d conv = nullptr;
    nn::LayerNorm norm = nullptr;
    nn::Embedding bounded = nullptr;
    nn::MultiheadAttention attention = nullptr;
    nn::Linear broken = nullptr, fine = nullptr, shared = nullptr;
    Tensor table;
  };
  Net net;
  net.eval();
  {
    const NoGradGuard no_grad;
    net.broken->weight[0][0] = INFINITY;
  }
  const nn::QuantizeResult result = nn::quantize_weights(net);
  CHECK(result.converted == std::vector<std::string>{"fine"});
  std::string all;
  for (const auto& [name, reason] : result.left_alone) all += name + ": " + reason + "\n";
  CHECK(all ==
        "table: not the weight of a linear layer or an embedding\n"
        "shared.weight: shared with table: not the weight of a linear layer or an embedding\n"
        "conv.weight: not the weight of a linear layer or an embedding\n"
        "bounded.weight: max_norm changes its rows\n"
        "attention.in_proj_weight: not the weight of a linear layer or an embedding\n"
        "attention.out_proj.weight: MultiheadAttention reads it itself\n"
        "broken.weight: there are values that are not finite\n");
}

TEST_CASE("quantize_weights: wrong options, training") {
  nn::Sequential net = network();
  CHECK_NE(error_of([&] { nn::quantize_weights(net, {.bits = 4}); }).find("bits must be 8, got 4"), std::string::npos);
  CHECK_NE(error_of([&] { nn::quantize_weights(net, {.group = 0}); }).find("at least 1"), std::string::npos);
  net->train();
  CHECK_NE(error_of([&] { nn::quantize_weights(net); }).find("call eval() first"), std::string::npos);
  CHECK(net->state_dict().contains("0.weight"));
  net->eval();
  nn::quantize_weights(net);
  for (const Tensor& parameter : net->parameters()) CHECK(!parameter.requires_grad());
  const Tensor x = randn({2, 100}).requires_grad_();
  CHECK_NE(error_of([&] { net->forward(x); }).find("no gradient"), std::string::npos);
  net->train();
  const std::string error = error_of([&] { net->forward(x.detach()); });
  CHECK_MESSAGE(has(error, "cannot train"), error);
}

TEST_CASE("a quantised model is saved and loaded; float and int8 do not mix, and the error says what to do") {
  const test::TempFolder folder;
  nn::Sequential net = network(), other = network(), plain = network();
  const Tensor x = randn({3, 100});
  nn::quantize_weights(net);
  const Tensor expected = net->forward(x);
  save(net, folder / "int8.safetensors");
  save(plain, folder / "float.safetensors");

  manual_seed(9);
  for (Tensor& parameter : other->parameters()) Tensor(parameter.detach()).normal_();
  nn::quantize_weights(other);
  CHECK(!other->forward(x).equal(expected));
  load(other, folder / "int8.safetensors");
  CHECK(other->forward(x).equal(expected));
  const std::string into_int8 = error_of([&] { load(other, folder / "float.safetensors"); });
  CHECK_MESSAGE(has(into_int8, "then call nn::quantize_weights"), into_int8);
  CHECK(other->forward(x).equal(expected));
  const std::string into_float = error_of([&] { load(plain, folder / "int8.safetensors"); });
  CHECK_MESSAGE(has(into_float, "call nn::quantize_like"), into_float);

  const auto state = serialize::load_safetensors(folder / "int8.safetensors").tensors;
  nn::quantize_like(plain, state);
  plain->load_state_dict(state);
  CHECK(plain->forward(x).equal(expected));
  nn::Sequential finer = network();
  nn::quantize_weights(finer, {.group = 10});
  CHECK_NE(error_of([&] { nn::quantize_like(finer, state); }).find("already quantised"), std::string::npos);
  CHECK_NE(error_of([&] { finer->load_state_dict(state); }).find("weight_scale"), std::string::npos);
  nn::Sequential narrow(nn::Linear(99, 40));
  CHECK_NE(error_of([&] { nn::quantize_like(narrow, state); }).find("quantize_like: 0.weight is [40, 99]"),
           std::string::npos);
}

TEST_CASE("copies and dtypes of a quantised model") {
  nn::Sequential net = network();
  const Tensor x = randn({3, 100});
  nn::quantize_weights(net);
  const Tensor expected = net->forward(x);
  const auto copy = std::dynamic_pointer_cast<nn::SequentialImpl>(net->clone());
  CHECK(copy->forward(x).equal(expected));
  CHECK(text_of(*copy) == text_of(*net));
  auto* first = copy->ptr(0)->as<nn::Linear>();
  CHECK(!first->weight_int8.is_same(net->ptr(0)->as<nn::Linear>()->weight_int8));
  first->weight_int8.zero_();
  CHECK(net->forward(x).equal(expected));
  for (const ScalarType type : {kHalf, kBFloat16, kDouble}) {
    const auto other = std::dynamic_pointer_cast<nn::SequentialImpl>(net->clone());
    other->to(type);
    CHECK(other->ptr(0)->as<nn::Linear>()->weight_int8.dtype() == kChar);
    const Tensor y = other->forward(x.to(type));
    CHECK(y.dtype() == type);
    CHECK(relative_difference(expected, y) < 0.02);
  }
}

TEST_CASE("quantize_weights before and after fuse") {
  nn::Sequential net(nn::Linear(20, 30), nn::ReLU());
  net->eval();
  nn::quantize_weights(net);
  const Tensor x = randn({3, 20}), expected = net->forward(x);
  CHECK(nn::fuse(net).activations == 1);
  CHECK(net->forward(x).equal(expected));
  nn::Sequential normed(nn::Linear(20, 30), nn::BatchNorm1d(30));
  normed->eval();
  nn::quantize_weights(normed);
  CHECK(nn::fuse(normed).remaining == std::vector<std::string>{"1"});
}

TEST_CASE("quantize_weights and quantize_like name what is wrong, and change nothing then") {
  const auto message = [](nn::Sequential net, const nn::QuantizeOptions& options) {
    const std::string text = error_of([&] { nn::quantize_weights(net, options); });
    CHECK(net->state_dict().contains("0.weight") == !text.empty());
    return text;
  };
  for (const int64_t bits : {4, 7, 9})
    CHECK(message(network(), {.bits = bits}) == concat("quantize_weights: bits must be 8, got ", bits));
  for (const int64_t group : {-1, 0})
    CHECK(message(network(), {.group = group}) == concat("quantize_weights: group must be at least 1, got ", group));
  CHECK(message(network(), {.group = 1}) == "");
  nn::Sequential training = network();
  training->ptr(2)->train();
  const std::string why = " is in training mode; call eval() first, because int8 weights cannot be trained";
  CHECK(message(training, {}) == "quantize_weights: '2'" + why);
  training->train();
  CHECK(message(training, {}) == "quantize_weights: the model" + why);
  // A layer alone, which has no name; weights without values.
  nn::Linear alone(4, 4), none(nn::LinearOptions(0, 4).bias(false)), whole(4, 4);
  for (nn::Linear* layer : {&alone, &none, &whole}) (*layer)->eval();
  CHECK(nn::quantize_weights(alone).converted == std::vector<std::string>{""});
  CHECK(alone->state_dict().keys() == std::vector<std::string>{"bias", "weight_int8", "weight_scale"});
  CHECK_FALSE(alone->bias.requires_grad());
  const nn::QuantizeResult result = nn::quantize_weights(none);
  CHECK(result.converted.empty());
  REQUIRE(result.left_alone.size() == 1);
  CHECK(result.left_alone[0].name == "weight");
  CHECK(result.left_alone[0].reason == "no floating point values");
  {
    const NoGradGuard no_grad;
    whole->weight[3][3] = std::nan("");
  }
  CHECK(nn::quantize_weights(whole).left_alone[0].reason == "there are values that are not finite");
  // quantize_like: only where both parts are in the state dict.
  const auto like = [](const std::vector<std::pair<std::string, Tensor>>& entries) {
    OrderedDict<std::string, Tensor> out;
    for (const auto& [name, tensor] : entries) out.insert(name, tensor);
    return out;
  };
  const Tensor values = zeros({40, 100}, TensorOptions(kChar)), scales = ones({40, 4});
  for (const auto& state : {like({{"0.weight_int8", values}}), like({{"0.weight_scale", scales}}), like({})}) {
    nn::Sequential net = network();
    nn::quantize_like(net, state);
    CHECK(net->state_dict().contains("0.weight"));
    CHECK(net->parameters()[0].requires_grad());
  }
  nn::Sequential net = network();
  nn::quantize_like(net, like({{"0.weight_int8", values}, {"0.weight_scale", scales}}));
  CHECK(net->state_dict()["0.weight_int8"].sizes() == IntArrayRef({40, 100}));
  CHECK(net->state_dict()["0.weight_scale"].sizes() == IntArrayRef({40, 4}));
  CHECK(net->state_dict().contains("2.weight"));
  CHECK_FALSE(net->state_dict()["2.weight"].requires_grad());
  for (const Tensor& p : net->parameters()) CHECK_FALSE(p.requires_grad());
  nn::quantize_like(net, like({{"0.weight_int8", values}, {"0.weight_scale", scales}}));  // is like it already
  for (const auto& [v, s] : std::vector<std::pair<Tensor, Tensor>>{{values[0], scales},
                                                                   {values, scales[0]},
                                                                   {values.slice(1, 0, 99), scales},
                                                                   {values, scales.slice(0, 0, 39)}}) {
    nn::Sequential other = network();
    const auto state = like({{"0.weight_int8", v}, {"0.weight_scale", s}});
    CHECK(error_of([&] { nn::quantize_like(other, state); }) ==
          concat("quantize_like: 0.weight is [40, 100] here, in the state dict ", v, " with scales ", s));
    CHECK(other->state_dict().contains("0.weight"));
  }
  nn::Sequential relu = network();
  CHECK(error_of([&] {
          nn::quantize_like(relu, like({{"1.weight_int8", values}, {"1.weight_scale", scales}}));
        }) == "quantize_like: 1 cannot have int8 weights");
}
