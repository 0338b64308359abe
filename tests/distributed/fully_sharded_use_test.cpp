// FullyShardedDataParallel: what is kept where, accumulation, evaluation, clipping, and what is refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/models/gpt2.h"
#include "tandem/parallel/shared/model_sync.h"
#include "tandem/tests/distributed/fully_sharded.h"

namespace tandem::distributed {
namespace {

using testing::identical;
using Sequential = FullyShardedDataParallel<nn::SequentialImpl>;

Tensor inputs(int rank, int step = 0) {
  const GeneratorGuard guard{Generator(static_cast<uint64_t>(100 * step + rank + 1))};
  return randn({5, 7});
}

nn::Sequential perceptron() {
  const GeneratorGuard guard{Generator(3)};
  return nn::Sequential(nn::Linear(7, 9), nn::Tanh(), nn::Linear(9, 5), nn::Tanh(), nn::Linear(5, 3));
}

Tensor loss_of(const Tensor& y) { return y.pow(2).mean(); }

Tensors gradients(const nn::Module& module) {
  Tensors out;
  for (const Tensor& p : module.parameters())
    out.push_back(p.grad().defined() ? p.grad().clone() : zeros(p.sizes(), p.dtype()));
  return out;
}

// The whole gradients, from the slices of all ranks, in the order of slices() and of the parameters in them.
std::map<std::string, Tensor> whole_gradients(const FullyShardedDataParallelBase& model) {
  const NoGradGuard no_grad;
  std::map<std::string, Tensor> out;
  for (const ShardedSlice& slice : model.slices()) {
    const Tensor all = gather_rows(*model.process_group(), slice.slice.grad());
    for (const auto& p : slice.parameters) out[p.name] = all.narrow(0, p.offset, p.numel).view(p.sizes).clone();
  }
  return out;
}

void check_gradients(const FullyShardedDataParallelBase& model, const nn::Module& expected_of,
                     const Tensors& expected) {
  const auto whole = whole_gradients(model);
  const auto names = expected_of.named_parameters().keys();
  REQUIRE(names.size() == whole.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    CAPTURE(names[i]);
    CHECK(identical(whole.at(names[i]), expected[i]));
  }
}

// What a group of ranks holds between the steps of training, and at most, in bytes.
struct Use {
  int64_t forward = 0;  // between forward and backward
  int64_t after = 0, peak = 0;
  int64_t slices = 0;  // of parameters, without optimizer and gradients
};

// With autocast if gathers are rounded.
template <class Make>
Use memory_of_training(int size, const Make& make, const std::function<Tensor()>& input,
                       FullyShardedDataParallelOptions options) {
  Use use;
  on_ranks(size, [&](const GroupPtr& group) {
    const auto alone = [&](const std::function<void()>& f) {
      group->barrier()->wait();
      if (group->rank() == 0) f();
      group->barrier()->wait();
    };
    const Tensor x = input();
    int64_t before = 0;
    alone([&] { before = memory_stats(kCPU).current_bytes; });
    auto net = make();
    using Net = typename decltype(net)::ContainedType;
    FullyShardedDataParallelOptions own = options;
    own.process_group = group;
    FullyShardedDataParallel<Net> model(net, own);
    optim::Adam adam(model->parameters(), optim::AdamOptions(1e-3));
    alone([&] { reset_peak_memory_stats(kCPU); });
    for (int step = 0; step < 3; ++step) {
      adam.zero_grad();
      Tensor loss;
      {
        const autocast::AutocastGuard guard(kCPU, kBFloat16, own.gather_rounded);
        loss = loss_of(model->forward(x));
      }
      alone([&] { use.forward = memory_stats(kCPU).current_bytes - before; });
      loss.backward();
      adam.step();
    }
    alone([&] {
      use.after = memory_stats(kCPU).current_bytes - before;
      use.peak = memory_stats(kCPU).peak_bytes - before;
      for (const Tensor& slice : model->parameters()) use.slices += size * static_cast<int64_t>(slice.nbytes());
    });
  });
  return use;
}

// reduce_scatter packs and receives 4 MiB each at a time.
constexpr int64_t kRounds = 8 << 20;

}  // namespace

TEST_CASE("the memory of a rank is its part of parameters, gradients and state, and three units or two") {
  if (!available()) return;
  static constexpr int64_t kWidth = 2048, kLayers = 3, kUnit = 4 * (kWidth * kWidth + kWidth),  // 16 MiB and a bias
      kActivations = kLayers * 8 * 4 * 2 * kWidth;
  const auto make = [] {
    nn::Sequential net;
    for (int i = 0; i < kLayers; ++i) net->push_back(nn::Linear(kWidth, kWidth));
    return net;
  };
  const auto input = [] { return randn({2, kWidth}); };
  struct Case {
    FullyShardedDataParallelOptions options;
    int64_t most;
  };
  for (const int size : {1, 2, 4})
    for (const Case& each : {Case{{.overlap = true}, 3 * kUnit + kRounds}, Case{{.overlap = false}, 2 * kUnit},
                             Case{{.gather_rounded = true}, 2 * kUnit + kRounds}}) {
      CAPTURE(size);
      CAPTURE(each.most);
      const Use use = memory_of_training(size, make, input, each.options);
      CHECK(use.slices == kLayers * kUnit);                        // 16 divides the bias
      CHECK(use.after == 4 * use.slices);                          // parameters, gradients and two averages
      CHECK(use.forward <= 3 * use.slices + size * kActivations);  // no gradients and no whole unit
      // The first unit's slices have no gradient while backward is there.
      CHECK(use.peak <= 4 * use.slices + size * (each.most + kActivations) - kUnit);
    }
}

// Where the gradients of its embedding and of its head meet, which also takes that memory in one process, the root's
// values have been released, and the gradients of one block are on their way.
TEST_CASE("the memory of GPT-2, whose root is the largest unit") {
  if (!available()) return;
  static constexpr int64_t kWidth = 192, kVocabulary = 16384, kPositions = 16, kLayers = 4, kTokens = 4;
  constexpr int64_t kRoot = 4 * kWidth * (kVocabulary + kPositions + 2), kBlock = 4 * kWidth * (12 * kWidth + 13),
                    kActivations = 8 * 4 * kTokens * kVocabulary;
  const auto make = [] {
    return models::GPT2LMHeadModel(models::GPT2Options()
                                       .vocab_size(kVocabulary)
                                       .n_positions(kPositions)
                                       .n_embd(kWidth)
                                       .n_layer(kLayers)
                                       .n_head(4));
  };
  const auto input = [] { return randint(kVocabulary, {1, kTokens}, kLong); };
  for (const int size : {2, 4})
    for (const bool overlap : {true, false}) {
      CAPTURE(size);
      CAPTURE(overlap);
      const Use use = memory_of_training(size, make, input, {.overlap = overlap});
      CHECK(use.slices == kRoot + kLayers * kBlock);
      CHECK(use.after == 4 * use.slices);
      CHECK(use.peak <= 4 * use.slices + size * (2 * kRoot + 2 * kBlock + kActivations) - kRoot);
    }
}

TEST_CASE("slices, units and names") {
  if (!available()) return;
  on_ranks(3, [&](const GroupPtr& group) {
    auto net = perceptron();
    const auto values = perceptron()->named_parameters();
    Sequential model(net, {.process_group = group});
    const auto slices = model->slices();
    REQUIRE(slices.size() == 3);
    CHECK(slices[1].unit == "2");
    CHECK(slices[1].parameters[1].name == "2.bias");
    CHECK(slices[1].parameters[0].sizes == std::vector<int64_t>{5, 9});
    CHECK(slices[1].parameters[1].offset == 48);
    CHECK(model->named_parameters().keys() == std::vector<std::string>{"0.flat", "2.flat", "4.flat"});
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const Tensor p = model->parameters()[i];
      CHECK(p.is_leaf());
      CHECK(p.requires_grad());
      CHECK(p.impl() == slices[i].slice.impl());
      CHECK(p.numel() % 16 == 0);
    }
    for (const auto& [name, value] : model->gather_parameters()) CHECK(identical(value, values[name].detach()));
    for (const Tensor& p : net->parameters()) CHECK(p.numel() == 0);
    CHECK_THROWS_AS(linear(inputs(0), net->parameters()[0]), Error);
  });
}

TEST_CASE("accumulation: every pass is averaged, or only the last one") {
  if (!available()) return;
  for (const int size : {1, 2, 3}) {
    CAPTURE(size);
    on_ranks(size, [&](const GroupPtr& group) {
      const int rank = group->rank();
      const auto mean = [&](Tensor t) {
        group->all_reduce(t, ReduceOp::AVG)->wait();
        return t;
      };
      // The gradients of two batches on this rank.
      Tensors first, second;
      auto net = perceptron();
      for (int step = 0; step < 2; ++step) {
        net->zero_grad();
        loss_of(net->forward(inputs(rank, step))).backward();
        (step == 0 ? first : second) = gradients(*net);
      }
      Sequential model(perceptron(), {.process_group = group});
      const auto run = [&](int step) { loss_of(model->forward(inputs(rank, step))).backward(); };
      run(0);
      run(1);
      Tensors expected;
      for (std::size_t i = 0; i < first.size(); ++i)
        expected.push_back(mean(first[i].clone()) + mean(second[i].clone()));
      if (size < 3) check_gradients(*model, *net, expected);

      model->zero_grad();
      {
        const auto guard = model->no_sync();
        run(0);
        for (const Tensor& slice : model->parameters()) CHECK(!slice.grad().defined());
      }
      run(1);
      expected.clear();
      for (std::size_t i = 0; i < first.size(); ++i) expected.push_back(mean(first[i] + second[i]));
      if (size < 3) check_gradients(*model, *net, expected);

      {  // zero_grad() also forgets what no_sync() has left
        const auto guard = model->no_sync();
        run(0);
      }
      model->zero_grad();
      run(1);
      expected.clear();
      for (const Tensor& each : second) expected.push_back(mean(each.clone()));
      if (size < 3) check_gradients(*model, *net, expected);

      model->zero_grad();  // two passes through one graph, and two forwards before two backwards
      const Tensor twice = loss_of(model->forward(inputs(rank, 1)));
      twice.backward({}, /*retain_graph=*/true);
      twice.backward();
      expected.clear();
      for (const Tensor& each : second) expected.push_back(2 * mean(each.clone()));
      if (size < 3) check_gradients(*model, *net, expected);

      model->zero_grad();
      const Tensor a = loss_of(model->forward(inputs(rank, 1))), b = loss_of(model->forward(inputs(rank, 1)));
      a.backward();
      b.backward();
      if (size < 3) check_gradients(*model, *net, expected);
    });
  }
}

TEST_CASE("gathers in autocast's half type") {
  if (!available()) return;
  const auto make = [] {
    const GeneratorGuard guard{Generator(3)};
    return nn::Sequential(nn::Linear(7, 9), nn::LayerNorm(nn::LayerNormOptions({9})), nn::Linear(9, 5));
  };
  for (const ScalarType dtype : {kBFloat16, kHalf})
    on_ranks(2, [&](const GroupPtr& group) {
      const int rank = group->rank();
      auto net = make(), whole = make();
      Sequential model(net, {.process_group = group, .gather_rounded = true});
      CHECK(model->named_parameters().keys() == std::vector<std::string>{"0.flat_rounded", "1.flat", "2.flat_rounded"});
      std::vector<ScalarType> seen;
      for (std::size_t i = 0; i < 3; ++i)
        net->ptr(i)->register_forward_pre_hook(
            [&](nn::Module& module, const Tensors&) { seen.push_back(module.parameters()[0].dtype()); });
      const auto in_half = [&](auto& of, int step) {
        const autocast::AutocastGuard guard(kCPU, dtype);
        return loss_of(of->forward(inputs(rank, step)));
      };
      const Tensor loss = in_half(model, 0);
      CHECK(seen == std::vector<ScalarType>{dtype, kFloat, dtype});
      const std::string calls = group->recent_calls();
      for (const char* const sent : {"all_gather [48]", "all_gather [32]"})  // 9 · 7 + 9 and 5 · 9 + 5, with gaps
        CHECK(calls.find(concat(sent, " ", dtype)) != std::string::npos);
      CHECK(calls.find("all_gather [16] float32") != std::string::npos);
      {  // without autocast everything is exact, also before the backward of the other pass
        const NoGradGuard no_grad;
        CHECK(identical(model->forward(inputs(rank)), whole->forward(inputs(rank))));
        const auto expected = whole->named_parameters();
        for (const auto& [name, value] : model->gather_parameters()) CHECK(identical(value, expected[name].detach()));
      }
      const auto mean_gradients = [&] {
        Tensors out = gradients(*whole);
        for (const Tensor& g : out) group->all_reduce(g, ReduceOp::AVG)->wait();
        return out;
      };
      loss.backward();
      in_half(whole, 0).backward();
      check_gradients(*model, *whole, mean_gradients());
      for (const Tensor& p : model->parameters()) CHECK(p.grad().dtype() == kFloat);

      model->zero_grad();  // sums of several passes are float32, too
      whole->zero_grad();
      {
        const auto guard = model->no_sync();
        for (const int step : {0, 1}) in_half(model, step).backward();
      }
      in_half(model, 2).backward();
      for (const int step : {0, 1, 2}) in_half(whole, step).backward();
      check_gradients(*model, *whole, mean_gradients());

      // Gradients that are too large for float16 on one rank.
      optim::SGD sgd(model->parameters(), 0.1);
      amp::GradScaler scaler;
      const Tensor before = model->gather_parameters()["0.weight"];
      for (const bool finite : {dtype == kBFloat16, true}) {
        sgd.zero_grad();
        scaler.scale(in_half(model, 0) * (finite ? 1.0 : rank == 0 ? 1e5 : 1.0)).backward();
        const Tensor found = scaler.divide_gradients(sgd);
        group->all_reduce(found, ReduceOp::MAX)->wait();
        CHECK(scaler.step(sgd, found) == finite);
        scaler.update();
        CHECK(identical(model->gather_parameters()["0.weight"], before) != finite);
      }
    });
}

TEST_CASE("evaluation, with other values after a step") {
  if (!available()) return;
  for (const bool reshard : {true, false})
    on_ranks(2, [&](const GroupPtr& group) {
      auto whole = perceptron();
      Sequential model(perceptron(), {.process_group = group, .reshard_after_forward = reshard});
      optim::SGD sgd(model->parameters(), 0.5);
      for (int step = 0; step < 3; ++step) {
        const auto values = model->gather_parameters();
        {
          const NoGradGuard no_grad;
          for (auto& item : whole->named_parameters()) item.value().copy_(values[item.key()]);
          model->eval();
          CHECK(!model->module()->is_training());
          const Tensor x = inputs(group->rank(), step);
          CHECK(identical(model->forward(x), whole->forward(x)));
          {
            const InferenceMode inference;
            CHECK(identical(model->forward(x), whole->forward(x)));
          }
          model->train();
        }
        sgd.zero_grad();
        loss_of(model->forward(inputs(group->rank(), step))).backward();
        sgd.step();
      }
    });
}

TEST_CASE("clipping by the norm over all ranks") {
  if (!available()) return;
  for (const double type : {1.0, 2.0, std::numeric_limits<double>::infinity()})
    on_ranks(3, [&](const GroupPtr& group) {
      CAPTURE(type);
      Sequential model(perceptron(), {.process_group = group});
      loss_of(model->forward(inputs(0))).backward();
      auto net = perceptron();
      loss_of(net->forward(inputs(0))).backward();
      const double norm = nn::utils::clip_grad_norm_(net->parameters(), 0.01, type);
      CHECK(model->clip_grad_norm_(0.01, type) == doctest::Approx(norm));
      for (const auto& [name, gradient] : whole_gradients(*model))
        CHECK(allclose(gradient, net->named_parameters()[name].grad(), 1e-4, 1e-7));
      CHECK(model->clip_grad_norm_(1, type) == doctest::Approx(0.01).epsilon(0.001));  // changes nothing
    });
}

TEST_CASE("units without a gradient get zeros; autograd::grad averages nothing") {
  if (!available()) return;
  on_ranks(2, [&](const GroupPtr& group) {
    struct TwoWays : nn::Module {
      TwoWays() {
        ways->push_back(perceptron());
        ways->push_back(perceptron());
        register_module("ways", ways);
      }
      Tensor forward(const Tensor& x, bool first) { return nn::call(*ways->ptr<nn::SequentialImpl>(first ? 0 : 1), x); }
      nn::ModuleList ways;
    };
    FullyShardedDataParallel<TwoWays> model(std::make_shared<TwoWays>(), {.process_group = group});
    for (const bool first : {true, false, true}) {
      model->zero_grad();
      const Tensor x = inputs(group->rank()).requires_grad_();
      const Tensor loss = loss_of(model->forward(x, first));
      CHECK(autograd::grad({loss}, {x}, {}, true)[0].sizes() == x.sizes());
      for (const Tensor& slice : model->parameters()) CHECK(!slice.grad().defined());
      loss.backward();
      const auto parameters = model->named_parameters();
      const std::string used = first ? "ways.0.flat" : "ways.1.flat", other = first ? "ways.1.flat" : "ways.0.flat";
      CHECK(parameters[used].grad().norm().item<float>() > 0);
      CHECK(identical(parameters[other].grad(), zeros(parameters[other].sizes())));
    }
  });
}

TEST_CASE("units that a rule names, one in another, of two dtypes, with outputs of other kinds") {
  if (!available()) return;
  struct Odd : nn::Module {
    Odd() {
      scale = register_parameter("scale", full({3, 7}, 1.5));
      wide = register_parameter("wide", full({1}, 2.0, kDouble));
      inner = register_module("inner", nn::Linear(7, 7));
    }
    // A view of a parameter, and no single tensor.
    std::pair<Tensor, Tensor> forward(const Tensor& x) { return {inner(x), wide}; }
    Tensor scale, wide;
    nn::Linear inner{nullptr};
  };
  struct View : nn::Module {
    View() { weight = register_parameter("weight", ones({7, 7})); }
    Tensor forward(const Tensor&) { return weight.view({49}).narrow(0, 0, 7); }
    Tensor weight;
  };
  struct Net : nn::Module {
    Net() {
      odd = register_module("odd", std::make_shared<Odd>());
      view = register_module("view", std::make_shared<View>());
    }
    Tensor forward(const Tensor& x) {
      const auto [y, wide] = nn::call(*odd, x);
      return (y * nn::call(*view, x)).sum(1) * 2;
    }
    std::shared_ptr<Odd> odd;
    std::shared_ptr<View> view;
  };
  const auto make = [] {
    const GeneratorGuard guard{Generator(3)};
    return std::make_shared<Net>();
  };
  on_ranks(2, [&](const GroupPtr& group) {
    FullyShardedDataParallel<Net> model(
        make(), {.process_group = group,
                 .is_unit = [](const std::string& name, const nn::Module&) { return name != "odd.unused"; }});
    CHECK(model->named_parameters().keys() ==
          std::vector<std::string>{"odd.flat", "odd.flat_float64", "odd.inner.flat", "view.flat"});
    const auto net = make();
    loss_of(net->forward(inputs(0))).backward();
    loss_of(model->forward(inputs(0))).backward();
    check_gradients(*model, *net, gradients(*net));
  });
}

TEST_CASE("a forward that returns nothing") {
  if (!available()) return;
  struct Keeper : nn::Module {
    Keeper() { net = register_module("net", perceptron()); }
    void forward(const Tensor& x, double factor) { last = net->forward(x) * factor; }
    nn::Sequential net{nullptr};
    Tensor last;
  };
  on_ranks(2, [&](const GroupPtr& group) {
    FullyShardedDataParallel<Keeper> model(std::make_shared<Keeper>(), {.process_group = group});
    const NoGradGuard no_grad;
    model->forward(inputs(0), 2);
    CHECK(identical(model->module()->last, perceptron()->forward(inputs(0)) * 2));
    for (const Tensor& p : model->module()->parameters()) CHECK(p.numel() == 0);
  });
}

TEST_CASE("wrapping gives every rank the parameters and buffers of rank 0") {
  if (!available()) return;
  on_ranks(3, [&](const GroupPtr& group) {
    const auto make = [](int rank) {
      const GeneratorGuard guard{Generator(static_cast<uint64_t>(rank))};
      nn::Sequential net(nn::Linear(7, 5), nn::BatchNorm1d(5));
      const NoGradGuard no_grad;
      for (const Tensor& buffer : net->buffers()) Tensor(buffer).fill_(rank + 2);
      return net;
    };
    Sequential model(make(group->rank()), {.process_group = group});
    const auto expected = make(0);
    const auto parameters = expected->named_parameters(), buffers = expected->named_buffers();
    for (const auto& [name, value] : model->gather_parameters()) CHECK(identical(value, parameters[name].detach()));
    for (const auto& [name, value] : model->named_buffers()) CHECK(identical(value, buffers[name]));
    CHECK(model->named_buffers().keys() == buffers.keys());
  });
}

TEST_CASE("a rank's slices are saved and loaded as they are") {
  if (!available()) return;
  on_ranks(2, [&](const GroupPtr& group) {
    Sequential model(perceptron(), {.process_group = group}),
        other(nn::Sequential(nn::Linear(7, 9), nn::Tanh(), nn::Linear(9, 5), nn::Tanh(), nn::Linear(5, 3)),
              {.process_group = group});
    serialize::OutputArchive saved;
    model->save(saved);
    serialize::InputArchive archive(saved.tensors(), saved.metadata());
    other->load(archive);
    const auto expected = perceptron()->named_parameters();
    for (const auto& [name, value] : other->gather_parameters()) CHECK(identical(value, expected[name].detach()));
    const NoGradGuard no_grad;
    CHECK(identical(other->forward(inputs(0)), perceptron()->forward(inputs(0))));
  });
}

TEST_CASE("a scaler that all ranks ask") {
  if (!available()) return;
  on_ranks(2, [&](const GroupPtr& group) {
    Sequential model(perceptron(), {.process_group = group});
    optim::SGD sgd(model->parameters(), 0.1);
    amp::GradScaler scaler;
    const auto before = model->gather_parameters();
    for (const bool finite : {false, true}) {
      sgd.zero_grad();
      scaler.scale(loss_of(model->forward(inputs(group->rank())))).backward();
      if (!finite && group->rank() == 1) model->parameters()[0].grad()[3] = std::numeric_limits<float>::infinity();
      const Tensor found = scaler.divide_gradients(sgd);
      group->all_reduce(found, ReduceOp::MAX)->wait();
      CHECK(scaler.step(sgd, found) == finite);
      scaler.update();
      CHECK(identical(model->gather_parameters()["0.weight"], before["0.weight"]) != finite);
    }
  });
}

TEST_CASE("an optimizer that was made before wrapping is refused at its first step, and at zero_grad") {
  if (!available()) return;
  on_ranks(2, [&](const GroupPtr& group) {
    const auto net = perceptron();
    optim::SGD sgd(net->parameters(), 0.1);
    optim::NAdam composed(net->parameters());
    optim::LBFGS with_closure(net->parameters());
    Sequential model(net, {.process_group = group});
    const auto loss = [&] {
      const Tensor value = loss_of(model->forward(inputs(group->rank())));
      value.backward();
      return value;
    };
    loss();
    const auto refused = doctest::Contains("make the optimizer after wrapping, of the wrapped model's parameters()");
    for (optim::Optimizer* optimizer : std::initializer_list<optim::Optimizer*>{&sgd, &composed, &with_closure}) {
      CHECK_THROWS_WITH_AS(optimizer->step(loss), refused, Error);
      CHECK_THROWS_WITH_AS(optimizer->zero_grad(), refused, Error);
    }
    optim::SGD(model->parameters(), 0.1).step(loss);
  });
}

TEST_CASE("what is refused") {
  if (!available()) return;
  CHECK_THROWS_WITH_AS(
      Sequential{perceptron()},
      "FullyShardedDataParallel: there is no process group; call distributed::init_process_group() first", Error);
  on_ranks(2, [&](const GroupPtr& group) {
    const auto wrap = [&](const nn::Sequential& net) { return Sequential(net, {.process_group = group}); };
    CHECK_THROWS_WITH_AS(wrap(nn::Sequential(nn::ReLU())), "FullyShardedDataParallel: the module has no parameters",
                         Error);
    CHECK_THROWS_WITH_AS(wrap(nn::Sequential(nn::Linear(3 + group->rank(), 2))),
                         doctest::Contains("the model of rank 1 differs"), DistributedError);
    auto net = perceptron();
    Sequential model = wrap(net);
    CHECK_THROWS_WITH_AS(model->to(kDouble), doctest::Contains("before wrapping"), Error);
    CHECK_THROWS_WITH_AS(model->to(kCPU), doctest::Contains("before wrapping"), Error);
    CHECK_THROWS_WITH_AS(optim::SGD(net->parameters(), 0.1), doctest::Contains("of the wrapped model's parameters()"),
                         Error);
    CHECK_THROWS_AS(model->clip_grad_norm_(1, -1), Error);
  });
  const int devices = cpu::device_count();
  cpu::set_device_count(std::max(devices, 2));
  on_ranks(2, [&](const GroupPtr& group) {
    for (const bool both : {false, true}) {
      auto net = perceptron();
      (both ? net->ptr(2) : std::shared_ptr<nn::Module>(net.ptr()))->to(Device(kCPU, 1));
      CHECK_THROWS_WITH_AS(
          (Sequential{net, {.process_group = group}}),
          doctest::Contains(both ? "parameter 2.weight is on cpu:1, but" : "parameter 0.weight is on cpu:1, but"),
          Error);
    }
  });
  cpu::set_device_count(devices);
  const auto errors_after = [&](const std::function<void(nn::Sequential&)>& change) {
    return errors_on_ranks(2, [&](const GroupPtr& group) {
      auto net = perceptron();
      Sequential model(net, {.process_group = group});
      change(net);
      model->forward(inputs(0));
    });
  };
  for (const std::string& error : errors_after([](nn::Sequential& net) { net->parameters()[1].set_data(ones({9})); }))
    CHECK(error.find("parameter 0.bias has changed since the model was wrapped\n  it is [9] ") != std::string::npos);
  for (const bool rounded : {false, true})  // what somebody else has put there stays as it is
    on_ranks(2, [&](const GroupPtr& group) {
      auto net = perceptron();
      Sequential model(net, {.process_group = group, .gather_rounded = rounded});
      const Tensor given = arange(9, kFloat), changed = net->parameters()[1];
      const autocast::AutocastGuard guard(kCPU, kBFloat16, rounded);
      changed.set_data(given);
      CHECK_THROWS_WITH_AS(model->forward(inputs(0)), doctest::Contains("parameter 0.bias has changed"), Error);
      CHECK(identical(changed.detach(), given));
    });
  for (const std::string& error : errors_after([](nn::Sequential& net) { net->parameters()[1].requires_grad_(false); }))
    CHECK(error.find("parameter 0.bias was frozen after the model was wrapped") != std::string::npos);
  for (const std::string& error : errors_on_ranks(2, [&](const GroupPtr& group) {
         Sequential model(perceptron(), {.process_group = group});
         loss_of(model->forward(inputs(0))).backward({}, true, /*create_graph=*/true);
       }))
    CHECK(error.find("create_graph") != std::string::npos);
  for (const std::string& error : errors_on_ranks(2, [&](const GroupPtr& group) {
         Sequential model(perceptron(), {.process_group = group});
         optim::SGD sgd(model->parameters(), 0.1);
         loss_of(model->forward(inputs(0))).backward();
         const Tensor loss = loss_of(model->forward(inputs(0)));
         sgd.step();
         loss.backward();
       }))
    CHECK(error.find("overwritten by a gather of parameters that an optimizer has changed") != std::string::npos);
  on_ranks(2, [&](const GroupPtr& group) {
    auto net = perceptron();
    Tensor loss;
    {
      Sequential model(net, {.process_group = group});
      loss = loss_of(model->forward(inputs(0)));
    }
    CHECK_THROWS_WITH_AS(loss.backward(), doctest::Contains("the model that it belongs to is gone"), Error);
  });
}

}  // namespace tandem::distributed
