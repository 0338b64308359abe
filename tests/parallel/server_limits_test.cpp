// ParameterServer: failing steps, errors, memory.
#include "tandem/parallel/parameter_server/parameter_server.h"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

#include "tandem/testing.h"
#include "tandem/tests/parallel/server_testing.h"

using namespace tandem;
using namespace tandem::parallel;
using namespace tandem::server_testing;
using testing::identical;

TEST_CASE("a failing step changes nothing, and the next one works") {
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
  CHECK_THROWS_WITH_AS(server.step(optimizer, batch.x, batch.y,
                                   [](NetImpl& n, const Tensor& x, const Tensor& y) {
                                     if (x.device() == cpu_device(2)) throw std::out_of_range("no such class");
                                     return loss_of(n, x, y);
                                   }),
                       "ParameterServer: cpu:2: no such class", std::out_of_range);
  const auto held = [] {
    int64_t sum = 0;
    for (const Device& device : cpu_devices(3)) sum += memory_stats(device).current_bytes;
    return sum;
  };
  const int64_t before_failure = held();
  CHECK(error_of([&] {
          server.step(optimizer, batch.x, batch.y, [&](NetImpl& n, const Tensor& x, const Tensor& y) {
            if (x.device() == cpu_device(2)) x.new_empty({int64_t{1} << 50});  // more memory than available
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
            "must be a scalar"));
  CHECK(identical(values(*net), before));
  optim::SGD foreign(Net()->parameters(), 0.1);
  CHECK(has(error_of([&] { server.step(foreign, batch.x, batch.y, loss_of); }), "not the server's"));
  CHECK(identical(values(*net), before));
  server.step(optimizer, batch.x, batch.y, loss_of);
  CHECK(furthest(values(*net), before) > 0);
  server.step(optimizer, batch.x.narrow(0, 0, 1), batch.y.narrow(0, 0, 1), loss_of);  // one sample
  net->to(cpu_device(0));
  CHECK(has(error_of([&] { server.step(optimizer, batch.x, batch.y, loss_of); }), "create a new server"));
}

TEST_CASE("a non-finite loss can be skipped or ignored") {
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

TEST_CASE("invalid models, devices and options throw") {
  LogicalDevices two(2);
  Net net;
  const auto refused = [&](std::vector<Device> devices, ServerOptions options = {}) {
    return error_of([&] { ParameterServer server(net, devices, options); });
  };
  CHECK(has(refused({cpu_device(0), cpu_device(0)}), "appears twice"));
  CHECK(has(refused({cpu_device(0), cpu_device(5)}), "cpu:5"));
  CHECK(has(refused({}), "no devices"));
  CHECK(has(refused(cpu_devices(1), {.root = cpu_device(1)}), "not one of the devices"));
  CHECK(has(refused(cpu_devices(2), {.shards = -1}), "shards"));
  for (const Tensor& p : net->parameters()) p.requires_grad_(false);
  CHECK(has(refused(cpu_devices(2)), "require a gradient"));
}

TEST_CASE("the root needs at most one gradient buffer and the optimizer state on top of the others") {
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

TEST_CASE("a thousand steps need no more memory than ten") {
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
      const int64_t now = memory_stats(cpu_device(0)).current_bytes + memory_stats(cpu_device(1)).current_bytes;
      if (i == 10) held = now;
      if (i > 10) REQUIRE(now <= held);
    }
    CHECK(server.timings().steps == 1000);
    CHECK(server.timings().devices[1].forward > 0);
  }
}
