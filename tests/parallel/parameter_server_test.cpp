// ParameterServer: equality with one device, shards bit for bit, accumulation, failures, memory.
#include "tandem/parallel/parameter_server.h"

#include <doctest/doctest.h>

#include <cmath>
#include <sstream>

#include "tandem/parallel/tree_sum.h"
#include "tandem/testing.h"
#include "tandem/tests/parallel/logical_devices.h"

using namespace tandem;
using namespace tandem::parallel;
using testing::identical;

namespace {

struct NetImpl : nn::Cloneable<NetImpl> {
  explicit NetImpl(double dropout = 0) : p(dropout) { reset(); }
  void reset() override {
    conv = register_module("conv", nn::Conv2d(nn::Conv2dOptions(1, 4, 3)));
    fc1 = register_module("fc1", nn::Linear(4 * 3 * 3, 16));
    fc2 = register_module("fc2", nn::Linear(16, 5));
    drop = register_module("drop", nn::Dropout(p));
  }
  Tensor forward(Tensor x) {
    x = max_pool2d(relu(conv(x)), {2, 2}, {2, 2}).flatten(1);
    return fc2(drop(relu(fc1(x))));
  }
  double p;
  nn::Conv2d conv{nullptr};
  nn::Linear fc1{nullptr}, fc2{nullptr};
  nn::Dropout drop{nullptr};
};
TANDEM_MODULE(Net);

const auto loss_of = [](NetImpl& net, const Tensor& x, const Tensor& y) {
  return nn::functional::cross_entropy(net.forward(x), y);
};

struct Data {
  explicit Data(int64_t n) : x(randn({n, 1, 8, 8})), y(randint(0, 5, {n}, TensorOptions(kLong))) {}
  Tensor x, y;
};

std::unique_ptr<optim::Optimizer> make_optimizer(int kind, std::vector<Tensor> parameters) {
  if (kind == 0)
    return std::make_unique<optim::SGD>(std::move(parameters),
                                        optim::SGDOptions(0.1).momentum(0.9).weight_decay(0.01));
  return std::make_unique<optim::Adam>(std::move(parameters), optim::AdamOptions(0.01));
}

Tensor values(const nn::Module& net) {
  NoGradGuard no_grad;
  std::vector<Tensor> parts;
  for (const Tensor& p : net.parameters()) parts.push_back(p.reshape({-1}).to(Device("cpu:0")));
  return cat(parts);
}

// Steps with a server from seed 1; the batches have 13 samples.
Tensor trained(std::vector<Device> devices, ServerOptions options, int kind = 0, double dropout = 0,
               int steps = 4) {
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

double furthest(const Tensor& a, const Tensor& b) { return (a - b).abs().max().item<double>(); }

template <class F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}
bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a server trains as one device does") {
  LogicalDevices eight(8);
  for (const int kind : {0, 1}) {
    const Tensor alone = trained_alone(kind);
    CHECK(furthest(trained(cpu_devices(1), {}, kind), alone) == 0);
    for (const int n : {2, 3, 8}) {
      CHECK(furthest(trained(cpu_devices(n), {}, kind), alone) < 2e-5);
      CHECK(furthest(trained(cpu_devices(n), {.root = cpu_device(n - 1), .chunks = true}, kind), alone) <
            2e-5);
    }
  }
  CHECK(furthest(trained(cpu_devices(1), {}, 0, 0.5), trained_alone(0, 0.5)) == 0);
}

TEST_CASE("buckets, and the root, change no bit on two devices") {
  LogicalDevices three(3);
  const Tensor direct = trained(cpu_devices(2), {});
  for (const int buckets : {1, 2, 3, 100})
    CHECK(identical(trained(cpu_devices(2), {.buckets = buckets}), direct));
  CHECK(identical(trained(cpu_devices(2), {.root = cpu_device(1)}), direct));
  CHECK(identical(trained(cpu_devices(3), {.buckets = 2}), trained(cpu_devices(3), {})));
}

TEST_CASE("shards: the same bits on any number of devices and threads") {
  const int threads = get_num_threads();
  LogicalDevices eight(8);
  for (const int kind : {0, 1})
    for (const int64_t shards : {8, 6}) {
      const Tensor one = trained(cpu_devices(1), {.shards = shards}, kind, 0.5);
      for (const int n : {2, 3, 4, 8})
        CHECK(identical(trained(cpu_devices(n), {.shards = shards}, kind, 0.5), one));
      CHECK(identical(trained(cpu_devices(2), {.root = cpu_device(1), .shards = shards}, kind, 0.5), one));
    }
  const Tensor one = trained(cpu_devices(1), {.shards = 8}, 0, 0.5);
  set_num_threads(24);  // three a device
  CHECK(identical(trained(cpu_devices(1), {.shards = 8}, 0, 0.5), one));
  CHECK(identical(trained(cpu_devices(2), {.shards = 8}, 0, 0.5), one));
  set_num_threads(threads);
}

TEST_CASE("the tree of sums") {
  const auto leaf = [](float v) { return full({1}, v); };
  // 1e8 + 1 loses the 1 in float, so that the order shows.
  const std::vector<float> numbers{1e8F, 1, -1e8F, 1, 1, 1};
  const auto sum = [&](const std::vector<int64_t>& cuts) {
    TreeSum root;
    root.begin(6);
    for (std::size_t d = 0; d + 1 < cuts.size(); ++d) {
      TreeSum part;
      part.begin(6);
      for (int64_t i = cuts[d]; i < cuts[d + 1]; ++i)
        part.add(0, i, leaf(numbers[static_cast<std::size_t>(i)]));
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
      for (std::size_t i = 0; i < net->parameters().size(); ++i)
        other->parameters()[i].copy_(net->parameters()[i]);
    }
    const Data a(8), b(8), c(1);
    ParameterServer server(net, cpu_devices(2), {.shards = shards});
    optim::SGD optimizer(server.parameters(), 0.1);
    {
      const auto guard = server.no_sync();
      server.backward({a.x, a.y}, loss_of);
      CHECK(has(error_of([&] { server.update(optimizer); }), shards ? "held back" : "no gradient"));
    }
    server.backward({c.x, c.y}, loss_of);  // one sample: the other device has its earlier sum alone
    loss_of(*other, a.x, a.y).backward();
    loss_of(*other, c.x, c.y).backward();
    for (std::size_t i = 0; i < net->parameters().size(); ++i)
      CHECK(furthest(net->parameters()[i].grad(), other->parameters()[i].grad()) < 1e-6);
    server.update(optimizer);
    server.backward({b.x, b.y}, loss_of);  // from zero again
    optim::SGD(other->parameters(), 0.1).step();
    other->zero_grad();
    loss_of(*other, b.x, b.y).backward();
    for (std::size_t i = 0; i < net->parameters().size(); ++i)
      CHECK(furthest(net->parameters()[i].grad(), other->parameters()[i].grad()) < 1e-6);
  }
}

TEST_CASE("a failing step leaves everything as it was, and the next one works") {
  LogicalDevices three(3);
  manual_seed(4);
  Net net;
  ParameterServer server(net, cpu_devices(3), {.root = cpu_device(1)});
  optim::SGD optimizer(server.parameters(), optim::SGDOptions(0.1).momentum(0.9));
  const Data batch(9);
  server.step(optimizer, batch.x, batch.y, loss_of);
  const Tensor before = values(*net);
  const auto failing = [&](int device, const Tensor& x) {
    return error_of([&] {
      server.step(optimizer, x, batch.y, [&](NetImpl& n, const Tensor& in, const Tensor& y) {
        check(in.device() != cpu_device(device), "something broke");
        return loss_of(n, in, y);
      });
    });
  };
  for (const int device : {0, 1, 2}) {
    const std::string text = failing(device, batch.x);
    CHECK(has(text, concat("cpu:", device).c_str()));
    CHECK(has(text, "something broke"));
  }
  CHECK(has(error_of([&] { server.update(optimizer); }), "no gradient"));
  const auto held = [] {
    int64_t sum = 0;
    for (const Device& device : cpu_devices(3)) sum += memory_stats(device).current_bytes;
    return sum;
  };
  const int64_t before_failure = held();
  CHECK(error_of([&] {
          server.step(optimizer, batch.x, batch.y, [&](NetImpl& n, const Tensor& x, const Tensor& y) {
            if (x.device() == cpu_device(2)) x.new_empty({int64_t{1} << 50});  // more than there is
            return loss_of(n, x, y);
          });
        }).find("cpu:2") != std::string::npos);
  CHECK(held() == before_failure);
  Tensor broken = batch.x.clone();
  broken.narrow(0, 7, 1).fill_(std::nan(""));
  CHECK(has(failing(8, broken), "the loss of piece 2 (samples 6 to 8 of the batch) is nan"));
  CHECK(has(failing(8, batch.x.narrow(0, 0, 0)), "differ in the number of samples"));
  CHECK(has(error_of([&] {
              server.step(optimizer, Tensors{batch.x.narrow(0, 0, 0)},
                          [](NetImpl& n, const Tensors& t) { return n.forward(t[0]).sum(); });
            }),
            "no samples"));
  CHECK(has(error_of([&] {
              server.step(optimizer, batch.x, batch.y,
                          [](NetImpl& n, const Tensor& x, const Tensor&) { return n.forward(x); });
            }),
            "must be a number"));
  CHECK(identical(values(*net), before));
  optim::SGD foreign(Net()->parameters(), 0.1);
  CHECK(has(error_of([&] { server.step(foreign, batch.x, batch.y, loss_of); }), "not the server's"));
  CHECK(identical(values(*net), before));
  server.step(optimizer, batch.x, batch.y, loss_of);
  CHECK(furthest(values(*net), before) > 0);
  server.step(optimizer, batch.x.narrow(0, 0, 1), batch.y.narrow(0, 0, 1), loss_of);  // one sample
  net->to(cpu_device(0));
  CHECK(has(error_of([&] { server.step(optimizer, batch.x, batch.y, loss_of); }), "make a new server"));
}

TEST_CASE("a loss that is not finite can be skipped or let through") {
  LogicalDevices two(2);
  Net net;
  Data batch(4);
  batch.x.narrow(0, 3, 1).fill_(std::nan(""));
  ParameterServer server(net, cpu_devices(2), {.shards = 4, .not_finite = NotFinite::kSkip});
  optim::SGD optimizer(server.parameters(), 0.1);
  const Tensor before = values(*net);
  const StepResult skipped = server.step(optimizer, batch.x, batch.y, loss_of);
  CHECK(skipped.skipped);
  CHECK(std::isnan(skipped.loss()));
  CHECK(identical(values(*net), before));
  Net wild;
  ParameterServer careless(wild, cpu_devices(2), {.not_finite = NotFinite::kIgnore});
  optim::SGD descent(careless.parameters(), 0.1);
  CHECK(!careless.step(descent, batch.x, batch.y, loss_of).skipped);
  CHECK(std::isnan(values(*wild)[0].item<float>()));
}

TEST_CASE("what cannot be served is refused") {
  LogicalDevices two(2);
  Net net;
  const auto refused = [&](std::vector<Device> devices, ServerOptions options = {}) {
    return error_of([&] { ParameterServer server(net, devices, options); });
  };
  CHECK(has(refused({cpu_device(0), cpu_device(0)}), "comes twice"));
  CHECK(has(refused({cpu_device(0), cpu_device(5)}), "cpu:5"));
  CHECK(has(refused({}), "no devices"));
  CHECK(has(refused(cpu_devices(1), {.root = cpu_device(1)}), "not one of the devices"));
  CHECK(has(refused(cpu_devices(2), {.shards = -1}), "shards"));
  for (const Tensor& p : net->parameters()) p.requires_grad_(false);
  CHECK(has(refused(cpu_devices(2)), "require a gradient"));
}

TEST_CASE("the model's frozen parameters, buffers and modes reach the replicas") {
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
    NoGradGuard no_grad;  // values that are changed from outside are handed out
    net->parameters()[1].fill_(3);
  }
  CHECK(identical(values(server.replica(0)), values(*net)));
}

namespace {
// No clone(), a parameter used twice, one never.
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

TEST_CASE("replicas by a factory; a parameter used twice, one never") {
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

TEST_CASE("parameters in groups, optimizer and server saved and loaded") {
  LogicalDevices two(2);
  const auto run = [&](bool interrupted) {
    manual_seed(6);
    Net net(0.5);
    auto server = std::make_unique<ParameterServer<NetImpl>>(net, cpu_devices(2));
    const auto groups = [&] {
      std::vector<Tensor> weights, biases;
      for (const Tensor& p : net->parameters()) (p.dim() > 1 ? weights : biases).push_back(p);
      std::vector<optim::OptimizerParamGroup> out;
      out.emplace_back(weights,
                       std::make_unique<optim::AdamOptions>(optim::AdamOptions(0.01).weight_decay(0.1)));
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
      }
      server->step(*optimizer, batch.x, batch.y, loss_of);
    }
    return values(*net);
  };
  CHECK(identical(run(true), run(false)));
}

TEST_CASE("the server has one gradient buffer and the optimizer's state more than the others, at most") {
  LogicalDevices two(2);
  const auto held = [](int i) { return memory_stats(cpu_device(i)).current_bytes; };
  const int64_t before[] = {held(0), held(1)};
  manual_seed(7);
  Net net;
  const Data batch(16);
  const int64_t data = held(0) - before[0];
  for (const int buckets : {0, 2}) {
    ParameterServer server(net, cpu_devices(2), {.buckets = buckets});
    optim::Adam optimizer(server.parameters(), 0.01);
    for (int i = 0; i < 3; ++i) server.step(optimizer, batch.x, batch.y, loss_of);
    const int64_t flat = static_cast<int64_t>(server.parameters()[0].nbytes());
    const int64_t peer = held(1) - before[1], root = held(0) - before[0];
    CHECK(peer <= 2 * flat + 64);
    CHECK(root - data - peer <= 2 * flat + (buckets ? flat : 0) + 64);
  }
}

TEST_CASE("a thousand steps hold no more memory than ten") {
  LogicalDevices two(2);
  for (const int64_t shards : {0, 4}) {
    nn::Linear net(4, 3);
    ParameterServer server(net, cpu_devices(2), {.shards = shards});
    optim::SGD optimizer(server.parameters(), optim::SGDOptions(0.01).momentum(0.9));
    const Tensor x = randn({8, 4});
    const auto loss = [](nn::LinearImpl& n, const Tensors& t) { return n.forward(t[0]).pow(2).mean(); };
    int64_t held = 0;
    for (int i = 0; i < 1000; ++i) {
      server.step(optimizer, {x}, loss);
      const int64_t now =
          memory_stats(cpu_device(0)).current_bytes + memory_stats(cpu_device(1)).current_bytes;
      if (i == 10) held = now;
      if (i > 10) REQUIRE(now <= held);
    }
    CHECK(server.timings().steps == 1000);
    CHECK(server.timings().devices[1].forward > 0);
  }
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
