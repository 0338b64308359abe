// ParameterServer: module buffers, which with shards have the same bits on any number of devices.
#include <doctest/doctest.h>

#include <cmath>
#include <sstream>

#include "tandem/nn/buffer_updates.h"
#include "tandem/testing.h"
#include "tandem/tests/parallel/server_testing.h"

using namespace tandem;
using namespace tandem::parallel;
using namespace tandem::server_testing;
using testing::identical;

namespace {

// User-defined statistics: a running maximum by update_buffers; a mean and a count written by forward.
struct ObserverImpl : nn::Cloneable<ObserverImpl> {
  ObserverImpl() { reset(); }
  void reset() override {
    most = register_buffer("most", full({}, -1e9F));
    mean = register_buffer("mean", zeros({}));
    calls = register_buffer("calls", zeros({}, TensorOptions(kLong)));
  }
  Tensor forward(const Tensor& x) {
    if (!is_training()) return x / most.abs() + mean;
    NoGradGuard no_grad;
    nn::update_buffers({most}, {x.max()}, [](std::vector<Tensor>& buffers, const std::vector<Tensor>& values) {
      buffers[0].mul_(0.99).copy_(maximum(buffers[0], values[0]));
    });
    mean.copy_(x.mean());
    calls.add_(1);
    return x;
  }
  Tensor most, mean, calls;
};
TANDEM_MODULE(Observer);

// All kinds of running statistics, with dropout in between.
struct StatisticsImpl : nn::Cloneable<StatisticsImpl> {
  StatisticsImpl() { reset(); }
  void reset() override {
    conv = register_module("conv", nn::Conv2d(nn::Conv2dOptions(1, 4, 3)));
    norm = register_module("norm", nn::BatchNorm2d(4));
    each = register_module("each",
                           nn::InstanceNorm2d(nn::InstanceNorm2dOptions(4).affine(true).track_running_stats(true)));
    groups = register_module("groups", nn::GroupNorm(2, 4));
    drop = register_module("drop", nn::Dropout(0.3));
    observer = register_module("observer", Observer());
    fc = register_module("fc", nn::Linear(4 * 36, 5));
    last = register_module("last", nn::BatchNorm1d(nn::BatchNorm1dOptions(5).momentum(nullopt)));
  }
  Tensor forward(Tensor x) {
    x = drop(relu(each(norm(conv(x))) + groups(conv(x))));
    return last(fc(observer(x).flatten(1)));
  }
  nn::Conv2d conv{nullptr};
  nn::BatchNorm2d norm{nullptr};
  nn::InstanceNorm2d each{nullptr};
  nn::GroupNorm groups{nullptr};
  nn::Dropout drop{nullptr};
  Observer observer{nullptr};
  nn::Linear fc{nullptr};
  nn::BatchNorm1d last{nullptr};
};
TANDEM_MODULE(Statistics);

const auto loss_of_statistics = [](StatisticsImpl& net, const Tensor& x, const Tensor& y) {
  return cross_entropy_loss(net.forward(x), y);
};

using Named = OrderedDict<std::string, Tensor>;

// The state of the net after `steps` steps from seed 1, plus its loss and outputs on other data.
Named trained(const std::vector<Device>& devices, const ServerOptions& options, int steps = 4) {
  manual_seed(1);
  Statistics net;
  ParameterServer server(net, devices, options);
  optim::SGD optimizer(server.parameters(), optim::SGDOptions(0.05).momentum(0.9));
  manual_seed(2);
  for (int i = 0; i < steps; ++i) {
    const Data batch(i % 2 == 0 ? 32 : 29);  // shards of 3 and of 4 samples
    server.step(optimizer, batch.x, batch.y, loss_of_statistics);
  }
  Named out("Entry");
  for (const auto& item : net->state_dict())
    out.insert(item.key(), item.value().to(cpu_device(0), item.value().dtype(), false, true));
  const Data other(17);
  const Tensor rows = server.evaluate({other.x, other.y}, [](StatisticsImpl& n, const Tensors& t) {
    return cross_entropy_loss(n.forward(t[0]), t[1], {}, Reduction::None);
  });
  out.insert("evaluation", rows.to(cpu_device(0)));
  out.insert("next number", rand({1}));
  return out;
}

void check_same(const Named& got, const Named& expected) {
  REQUIRE(got.keys() == expected.keys());
  for (const auto& item : expected) {
    CAPTURE(item.key());
    CHECK(identical(got[item.key()], item.value()));
  }
}

}  // namespace

TEST_CASE("shards: parameters, buffers and evaluation have the same bits on any number of devices and threads") {
  const int threads = get_num_threads();
  LogicalDevices eight(8);
  for (const int64_t shards : {8, 5, 2}) {
    CAPTURE(shards);
    const Named one = trained(cpu_devices(1), {.shards = shards});
    CHECK(one["norm.num_batches_tracked"].item<int64_t>() == 4 * shards);
    CHECK(one["last.num_batches_tracked"].item<int64_t>() == 4 * shards);
    CHECK(one["observer.calls"].item<int64_t>() == 4);
    for (const int n : {2, 3, 4, 8}) {
      CAPTURE(n);
      check_same(trained(cpu_devices(n), {.shards = shards}), one);
      check_same(trained(cpu_devices(n), {.root = cpu_device(n - 1), .shards = shards}), one);
    }
    if (shards != 8) continue;
    set_num_threads(24);  // three per device
    check_same(trained(cpu_devices(1), {.shards = shards}), one);
    check_same(trained(cpu_devices(4), {.shards = shards}), one);
    set_num_threads(threads);
  }
}

TEST_CASE("shards: resuming on other devices yields the same bits") {
  LogicalDevices four(4);
  const auto run = [](const std::vector<int>& counts) {  // number of devices for each part of the training
    manual_seed(5);
    Statistics net;
    serialize::OutputArchive of_server, of_optimizer;
    for (std::size_t part = 0; part < counts.size(); ++part) {
      Statistics next;
      next->load_state_dict(net->state_dict());
      ParameterServer server(next, cpu_devices(counts[part]), {.shards = 4});
      optim::SGD optimizer(next->parameters(), optim::SGDOptions(0.05).momentum(0.9));
      std::stringstream states[2];
      if (part > 0) {
        of_server.save_to(states[0]), of_optimizer.save_to(states[1]);
        serialize::InputArchive a, b;
        a.load_from(states[0]), b.load_from(states[1]);
        server.load(a), optimizer.load(b);
      }
      for (int i = 0; i < 2; ++i) {
        const Data batch(12);
        server.step(optimizer, batch.x, batch.y, loss_of_statistics);
      }
      of_server = {}, of_optimizer = {};
      server.save(of_server), optimizer.save(of_optimizer);
      net = next;
    }
    return net->state_dict();
  };
  const Named expected = run({1, 1, 1});
  check_same(run({4, 1, 3}), expected);
  check_same(run({2, 2, 2}), expected);
}

TEST_CASE("shards: running statistics equal those of sequential forward passes") {
  LogicalDevices three(3);
  for (const int n : {1, 3}) {
    CAPTURE(n);
    manual_seed(3);
    nn::Sequential net(nn::BatchNorm1d(4), nn::Linear(4, 2),
                       nn::BatchNorm1d(nn::BatchNorm1dOptions(2).momentum(nullopt)), Observer());
    const auto alone = std::static_pointer_cast<nn::SequentialImpl>(net->clone());
    ParameterServer server(net, cpu_devices(n), {.shards = 4});
    const Tensor x = randn({12, 4});
    const auto loss = [](nn::SequentialImpl& m, const Tensors& t) { return m.forward(t[0]).pow(2).mean(); };
    for (int step = 0; step < 2; ++step) {  // without an update, so the parameters do not change
      server.backward({x}, loss);
      for (int i = 0; i < 4; ++i) alone->forward(x.narrow(0, 3 * i, 3));
    }
    const auto expected = alone->named_buffers();
    for (const auto& item : net->named_buffers()) {
      CAPTURE(item.key());
      if (item.key() == "3.calls")  // a value written directly by forward comes from the last shard
        CHECK(item.value().item<int64_t>() == 2);
      else
        CHECK(identical(item.value(), expected[item.key()]));
    }
  }
}

TEST_CASE("shards: a step that fails or is skipped leaves the buffers unchanged") {
  LogicalDevices three(3);
  manual_seed(4);
  for (const int root : {0, 2})
    for (const int64_t shards : {2, 6}) {  // with two shards, the root cpu:2 has none
      Statistics net;
      ParameterServer server(net, cpu_devices(3),
                             {.root = cpu_device(root), .shards = shards, .not_finite = NotFinite::kSkip});
      optim::SGD optimizer(server.parameters(), 0.1);
      Data batch(24);
      server.step(optimizer, batch.x, batch.y, loss_of_statistics);
      const auto state = [&] {
        std::vector<Tensor> out;
        for (const auto& item : net->state_dict()) out.push_back(item.value().clone());
        return out;
      };
      const auto before = state();
      const auto unchanged = [&] {
        const auto now = state();
        for (std::size_t k = 0; k < now.size(); ++k) CHECK(identical(now[k], before[k]));
      };
      std::atomic<int> calls{0};
      CHECK(has(error_of([&] {
                  server.step(optimizer, batch.x, batch.y, [&](StatisticsImpl& n, const Tensor& x, const Tensor& y) {
                    const Tensor loss = loss_of_statistics(n, x, y);
                    check(++calls < static_cast<int>(shards), "something broke");
                    return loss;
                  });
                }),
                "something broke"));
      unchanged();
      batch.x.narrow(0, 3, 1).fill_(std::nan(""));
      CHECK(server.step(optimizer, batch.x, batch.y, loss_of_statistics).skipped);
      unchanged();
    }
}

TEST_CASE("without shards the root keeps its buffers") {
  LogicalDevices two(2);
  nn::Sequential net(nn::BatchNorm1d(4));
  nn::BatchNorm1d alone(4);
  ParameterServer server(net, cpu_devices(2), {.root = cpu_device(1)});
  const Tensor x = randn({10, 4});
  server.backward({x}, [](nn::SequentialImpl& m, const Tensors& t) { return m.forward(t[0]).pow(2).mean(); });
  alone(x.narrow(0, 5, 5));
  CHECK(identical(net->named_buffers()["0.running_mean"].to(cpu_device(0)), alone->running_mean));
}
