// Archives that LibTorch has written (libtorch_files.cpp). This program does not link libtandem_pt, which reads them.
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "tandem/autograd/ops.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/nn/files/archive_value.h"
#include "tandem/nn/layers/activation.h"
#include "tandem/nn/layers/batch_norm.h"
#include "tandem/nn/layers/conv.h"
#include "tandem/nn/layers/linear.h"
#include "tandem/nn/optim/optim.h"
#include "tandem/nn/sequential.h"
#include "tandem/nn/serialize.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using test::error_of;
using test::says;

namespace {

std::string path_of(const std::string& name) { return TANDEM_LIBTORCH_FILES + name + ".pt"; }

struct BlockImpl : nn::Module {
  BlockImpl() {
    register_module("conv", nn::Conv2d(nn::Conv2dOptions(1, 2, 3).bias(false)));
    register_module("bn", nn::BatchNorm2d(2));
    register_parameter("scale", zeros({2, 1, 1}));
    register_buffer("steps", zeros({2}, kLong));
  }
};
TANDEM_MODULE(Block);
struct NetImpl : nn::Module {
  NetImpl() {
    register_module("block", Block());
    register_module("seq", nn::Sequential(nn::Linear(2, 3), nn::ReLU(), nn::Linear(3, 1)));
    register_parameter("shift", zeros({4}));
  }
};
TANDEM_MODULE(Net);

Tensor loss_of(const std::vector<Tensor>& p) {
  return (p[0].pow(2).sum() - 3 * p[0].sum()) / 4 + (p[1] - p[0][0]).pow(4).sum() / 8 + p[1].sum();
}

// The archive with the optimizers, from which parts are taken.
serialize::InputArchive optimizers() {
  serialize::InputArchive all;
  all.load_from(path_of("optimizers"));
  return all;
}

// An optimizer with the parameters of part `name`, each in a group of its own or both in one.
template <class Optimizer, class Options>
struct Restored {
  Restored(const std::string& name, const Options& options, bool two_groups = true) {
    serialize::InputArchive all = optimizers();
    all.read(name, part);
    for (int i = 0; i < 2; ++i) {
      Tensor& p = parameters.emplace_back();
      part.read(concat("before", i), p);
      p = p.clone().requires_grad_();
    }
    std::vector<optim::OptimizerParamGroup> groups;
    if (two_groups)
      for (const Tensor& p : parameters) groups.emplace_back(std::vector<Tensor>{p});
    else
      groups.emplace_back(parameters);
    optimizer = std::make_unique<Optimizer>(groups, options);
  }
  void load() {
    serialize::InputArchive state;
    part.read("optimizer", state);
    optimizer->load(state);
  }
  // One step, and how far it ends from LibTorch's third one.
  double third_step() {
    optimizer->step([&] {
      optimizer->zero_grad();
      const Tensor loss = loss_of(parameters);
      loss.backward();
      return loss;
    });
    double worst = 0;
    for (int i = 0; i < 2; ++i) {
      Tensor after;
      part.read(concat("after", i), after);
      worst = std::max(worst, (parameters[i].detach() - after).abs().max().template item<double>());
    }
    return worst;
  }
  serialize::InputArchive part;
  std::vector<Tensor> parameters;
  std::unique_ptr<Optimizer> optimizer;
};

// Loads the state into an optimizer with other options and steps as LibTorch did. Without the state it would not.
template <class Optimizer, class Options>
void continues(const std::string& name, const Options& options, bool two_groups = true) {
  CAPTURE(name);
  Restored<Optimizer, Options> fresh(name, options, two_groups), restored(name, options, two_groups);
  restored.load();
  CHECK_LT(restored.third_step(), 1e-6);
  CHECK_GT(fresh.third_step(), 1e-3);
}

}  // namespace

TEST_CASE("a module that LibTorch has saved") {
  Net net;
  load(net, path_of("module"));
  const auto parameters = net->named_parameters();
  CHECK_EQ(parameters.size(), 9);
  double k = 0;
  for (const auto& item : parameters) {
    CAPTURE(item.key());
    const Tensor expected = (arange(item.value().numel()) / 8. + k++).view(item.value().sizes());
    CHECK(item.value().equal(expected));
  }
  const auto buffers = net->named_buffers();
  CHECK(buffers["block.steps"].equal(tensor({3, 4}, kLong)));
  CHECK(buffers["block.bn.running_var"].equal(ones({2})));

  // From a stream, from memory and by calls.
  std::ostringstream text;
  text << std::ifstream(path_of("module"), std::ios::binary).rdbuf();
  const std::string bytes = std::move(text).str();
  const auto shift = [&](auto&&... source) {
    Net again;
    load(again, std::forward<decltype(source)>(source)...);
    return again->named_parameters()["shift"];
  };
  std::istringstream stream(bytes);
  const Tensor expected = parameters["shift"];
  CHECK(shift(stream).equal(expected));
  CHECK(shift(bytes.data(), bytes.size(), Device(kCPU)).equal(expected));
  const auto read = [&](uint64_t at, void* to, std::size_t n) { return bytes.copy(static_cast<char*>(to), n, at); };
  CHECK(shift(read, [&] { return bytes.size(); }).equal(expected));

  nn::Linear other(2, 3);
  CHECK(says(error_of([&] { load(other, path_of("module")); }), "weight"));
  CHECK(says(error_of([&] { load(other, bytes.data(), bytes.size() - 1); }), "memory: "));
}

TEST_CASE("tensors that LibTorch has saved") {
  Tensor t;
  load(t, path_of("tensor"));
  CHECK(t.equal(arange(6).view({2, 3}).t()));
  std::vector<Tensor> all;
  load(all, path_of("vector"));
  REQUIRE_EQ(all.size(), 5);
  CHECK(all[0].equal(ones({2})));
  CHECK(all[1].equal(full({2, 2}, 0.5, kHalf)));
  CHECK(all[2].equal(tensor({true, false})));
  CHECK_EQ(all[3].sizes(), IntArrayRef({0, 3}));
  CHECK_EQ(all[4].item<int>(), 5);
  CHECK_EQ(all[4].dtype(), kInt);
}

TEST_CASE("an archive of LibTorch with values and archives in it") {
  serialize::InputArchive all = optimizers();
  CHECK(all.keys() == std::vector<std::string>{"sgd", "adam", "adamw", "rmsprop", "adagrad", "lbfgs", "epoch", "name"});
  int64_t epoch = 0;
  std::string name;
  all.read("epoch", epoch);
  all.read("name", name);
  CHECK_EQ(epoch, 3);
  CHECK_EQ(name, "a net");
}

TEST_CASE("optimizers continue where LibTorch has saved them") {
  continues<optim::SGD>("sgd", optim::SGDOptions(1));
  continues<optim::Adam>("adam", optim::AdamOptions(1));
  continues<optim::AdamW>("adamw", optim::AdamWOptions(1));
  continues<optim::RMSprop>("rmsprop", optim::RMSpropOptions(1));
  continues<optim::Adagrad>("adagrad", optim::AdagradOptions(1));
  continues<optim::LBFGS>("lbfgs", optim::LBFGSOptions(1), false);

  Restored<optim::Adam, optim::AdamOptions> adam("adam", optim::AdamOptions(1).maximize(true));
  adam.load();
  const auto& options = static_cast<optim::AdamOptions&>(adam.optimizer->param_groups()[1].options());
  CHECK_EQ(options.lr(), 0.005);
  CHECK(options.betas() == std::make_tuple(0.8, 0.99));
  CHECK(options.amsgrad());
  CHECK(options.maximize());  // LibTorch has no such option: it stays
  const auto& state = static_cast<optim::AdamParamState&>(*adam.optimizer->state().at(adam.parameters[1].impl()));
  CHECK_EQ(state.step(), 2);
  CHECK_EQ(state.max_exp_avg_sq().sizes(), IntArrayRef({3}));

  Restored<optim::LBFGS, optim::LBFGSOptions> lbfgs("lbfgs", optim::LBFGSOptions(1), false);
  lbfgs.load();
  const auto& line = static_cast<optim::LBFGSOptions&>(lbfgs.optimizer->param_groups()[0].options());
  CHECK(line.line_search_fn() == std::string("strong_wolfe"));
  CHECK(line.max_eval() == 3);
}

TEST_CASE("an optimizer that does not fit LibTorch's is left as it is") {
  Restored<optim::SGD, optim::SGDOptions> r("adam", optim::SGDOptions(0.25));
  CHECK(says(error_of([&] { r.load(); }), "SGD.load: the options of group 0: this optimizer has no beta1"));
  CHECK_EQ(r.optimizer->param_groups()[0].options().get_lr(), 0.25);
  CHECK(r.optimizer->state().empty());
  Restored<optim::SGD, optim::SGDOptions> one("sgd", optim::SGDOptions(0.25), false);
  CHECK(says(error_of([&] { one.load(); }), "SGD.load: 2 parameter groups were saved, but this optimizer has 1"));

  // What a damaged archive may claim.
  const auto refusal = [](auto&& change) {
    serialize::InputArchive part, state;
    serialize::InputArchive all = optimizers();
    all.read("sgd.optimizer", part);
    auto tensors = part.tensors();
    auto texts = part.metadata();
    change(tensors, texts);
    Restored<optim::SGD, optim::SGDOptions> sgd("sgd", optim::SGDOptions(0.25));
    serialize::InputArchive damaged(tensors, texts);
    const std::string error = error_of([&] { sgd.optimizer->load(damaged); });
    CHECK_EQ(sgd.optimizer->param_groups()[0].options().get_lr(), 0.25);
    return error;
  };
  const std::string groups = "param_groups.param_groups/";
  CHECK(says(refusal([&](auto& tensors, auto&) { tensors[groups + "0.params/size"] = tensor(int64_t{1} << 62); }),
             "'param_groups.param_groups/0.params/1'"));
  CHECK(says(refusal([&](auto& tensors, auto&) {
               tensors[groups + "0.params/size"] = tensor({1, 2});
             }),
             "is not one integer"));
  CHECK(says(refusal([&](auto& tensors, auto&) { tensors[groups + "size"] = tensor(1.5); }), "is not one integer"));
  CHECK(says(refusal([&](auto& tensors, auto&) { tensors[groups + "size"] = tensor(-1); }),
             "-1 parameter groups were saved"));
  CHECK(says(refusal([&](auto&, auto& texts) { texts[groups + "1.params/0"] = texts[groups + "0.params/0"]; }),
             "parameter 0 of group 1 was saved twice"));
  CHECK(says(refusal([&](auto& tensors, auto&) { tensors.insert(groups + "0.options.amsgrad", ones({1})); }),
             "the options of group 0: amsgrad is a tensor"));
  CHECK(says(refusal([&](auto&, auto& texts) { texts[groups + "0.params/0"] = "ivalue:i5;"; }), "is not a text"));
  CHECK(says(refusal([&](auto& tensors, auto& texts) {
               const std::string address = serialize::parse_value("", texts[groups + "0.params/0"], {}).toStringRef();
               tensors["state." + address + ".momentum_buffer"] = ones({1}).expand({int64_t{1} << 40});
             }),
             "has more elements than its storage"));
  CHECK(says(refusal([&](auto&, auto& texts) {
               const std::string address = serialize::parse_value("", texts[groups + "0.params/0"], {}).toStringRef();
               texts.insert("state." + address + ".x", "ivalue:m1:i1;i1;");
             }),
             "is neither a number nor a list of tensors"));
  CHECK_NE(refusal([&](auto&, auto& texts) { texts[groups + "0.options.lr"] = texts[groups + "0.params/0"]; }), "");
  CHECK_NE(refusal([&](auto&, auto& texts) { texts[groups + "0.options.nesterov"] = "ivalue:n"; }), "");
}
