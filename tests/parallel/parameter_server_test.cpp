// ParameterServer: equality with one device, shards bit for bit, accumulation, replicas, saving.
#include "tandem/parallel/parameter_server/parameter_server.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <sstream>
#include <utility>

#include "tandem/parallel/shards/tree_sum.h"
#include "tandem/testing.h"
#include "tandem/tests/parallel/server_testing.h"

using namespace tandem;
using namespace tandem::parallel;
using namespace tandem::server_testing;
using testing::identical;

namespace {

std::unique_ptr<optim::Optimizer> make_optimizer(int kind, std::vector<Tensor> parameters) {
  if (kind == 0)
    return std::make_unique<optim::SGD>(std::move(parameters), optim::SGDOptions(0.1).momentum(0.9).weight_decay(0.01));
  return std::make_unique<optim::Adam>(std::move(parameters), optim::AdamOptions(0.01));
}

// Steps with a server, from seed 1; batches of 13 samples.
Tensor trained(std::vector<Device> devices, ServerOptions options, int kind = 0, double dropout = 0, int steps = 4) {
  manual_seed(1);
  Net net(dropout);
  ParameterServer server(net, devices, options);
  const auto optimizer = make_optimizer(kind, server.parameters());
  optim::StepLR scheduler(*optimizer, 2, 0.5);
  manual_seed(2);
  for (int i = 0; i < steps; ++i) {
    const Data batch(13);
    server.step(*optimizer, batch.x, batch.y, loss_of);
    scheduler.step();
  }
  return values(*net);
}

Tensor trained_alone(int kind, double dropout = 0) {
  manual_seed(1);
  Net net(dropout);
  const auto optimizer = make_optimizer(kind, net->parameters());
  optim::StepLR scheduler(*optimizer, 2, 0.5);
  manual_seed(2);
  for (int i = 0; i < 4; ++i) {
    const Data batch(13);
    optimizer->zero_grad();
    loss_of(*net, batch.x, batch.y).backward();
    optimizer->step();
    scheduler.step();
  }
  return values(*net);
}

}  // namespace

TEST_CASE("training with a server equals training on one device") {
  LogicalDevices eight(8);
  for (const int kind : {0, 1}) {
    const Tensor alone = trained_alone(kind);
    CHECK(furthest(trained(cpu_devices(1), {}, kind), alone) == 0);
    for (const int n : {2, 3, 8}) {
      CHECK(furthest(trained(cpu_devices(n), {}, kind), alone) < 2e-5);
      CHECK(furthest(trained(cpu_devices(n), {.root = cpu_device(n - 1), .chunks = true}, kind), alone) < 2e-5);
    }
  }
  CHECK(furthest(trained(cpu_devices(1), {}, 0, 0.5), trained_alone(0, 0.5)) == 0);
}

namespace {
// Reports how many gradients it was given to sum, and throws on request.
struct Told : optim::Adam {
  using Adam::Adam;
  bool sums_gradients() const override { return true; }
  Tensor step(LossClosure closure = nullptr) override {
    summed = call().flat == nullptr ? 0 : call().flat->others.size();
    check(!std::exchange(fails, false), "no step today");
    return Adam::step(closure);
  }
  std::size_t summed = 0;
  bool fails = false;
};
}  // namespace

TEST_CASE("sums in the optimizer's pass equal separate sums") {
  LogicalDevices ten(10);  // more peers than one pass can sum
  for (const bool one_by_one : {false, true})
    for (const int devices : {2, 3, 10}) {
      const auto run = [&](bool together) {
        manual_seed(11);
        Net net;
        ParameterServer server(net, cpu_devices(devices), {.root = cpu_device(1)});
        Told optimizer(one_by_one ? net->parameters() : server.parameters(), optim::AdamOptions(0.01));
        Tensors out;
        for (int i = 0; i < 3; ++i) {
          const Data batch(2 * devices + i);
          if (together) {
            server.step(optimizer, batch.x, batch.y, loss_of);
          } else {
            server.backward({batch.x, batch.y}, loss_of);
            server.update(optimizer);
          }
          CHECK(optimizer.summed == (together ? static_cast<std::size_t>(std::min(devices - 1, 7)) : 0));
          out.push_back(server.parameters()[0].grad().clone());
          out.push_back(net->fc1->weight.grad().clone());
        }
        out.push_back(values(*net));
        return out;
      };
      const Tensors together = run(true), apart = run(false);
      for (std::size_t i = 0; i < apart.size(); ++i) CHECK(identical(together[i], apart[i]));
    }
}

TEST_CASE("an optimizer of part of the model sees the sums before its step") {
  LogicalDevices two(2);
  Net net;
  ParameterServer server(net, cpu_devices(2));
  Told part(net->fc2->parameters(), optim::AdamOptions(0.01));
  const Data batch(6);
  server.backward({batch.x, batch.y}, loss_of);
  const Tensor expected = net->conv->weight.grad().clone();
  server.step(part, batch.x, batch.y, loss_of);
  CHECK(part.summed == 0);
  CHECK(identical(net->conv->weight.grad(), expected));
  Told all(server.parameters(), optim::AdamOptions(0.01));
  const Tensor before = values(*net);
  all.fails = true;
  CHECK(error_of([&] { server.step(all, batch.x, batch.y, loss_of); }) == "no step today");
  CHECK(all.summed == 1);
  CHECK(has(error_of([&] { server.update(all); }), "no gradient"));
  CHECK(identical(values(*net), before));
  server.step(all, batch.x, batch.y, loss_of);
  CHECK(furthest(values(*net), before) > 0);
}

TEST_CASE("buckets and the choice of root change no bit on two devices") {
  LogicalDevices three(3);
  const Tensor direct = trained(cpu_devices(2), {});
  for (const int buckets : {1, 2, 3, 100}) CHECK(identical(trained(cpu_devices(2), {.buckets = buckets}), direct));
  CHECK(identical(trained(cpu_devices(2), {.root = cpu_device(1)}), direct));
  CHECK(identical(trained(cpu_devices(3), {.buckets = 2}), trained(cpu_devices(3), {})));
}

TEST_CASE("shards: the same bits on any number of devices and threads") {
  const int threads = get_num_threads();
  LogicalDevices eight(8);
  for (const int kind : {0, 1})
    for (const int64_t shards : {8, 6}) {
      const Tensor one = trained(cpu_devices(1), {.shards = shards}, kind, 0.5);
      for (const int n : {2, 3, 4, 8}) CHECK(identical(trained(cpu_devices(n), {.shards = shards}, kind, 0.5), one));
      CHECK(identical(trained(cpu_devices(2), {.root = cpu_device(1), .shards = shards}, kind, 0.5), one));
    }
  const Tensor one = trained(cpu_devices(1), {.shards = 8}, 0, 0.5);
  set_num_threads(24);  // three per device
  CHECK(identical(trained(cpu_devices(1), {.shards = 8}, 0, 0.5), one));
  CHECK(identical(trained(cpu_devices(2), {.shards = 8}, 0, 0.5), one));
  set_num_threads(threads);
}

TEST_CASE("sums in tree order") {
  const auto leaf = [](float v) { return full({1}, v); };
  // 1e8 + 1 loses the 1 in float, which makes the order visible.
  const std::vector<float> numbers{1e8F, 1, -1e8F, 1, 1, 1};
  const auto sum = [&](const std::vector<int64_t>& cuts) {
    TreeSum root;
    root.begin(6);
    for (std::size_t d = 0; d + 1 < cuts.size(); ++d) {
      TreeSum part;
      part.begin(6);
      for (int64_t i = cuts[d]; i < cuts[d + 1]; ++i) part.add(0, i, leaf(numbers[static_cast<std::size_t>(i)]));
      for (const auto& node : part.nodes()) root.add(node.level, node.index, node.sum.flat);
    }
    REQUIRE(root.nodes().size() == 1);
    return root.nodes()[0].sum.flat.item<float>();
  };
  const float expected = ((1e8F + 1) + (-1e8F + 1)) + (1.F + 1.F);
  CHECK(sum({0, 6}) == expected);
  CHECK(sum({0, 3, 6}) == expected);
  CHECK(sum({0, 1, 2, 3, 4, 5, 6}) == expected);
  CHECK(sum({0, 5, 6}) == expected);
}

TEST_CASE("accumulation without communication") {
  LogicalDevices two(2);
  for (const int64_t shards : {0, 4}) {
    manual_seed(3);
    Net net, other;
    {
      NoGradGuard no_grad;
      for (std::size_t i = 0; i < net->parameters().size(); ++i) other->parameters()[i].copy_(net->parameters()[i]);
    }
    const Data a(8), b(8), c(1);
    ParameterServer server(net, cpu_devices(2), {.shards = shards});
    optim::SGD optimizer(server.parameters(), 0.1);
    {
      const auto guard = server.no_sync();
      server.backward({a.x, a.y}, loss_of);
      CHECK(has(error_of([&] { server.update(optimizer); }), shards ? "held back" : "no gradient"));
    }
    server.backward({c.x, c.y}, loss_of);  // one sample: the other device has only its earlier sum
    loss_of(*other, a.x, a.y).backward();
    loss_of(*other, c.x, c.y).backward();
    for (std::size_t i = 0; i < net->parameters().size(); ++i)
      CHECK(furthest(net->parameters()[i].grad(), other->parameters()[i].grad()) < 1e-6);
    server.update(optimizer);
    server.backward({b.x, b.y}, loss_of);  // starts from zero again
    optim::SGD(other->parameters(), 0.1).step();
    other->zero_grad();
    loss_of(*other, b.x, b.y).backward();
    for (std::size_t i = 0; i < net->parameters().size(); ++i)
      CHECK(furthest(net->parameters()[i].grad(), other->parameters()[i].grad()) < 1e-6);
  }
}

TEST_CASE("frozen parameters, buffers and modes reach the replicas") {
  LogicalDevices two(2);
  manual_seed(5);
  nn::Sequential net(nn::Linear(4, 6), nn::BatchNorm1d(6), nn::Linear(6, 2));
  net->parameters()[0].requires_grad_(false);
  const Tensor frozen = net->parameters()[0].clone();
  ParameterServer server(net, cpu_devices(2), {.root = cpu_device(1)});
  optim::SGD optimizer(server.parameters(), optim::SGDOptions(0.1).weight_decay(0.1));
  const Tensor x = randn({10, 4});
  const auto loss = [](nn::SequentialImpl& n, const Tensors& t) { return n.forward(t[0]).pow(2).mean(); };
  for (int i = 0; i < 3; ++i) server.step(optimizer, {x}, loss);
  CHECK(identical(net->parameters()[0].to(cpu_device(0)), frozen));
  CHECK(net->named_buffers()["1.running_mean"].abs().sum().item<float>() > 0);
  CHECK(identical(values(server.replica(0)), values(*net)));
  CHECK(identical(server.replica(0).named_buffers()["1.running_var"].to(cpu_device(0)),
                  net->named_buffers()["1.running_var"].to(cpu_device(0))));
  const Tensor y = server.evaluate(x);
  CHECK(y.device() == cpu_device(1));
  CHECK(net->is_training());
  net->eval();
  CHECK(furthest(y, net->forward(x.to(cpu_device(1)))) < 1e-6);
  {
    NoGradGuard no_grad;  // external changes of values reach the replicas
    net->parameters()[1].fill_(3);
  }
  CHECK(identical(values(server.replica(0)), values(*net)));
}

namespace {
// No clone(), one parameter used twice, one unused.
struct Plain : nn::Module {
  Plain() {
    a = register_module("a", nn::Linear(6, 6));
    unused = register_parameter("unused", ones({3}));
  }
  Tensor forward(const Tensor& x) { return a(relu(a(x))); }
  nn::Linear a{nullptr};
  Tensor unused;
};
}  // namespace

TEST_CASE("replicas from a factory; one parameter used twice, one unused") {
  LogicalDevices two(2);
  const Tensor x = randn({5, 6});
  const auto loss = [](Plain& n, const Tensors& t) { return n.forward(t[0]).pow(2).sum(); };
  for (const int buckets : {0, 3}) {
    manual_seed(8);
    const auto net = std::make_shared<Plain>();
    manual_seed(8);
    Plain alone;
    ParameterServer server(net, {"cpu:0", "cpu:1"}, {.loss = Reduction::Sum, .buckets = buckets},
                           [] { return std::make_shared<Plain>(); });
    optim::SGD optimizer(server.parameters(), 0.01), other(alone.parameters(), 0.01);
    for (int i = 0; i < 3; ++i) {
      const StepResult result = server.step(optimizer, {x}, loss);
      other.zero_grad();
      const Tensor expected = loss(alone, {x});
      expected.backward();
      other.step();
      CHECK(result.loss() == doctest::Approx(expected.item<double>()).epsilon(1e-5));
    }
    CHECK(furthest(values(*net), values(alone)) < 1e-5);
    CHECK(identical(net->unused, ones({3})));
  }
}

TEST_CASE("every parameter of a replica from a factory is trained, frozen and typed as the model's") {
  LogicalDevices two(2);
  const Tensor x = randn({6, 6});
  const auto loss = [](Plain& n, const Tensors& t) { return n.forward(t[0]).pow(2).mean(); };
  for (std::size_t k = 0; k < 3; ++k) {
    CAPTURE(k);
    const auto net = std::make_shared<Plain>();
    Plain alone;
    alone.load_state_dict(net->state_dict());
    for (const nn::Module* each : std::initializer_list<const nn::Module*>{net.get(), &alone})
      each->parameters()[k].requires_grad_(false);
    ParameterServer server(net, cpu_devices(2), {}, [] { return std::make_shared<Plain>(); });
    optim::SGD optimizer(server.parameters(), 0.1), other(alone.parameters(), 0.1);
    for (int i = 0; i < 2; ++i) {
      server.step(optimizer, {x}, loss);
      other.zero_grad();
      loss(alone, {x}).backward();
      other.step();
    }
    CHECK(furthest(values(*net), values(alone)) < 1e-5);
    CHECK(identical(values(server.replica(1)), values(*net)));
    for (std::size_t i = 0; i < 3; ++i) CHECK(server.replica(1).parameters()[i].requires_grad() == (i != k));
    const std::string error = error_of([&] {
      ParameterServer refused(net, cpu_devices(2), {}, [k] {
        auto copy = std::make_shared<Plain>();
        const Tensor p = copy->parameters()[k];
        p.set_data(p.detach().to(kDouble));
        return copy;
      });
    });
    CHECK(has(error, concat("ParameterServer: parameter ", k, " of the replica differs").c_str()));
  }
}

TEST_CASE("modules from a factory that are none, the model itself, or of another structure") {
  LogicalDevices two(2);
  const auto net = std::make_shared<Plain>();
  const auto refused = [&](const std::function<std::shared_ptr<Plain>()>& make) {
    return error_of([&] { ParameterServer server(net, cpu_devices(2), {}, make); });
  };
  CHECK(refused([] { return nullptr; }) ==
        "ParameterServer: each device needs a separate module; for cpu:1 no module was created");
  CHECK(refused([&] { return net; }) ==
        "ParameterServer: each device needs a separate module; for cpu:1 the model itself was returned");
  CHECK(has(refused([] {
              auto copy = std::make_shared<Plain>();
              copy->register_parameter("more", ones({1}));
              return copy;
            }),
            "ParameterServer: the copy of "));
  CHECK(has(refused([] {
              auto copy = std::make_shared<Plain>();
              copy->parameters()[0].set_data(ones({4}));
              return copy;
            }),
            "unused is [3] float32 cpu:0, but [4] float32 cpu:0 in the copy of "));
  struct Pair : nn::Module {
    explicit Pair(bool tied) {
      a = register_parameter("a", ones({2}));
      b = register_parameter("b", tied ? a : ones({2}));
    }
    Tensor a, b;
  };
  CHECK(error_of([] {
          ParameterServer server(std::make_shared<Pair>(true), cpu_devices(2), {},
                                 [] { return std::make_shared<Pair>(false); });
        }) == "ParameterServer: the replica on cpu:1 has 2 parameters, but the model has 1");
}

TEST_CASE("parameter groups; saving and loading the optimizer and the server") {
  LogicalDevices two(2);
  const auto run = [&](bool interrupted) {
    manual_seed(6);
    Net net(0.5);
    auto server = std::make_unique<ParameterServer<NetImpl>>(net, cpu_devices(2));
    const auto groups = [&] {
      std::vector<Tensor> weights, biases;
      for (const Tensor& p : net->parameters()) (p.dim() > 1 ? weights : biases).push_back(p);
      std::vector<optim::OptimizerParamGroup> out;
      out.emplace_back(weights, std::make_unique<optim::AdamOptions>(optim::AdamOptions(0.01).weight_decay(0.1)));
      out.emplace_back(biases);
      return out;
    };
    auto optimizer = std::make_unique<optim::Adam>(groups(), optim::AdamOptions(0.02));
    const Data batch(8);
    for (int i = 0; i < 4; ++i) {
      if (interrupted && i == 2) {
        serialize::OutputArchive saved, state;
        optimizer->save(saved);
        server->save(state);
        std::stringstream a, b;
        saved.save_to(a);
        state.save_to(b);
        server = std::make_unique<ParameterServer<NetImpl>>(net, cpu_devices(2));
        optimizer = std::make_unique<optim::Adam>(groups(), optim::AdamOptions(0.5));
        serialize::InputArchive first, second;
        first.load_from(a);
        second.load_from(b);
        optimizer->load(first);
        server->load(second);
        CHECK(server->steps() == 2);
        CHECK(has(error_of([&] { server->set_steps(-1); }), "must not be negative, got -1"));
        server->set_steps(0);
        server->set_steps(2);
      }
      server->step(*optimizer, batch.x, batch.y, loss_of);
    }
    return values(*net);
  };
  CHECK(identical(run(true), run(false)));
}

namespace {
struct UnclonedImpl : nn::Module {  // not Cloneable
  UnclonedImpl() { fc = register_module("fc", nn::Linear(4, 2)); }
  Tensor forward(const Tensor& x) { return fc(x); }
  nn::Linear fc{nullptr};
};
TANDEM_MODULE(Uncloned);
}  // namespace

TEST_CASE("a module with a default constructor needs no factory") {
  LogicalDevices two(2);
  manual_seed(4);
  Uncloned one, several;
  several->load_state_dict(one->state_dict());
  const Tensor x = randn({6, 4}), y = randn({6, 2});
  const auto loss = [](UnclonedImpl& net, const Tensor& in, const Tensor& out) {
    return mse_loss(net.forward(in), out);
  };
  ParameterServer server(several, cpu_devices(2));
  optim::SGD optimizer(server.parameters(), 0.5), plain(one->parameters(), 0.5);
  for (int i = 0; i < 3; ++i) {
    server.step(optimizer, x, y, loss);
    plain.zero_grad();
    loss(*one, x, y).backward();
    plain.step();
  }
  CHECK(testing::close(several->fc->weight, one->fc->weight, 1e-5));
}
