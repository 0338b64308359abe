// nn::fuse: what it merges in Sequentials, what it leaves alone, and what a fused model refuses.
#include "tandem/nn/fuse.h"

#include <doctest/doctest.h>

#include <functional>
#include <sstream>

#include "tandem/autograd/ops.h"
#include "tandem/nn/nn.h"
#include "tandem/nn/optim/sgd.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using test::error_of;

namespace {

// Gives every BatchNorm statistics and parameters that change its input.
template <class Model>
void randomise(Model& model) {
  NoGradGuard no_grad;
  for (const auto& item : model->state_dict()) {
    if (item.key().ends_with("running_var")) Tensor(item.value()).uniform_(0.5, 2);
    if (item.key().ends_with("running_mean")) Tensor(item.value()).uniform_(-1, 1);
    if (item.value().dim() == 1 && item.key().ends_with("weight")) Tensor(item.value()).uniform_(-1.5, 1.5);
    if (item.key().ends_with("bias")) Tensor(item.value()).uniform_(-1, 1);
  }
  model->eval();
}

double relative_difference(const Tensor& expected, const Tensor& found) {
  return (expected - found).abs().max().item<double>() / expected.abs().max().item<double>();
}

nn::Conv2d conv(int64_t in, int64_t out) { return nn::Conv2d(nn::Conv2dOptions(in, out, 3).padding(1).bias(false)); }
nn::BatchNorm2d norm(int64_t channels) { return nn::BatchNorm2d(nn::BatchNorm2dOptions(channels)); }

// A layer, its norm and a rectifier in nested Sequentials; a grouped convolution; a convolution with another padding.
nn::Sequential network() {
  return nn::Sequential(nn::Sequential(conv(3, 8), norm(8)), nn::ReLU(),
                        nn::Conv2d(nn::Conv2dOptions(8, 8, 3).groups(4).padding(1)), norm(8), nn::ReLU6(),
                        nn::Conv2d(nn::Conv2dOptions(8, 4, 3).padding(1).padding_mode(kReflect)),
                        nn::BatchNorm2d(nn::BatchNorm2dOptions(4).affine(false)), nn::Flatten(), nn::Linear(4 * 36, 10),
                        nn::BatchNorm1d(nn::BatchNorm1dOptions(10)), nn::ReLU());
}

}  // namespace

TEST_CASE("fuse folds norms and moves rectifiers along a Sequential") {
  manual_seed(1);
  nn::Sequential model = network();
  randomise(model);
  const Tensor input = randn({2, 3, 6, 6});
  const Tensor expected = model->forward(input);
  const nn::FuseResult result = nn::fuse(model);
  CHECK_EQ(result.norms, 4);
  CHECK_EQ(result.activations, 3);
  CHECK(result.remaining.empty());
  CHECK_LT(relative_difference(expected, model->forward(input)), 1e-5);
  std::vector<std::string> names = model->state_dict().keys();
  CHECK_EQ(names, std::vector<std::string>{"0.0.weight", "0.0.bias", "2.weight", "2.bias", "5.weight", "5.bias",
                                           "8.weight", "8.bias"});
  std::ostringstream text;
  text << *model;
  CHECK_NE(text.str().find("fused=relu6"), std::string::npos);
  CHECK_NE(text.str().find("folded"), std::string::npos);
  const nn::FuseResult again = nn::fuse(model);
  CHECK_EQ(again.norms + again.activations, 0);
}

TEST_CASE("fuse folds the norms of one and three dimensions") {
  manual_seed(1);
  nn::Sequential one(nn::Conv1d(nn::Conv1dOptions(2, 5, 3)), nn::BatchNorm1d(nn::BatchNorm1dOptions(5)), nn::ReLU());
  nn::Sequential three(nn::Conv3d(nn::Conv3dOptions(2, 5, 2)), nn::BatchNorm3d(nn::BatchNorm3dOptions(5)));
  const auto same = [](nn::Sequential& model, const Tensor& input) {
    randomise(model);
    const Tensor expected = model->forward(input);
    CHECK_EQ(nn::fuse(model).norms, 1);
    CHECK_LT(relative_difference(expected, model->forward(input)), 1e-5);
  };
  same(one, randn({3, 2, 7}));
  same(three, randn({2, 2, 4, 4, 4}));
}

TEST_CASE("a fused model has gradients, copies and a state dict of its own") {
  manual_seed(1);
  nn::Sequential model = network();
  randomise(model);
  const auto original = std::dynamic_pointer_cast<nn::SequentialImpl>(model->clone());
  const Tensor input = randn({2, 3, 6, 6}).requires_grad_(), cotangent = randn({2, 10});
  (original->forward(input) * cotangent).sum().backward();
  const Tensor expected = input.grad().clone();
  input.mutable_grad() = {};
  nn::fuse(model);
  (model->forward(input) * cotangent).sum().backward();
  CHECK_LT(relative_difference(expected, input.grad()), 1e-4);
  CHECK(model->parameters()[0].grad().defined());

  const auto copy = std::dynamic_pointer_cast<nn::SequentialImpl>(model->clone());
  CHECK(copy->forward(input).equal(model->forward(input)));
  copy->load_state_dict(model->state_dict());
  CHECK_NE(error_of([&] { original->load_state_dict(model->state_dict()); }).find("0.1.running_mean"),
           std::string::npos);
  CHECK_NE(error_of([&] { model->load_state_dict(original->state_dict()); }).find("0.1.running_mean"),
           std::string::npos);
}

TEST_CASE("fuse leaves alone what it may not change") {
  manual_seed(1);
  const auto untouched = [](nn::Sequential model, const std::vector<std::string>& remaining) {
    randomise(model);
    const Tensor input = randn({2, 4, 6, 6}), expected = model->forward(input).clone();
    const nn::FuseResult result = nn::fuse(model);
    CHECK_EQ(result.norms, 0);
    CHECK(result.remaining == remaining);
    CHECK(model->forward(input).equal(expected));
  };
  nn::Conv2d twice = conv(4, 4), watched = conv(4, 4);
  untouched(nn::Sequential(twice, norm(4), twice), {"1"});
  watched->register_forward_hook([](nn::Module&, const std::vector<Tensor>&, const Tensor&) {});
  untouched(nn::Sequential(watched, norm(4)), {"1"});
  untouched(nn::Sequential(norm(4), conv(4, 4)), {"0"});
  untouched(nn::Sequential(conv(4, 4), nn::ReLU(), norm(4)), {"2"});
  untouched(nn::Sequential(conv(4, 4), nn::BatchNorm2d(nn::BatchNorm2dOptions(4).track_running_stats(false))), {"1"});
  nn::BatchNorm2d shared = norm(4);
  untouched(nn::Sequential(conv(4, 4), shared, conv(4, 4), shared), {"1", "3"});
}

TEST_CASE("a weight that two layers share changes in the folded one only") {
  manual_seed(1);
  nn::Linear first(4, 4), second(4, 4);
  second->weight = first->weight;
  nn::Sequential model(first, nn::BatchNorm1d(nn::BatchNorm1dOptions(4)), second);
  randomise(model);
  const Tensor before = second->weight.clone(), input = randn({3, 4}), expected = model->forward(input);
  CHECK_EQ(nn::fuse(model).norms, 1);
  CHECK(second->weight.equal(before));
  CHECK_LT(relative_difference(expected, model->forward(input)), 1e-5);
}

TEST_CASE("a fused layer sees every change of its weight") {
  manual_seed(1);
  nn::Sequential model(nn::Conv2d(nn::Conv2dOptions(16, 48, 3).padding(1).bias(false)), norm(48), nn::ReLU());
  randomise(model);
  nn::fuse(model);
  auto& layer = *model->ptr(0)->as<nn::Conv2d>();
  const Tensor input = randn({1, 16, 9, 9});
  // Without a kept copy: gradients are recorded.
  const auto fresh = [&] {
    const AutoGradMode recorded(true);
    return model->forward(input).detach();
  };
  const auto check_after = [&](const char* what, const std::function<void()>& change) {
    INFO(what);
    NoGradGuard no_grad;
    const Tensor before = model->forward(input);
    CHECK(model->forward(input).equal(before));
    change();
    const Tensor after = model->forward(input);
    CHECK_FALSE(after.equal(before));
    CHECK(after.equal(fresh()));
  };
  optim::SGD sgd(model->parameters(), 0.1);
  check_after("an optimizer's step", [&] {
    const AutoGradMode recorded(true);
    model->forward(input).sum().backward();
    sgd.step();
  });
  check_after("copy_", [&] { layer.weight.copy_(randn({48, 16, 3, 3})); });
  check_after("data()", [&] { layer.weight.data().mul_(0.5); });
  check_after("set_data", [&] { layer.weight.set_data(randn({48, 16, 3, 3})); });
  check_after("load_state_dict", [&] {
    auto other = model->state_dict();
    for (auto& item : other) item.value() = randn(item.value().sizes());
    model->load_state_dict(other);
  });
  check_after("another tensor", [&] { layer.replace(randn({48, 16, 3, 3}), layer.bias); });
  check_after("the bias", [&] { layer.bias.mul_(2); });
  NoGradGuard no_grad;
  model->to(kDouble);
  CHECK_EQ(model->forward(input.to(kDouble)).dtype(), kDouble);
  for (const int64_t size : {9, 30, 5}) {  // shapes with other kernels
    const Tensor wide = randn({2, 16, size, size}, TensorOptions(kDouble));
    const AutoGradMode recorded(true);
    const Tensor expected = model->forward(wide).detach();
    const NoGradGuard again;
    CHECK(model->forward(wide).equal(expected));
    CHECK(model->forward(wide).equal(expected));
  }
}

TEST_CASE("forward_residual adds before the activation") {
  manual_seed(1);
  nn::Conv2d layer = conv(4, 40);
  const Tensor input = randn({2, 4, 9, 9}), residual = randn({2, 40, 9, 9});
  const Tensor expected = (layer(input) + residual).relu();
  const auto found = [&] { return layer->forward_residual(input, residual, nn::FusedActivation::kRelu); };
  CHECK(found().equal(expected));
  CHECK(found().requires_grad());
  NoGradGuard no_grad;
  CHECK(found().equal(expected));
  CHECK(layer->forward_residual(input, residual).equal(layer(input) + residual));
  layer->fused = nn::FusedActivation::kRelu;
  CHECK(layer->forward_residual(input, residual).equal(layer(input) + residual));
  CHECK_THROWS_AS(layer->forward_residual(input, Tensor()), Error);
  CHECK_THROWS_AS(layer->forward_residual(input, randn({3, 40, 9, 9})), Error);
}

TEST_CASE("training mode is refused") {
  nn::Sequential model = network();
  CHECK_NE(error_of([&] { nn::fuse(model); }).find("eval()"), std::string::npos);
  CHECK_EQ(model->state_dict().size(), network()->state_dict().size());
  model->eval();
  model->ptr(3)->train();
  CHECK_NE(error_of([&] { nn::fuse(model); }).find("'3' is in training mode"), std::string::npos);
  model->eval();
  nn::fuse(model);
  model->train();
  CHECK_NE(error_of([&] { model->forward(randn({2, 3, 6, 6})); }).find("nn::fuse"), std::string::npos);
  nn::Sequential rows(nn::Linear(4, 4), nn::BatchNorm1d(nn::BatchNorm1dOptions(4)));
  rows->eval();
  CHECK_EQ(nn::fuse(rows).norms, 1);
  CHECK_NE(error_of([&] { rows->forward(randn({2, 4, 4})); }).find("2 dimensions"), std::string::npos);
}

TEST_CASE("which layers, norms and activations fit each other") {
  manual_seed(2);
  const std::vector<std::function<nn::AnyModule()>> layers{
      [] { return nn::AnyModule(nn::Linear(3, 4)); }, [] { return nn::AnyModule(nn::Conv1d(3, 4, 1)); },
      [] { return nn::AnyModule(nn::Conv2d(3, 4, 1)); }, [] { return nn::AnyModule(nn::Conv3d(3, 4, 1)); },
      [] { return nn::AnyModule(nn::ConvTranspose2d(3, 4, 1)); }};
  const std::vector<std::function<nn::AnyModule(int64_t)>> norms{
      [](int64_t n) { return nn::AnyModule(nn::BatchNorm1d(n)); },
      [](int64_t n) { return nn::AnyModule(nn::BatchNorm2d(n)); },
      [](int64_t n) { return nn::AnyModule(nn::BatchNorm3d(n)); }};
  const std::vector<Tensor> inputs{randn({2, 3}), randn({2, 3, 5}), randn({2, 3, 5, 5}), randn({2, 3, 2, 5, 5}),
                                   randn({2, 3, 5, 5})};
  const std::vector<std::size_t> fitting{0, 0, 1, 2, 9};
  for (std::size_t l = 0; l < layers.size(); ++l) {
    for (std::size_t n = 0; n < norms.size(); ++n)
      for (const int64_t channels : {4, 5}) {
        nn::Sequential model;
        model->push_back(layers[l]());
        model->push_back(norms[n](channels));
        model->eval();
        const nn::FuseResult result = nn::fuse(model);
        const bool fits = fitting[l] == n && channels == 4;
        CHECK_EQ(result.norms, fits);
        CHECK(result.remaining == (fits ? std::vector<std::string>{} : std::vector<std::string>{"1"}));
        CHECK_EQ(result.activations, 0);
      }
    const std::vector<std::pair<nn::AnyModule, bool>> activations{{nn::AnyModule(nn::ReLU()), true},
                                                                  {nn::AnyModule(nn::ReLU6()), true},
                                                                  {nn::AnyModule(nn::Hardswish()), true},
                                                                  {nn::AnyModule(nn::GELU()), false},
                                                                  {nn::AnyModule(nn::Identity()), false}};
    for (const auto& [activation, known] : activations) {
      nn::Sequential model;
      model->push_back(layers[l]());
      model->push_back(activation);
      model->eval();
      const Tensor expected = model->forward(inputs[l] * 10);
      CHECK_EQ(nn::fuse(model).activations, known && l < 4);
      CHECK_EQ(model->ptr(1)->as<nn::Identity>() != nullptr, (known && l < 4) || activation.ptr()->as<nn::Identity>());
      CHECK_LT((model->forward(inputs[l] * 10) - expected).abs().max().item<double>(), 1e-5);
    }
  }
  // Only the next one, and only if nobody watches.
  const auto fused = [](nn::Sequential model) {
    randomise(model);
    const Tensor input = randn({2, 4, 6, 6}), expected = model->forward(input);
    const nn::FuseResult result = nn::fuse(model);
    CHECK_LT(relative_difference(expected, model->forward(input)), 1e-5);
    return std::pair<int64_t, int64_t>(result.norms, result.activations);
  };
  using Pair = std::pair<int64_t, int64_t>;
  CHECK(fused(nn::Sequential(conv(4, 4), nn::ReLU(), nn::ReLU6())) == Pair(0, 1));
  CHECK(fused(nn::Sequential(conv(4, 4), norm(4), norm(4), nn::ReLU())) == Pair(1, 0));
  CHECK(fused(nn::Sequential(conv(4, 4), norm(4))) == Pair(1, 0));
  CHECK(fused(nn::Sequential(conv(4, 4))) == Pair(0, 0));
  const auto nothing = [](nn::Module&, const std::vector<Tensor>&, const Tensor&) {};
  nn::ReLU watched_activation;
  watched_activation->register_forward_hook(nothing);
  CHECK(fused(nn::Sequential(conv(4, 4), norm(4), watched_activation)) == Pair(1, 0));
  nn::BatchNorm2d watched_norm = norm(4);
  watched_norm->register_forward_hook(nothing);
  CHECK(fused(nn::Sequential(conv(4, 4), watched_norm, nn::ReLU())) == Pair(0, 0));
  nn::Conv2d watched_layer = conv(4, 4);
  watched_layer->register_forward_hook(nothing);
  CHECK(fused(nn::Sequential(watched_layer, nn::ReLU())) == Pair(0, 0));
  const nn::ReLU shared_activation;  // takes no part of its own
  CHECK(fused(nn::Sequential(conv(4, 4), shared_activation, conv(4, 4), shared_activation)) == Pair(0, 2));
  const nn::Sequential once(conv(4, 4)), twice(conv(4, 4));
  CHECK(fused(nn::Sequential(once, norm(4), nn::Sequential(nn::Sequential(nn::ReLU())))) == Pair(1, 1));
  CHECK(fused(nn::Sequential(twice, norm(4), twice, nn::ReLU())) == Pair(0, 0));
}

TEST_CASE("a folded norm with and without its own weights, behind a layer with and without bias") {
  manual_seed(2);
  for (const bool bias : {false, true})
    for (const bool affine : {false, true}) {
      nn::Sequential net(nn::Conv2d(nn::Conv2dOptions(3, 4, 3).bias(bias)),
                         nn::BatchNorm2d(nn::BatchNorm2dOptions(4).affine(affine).eps(0.1)), nn::Flatten(),
                         nn::Linear(nn::LinearOptions(16, 5).bias(bias)),
                         nn::BatchNorm1d(nn::BatchNorm1dOptions(5).affine(affine)));
      net->to(kDouble);
      randomise(net);
      const Tensor input = randn({2, 3, 4, 4}, TensorOptions(kDouble)), expected = net->forward(input);
      CHECK_EQ(nn::fuse(net).norms, 2);
      CHECK_LT(relative_difference(expected, net->forward(input)), 1e-12);
      CHECK(net->ptr(0)->as<nn::Conv2d>()->bias.requires_grad());
    }
}

TEST_CASE("which convolutions of a fused Sequential return channels-last tensors") {
  using Layouts = std::vector<std::string>;
  const auto layouts = [](nn::Sequential model) {
    model->eval();
    nn::fuse(model);
    Layouts out;
    for (const auto& module : model->modules(false))
      if (const auto* layer = module->as<nn::Conv2d>())
        out.push_back(!layer->layout ? "any" : *layer->layout == MemoryFormat::ChannelsLast ? "last" : "rows");
    return out;
  };
  CHECK(layouts(nn::Sequential(conv(4, 4), nn::ReLU())) == Layouts{"any"});
  CHECK(layouts(nn::Sequential(conv(4, 4), conv(4, 4))) == Layouts{"last", "rows"});
  CHECK(layouts(nn::Sequential(conv(4, 4), norm(4), nn::ReLU(), conv(4, 4), nn::GELU(), conv(4, 4))) ==
        Layouts{"last", "last", "rows"});
  const auto view = nn::Functional([](const Tensor& x) { return x; });
  CHECK(layouts(nn::Sequential(conv(4, 4), view, conv(4, 4))) == Layouts{"any", "any"});
  CHECK(layouts(nn::Sequential(conv(4, 4), conv(4, 4), view, conv(4, 4), conv(4, 4))) ==
        Layouts{"last", "rows", "last", "rows"});
  const nn::Unflatten unflatten(nn::UnflattenOptions(1, std::vector<int64_t>{2, 2}));
  CHECK(layouts(nn::Sequential(conv(4, 4), unflatten, conv(4, 4))) == Layouts{"any", "any"});
  struct Own : nn::Module {
    Tensor forward(const Tensor& x) { return x; }
  };
  CHECK(layouts(nn::Sequential(conv(4, 4), std::make_shared<Own>(), conv(4, 4))) == Layouts{"any", "any"});
  const nn::Conv2d twice = conv(4, 4);
  CHECK(layouts(nn::Sequential(conv(4, 4), twice, conv(4, 4), twice)) == Layouts{"last", "any", "rows", "any"});
}
