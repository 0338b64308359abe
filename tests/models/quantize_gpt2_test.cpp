// nn::quantize_weights on GPT-2: the head and the embedding are one, in copies and from files, too.
#include "tandem/nn/quantize.h"

#include <doctest/doctest.h>

#include <sstream>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/models/generate.h"
#include "tandem/nn/layers/linear.h"

using namespace tandem;

namespace {

models::GPT2LMHeadModel gpt2() {
  manual_seed(8);
  models::GPT2LMHeadModel net(
      models::GPT2Options().vocab_size(50).n_positions(24).n_embd(32).n_layer(2).n_head(4).initializer_range(0.2));
  net->eval();
  return net;
}

double relative_difference(const Tensor& expected, const Tensor& found) {
  return (expected - found).abs().max().item<double>() / expected.abs().max().item<double>();
}

}  // namespace

TEST_CASE("GPT-2 with int8 weights: the head and the embedding stay one, copies and files too") {
  models::GPT2LMHeadModel net = gpt2();
  const Tensor tokens = randint(0, 50, {2, 9}, kLong);
  const Tensor before = net->forward(tokens).detach();
  const nn::QuantizeResult result = nn::quantize_weights(net, {.group = 16});
  CHECK(result.converted.size() == 2 + 2 * 4 + 1);
  CHECK(result.left_alone.empty());
  CHECK(net->lm_head->weight_int8.is_same(net->transformer->wte->weight_int8));
  CHECK(net->lm_head->weight_scale.is_same(net->transformer->wte->weight_scale));
  const Tensor expected = net->forward(tokens);
  CHECK(relative_difference(before, expected) < 0.05);
  std::ostringstream printed;
  printed << *net;
  CHECK_NE(printed.str().find("(c_attn): tandem::models::Conv1D(int8 in groups of 16)"), std::string::npos);

  const auto copy = std::dynamic_pointer_cast<models::GPT2LMHeadModelImpl>(net->clone());
  CHECK(copy->forward(tokens).equal(expected));
  CHECK(copy->lm_head->weight_int8.is_same(copy->transformer->wte->weight_int8));
  CHECK(!copy->lm_head->weight_int8.is_same(net->lm_head->weight_int8));

  // The state dict without the head, as files have it.
  OrderedDict<std::string, Tensor> state("Entry");
  for (const auto& item : net->state_dict())
    if (!item.key().starts_with("lm_head.")) state.insert(item.key(), item.value());
  const auto whole = models::gpt2_state_dict(state);
  manual_seed(10);
  models::GPT2LMHeadModel other = gpt2();
  nn::quantize_like(other, whole);
  other->load_state_dict(whole);
  CHECK(other->lm_head->weight_int8.is_same(other->transformer->wte->weight_int8));
  CHECK(other->forward(tokens).equal(expected));

  const Tensor prompt = tokens.slice(0, 0, 1);
  const auto greedy = models::GenerateOptions{.max_new_tokens = 10, .temperature = 0};
  const Tensor generated = models::generate(net, prompt, greedy);
  CHECK(generated.equal(models::generate(other, prompt, greedy)));
  // Token by token, the cache gives what the whole sequence gives.
  Tensor all = prompt;
  const NoGradGuard no_grad;
  for (int i = 0; i < 10; ++i) all = cat({all, net->forward(all).select(1, -1).argmax(-1, true)}, 1);
  CHECK(generated.equal(all));
  other->to(kBFloat16);
  CHECK(models::generate(other, prompt, greedy).size(1) == 19);
}

TEST_CASE("layers that share a weight share its values, unless they read it in two directions") {
  struct Tied : nn::LinearImpl {  // with the weight of another layer
    explicit Tied(const Tensor& other) : LinearImpl(nn::LinearOptions(8, 8).bias(false)) {
      weight = parameters_["weight"] = other;
    }
  };
  struct Net : nn::Module {
    Net() {
      first = register_module("first", nn::Linear(8, 8));
      second = register_module("second", std::make_shared<Tied>(first->weight));
      turned = register_module("turned", models::Conv1D(8, 8, 0.1));
      last = register_module("last", std::make_shared<Tied>(turned->weight));
      eval();
    }
    nn::Linear first = nullptr;
    models::Conv1D turned = nullptr;
    std::shared_ptr<Tied> second, last;
  };
  const auto net = std::make_shared<Net>();
  const Tensor x = randn({3, 8}), y = net->second->forward(x).detach();
  const nn::QuantizeResult result = nn::quantize_weights(*net);
  CHECK(result.converted == std::vector<std::string>{"first", "second"});
  CHECK(net->first->weight_int8.is_same(net->second->weight_int8));
  CHECK(relative_difference(y, net->second->forward(x)) < 0.05);
  REQUIRE(result.left_alone.size() == 2);
  CHECK(result.left_alone[0].name == "turned.weight");
  CHECK(result.left_alone[1].name == "last.weight");
  CHECK(result.left_alone[1].reason == "layers that share it read it in two directions");
  CHECK(!net->last->weight.requires_grad());
  const auto state = net->state_dict();
  const auto other = std::make_shared<Net>();
  nn::quantize_like(*other, state);
  other->load_state_dict(state);
  CHECK(other->first->weight_int8.is_same(other->second->weight_int8));
  CHECK(other->second->forward(x).equal(net->second->forward(x)));
}
