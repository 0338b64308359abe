// Captured steps: the signatures of their functions, and what is particular to the CPU. tests/cuda has the tests that the
// CPU shares with a GPU.
#include <doctest/doctest.h>

#include <cmath>
#include <thread>

#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"

using namespace tandem;

TEST_CASE("on the CPU: training changes the weights that captured inference keeps packed") {
  manual_seed(1);
  const auto make = [] {
    return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(16, 16, 3).padding(1)), nn::BatchNorm2d(16), nn::ReLU());
  };
  nn::Sequential net = make(), same = make();
  same->load_state_dict(net->state_dict());
  optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.1).momentum(0.9));
  optim::SGD other(same->parameters(), optim::SGDOptions(0.1).momentum(0.9));
  const auto train = [](nn::Sequential& of, optim::Optimizer& by, const Tensor& x) {
    by.zero_grad();
    const Tensor loss = of->forward(x).square().mean();
    loss.backward();
    by.step();
    return loss;
  };
  CapturedStep training([&](const Tensor& x) { return train(net, optimizer, x); }, {&optimizer});
  CapturedStep inference([&](const Tensor& x) {
    const InferenceMode guard;
    return net->forward(x);
  });
  training.watch(*net);
  inference.watch(*net);
  for (int i = 0; i < 8; ++i) {
    const Tensor x = randn({2, 16, 8, 8});
    net->train();
    same->train();
    const Tensor loss = training(x)[0];
    CHECK_FALSE(loss.requires_grad());
    CHECK(testing::identical(loss, train(same, other, x).detach()));
    CHECK(training.captured() == (i >= 3));
    net->eval();
    same->eval();
    const InferenceMode guard;
    CHECK(testing::identical(inference(x)[0], same->forward(x)));
    CHECK(inference.captured() == (i >= 3));
  }
  CHECK(training.message().empty());
  CHECK(inference.message().empty());
}

TEST_CASE("on the CPU: a captured step takes as much memory as an eager one, and frees it") {
  nn::Sequential net(nn::Linear(64, 256), nn::ReLU(), nn::Linear(256, 256), nn::ReLU(), nn::Linear(256, 8));
  optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.1));
  const Tensor x = randn({512, 64}), y = randint(8, {512}, kLong);
  const auto function = [&] {
    optimizer.zero_grad();
    const Tensor loss = cross_entropy_loss(net->forward(x), y);
    loss.backward();
    optimizer.step();
    return loss.detach();
  };
  const Device cpu(kCPU, 0);
  function();
  optimizer.zero_grad();
  const int64_t before = memory_stats(cpu).current_bytes;
  reset_peak_memory_stats(cpu);
  function();
  optimizer.zero_grad();
  const int64_t eager = memory_stats(cpu).peak_bytes - before;
  {
    CapturedStep step(function, {&optimizer});
    for (int i = 0; i < 5; ++i) step(std::vector<Tensor>());
    REQUIRE(step.captured());
    reset_peak_memory_stats(cpu);
    const Tensor loss = step(std::vector<Tensor>())[0];
    CHECK(memory_stats(cpu).peak_bytes - before <= eager + 4096);  // places are multiples of 64 bytes
    CHECK(std::isfinite(loss.item<float>()));
  }
  optimizer.zero_grad();
  CHECK(memory_stats(cpu).current_bytes == before);
}

TEST_CASE("on the CPU: a step that calls another captured step") {
  CapturedStep inner([](const Tensor& x) { return x + rand({10}); });
  CapturedStep outer([&](const Tensor& x) { return inner(x)[0] * 2; });
  const Generator a(3), b(3);
  for (int i = 0; i < 10; ++i) {
    const Tensor x = full({10}, i);
    Tensor expected, out;
    {
      const GeneratorGuard guard(a);
      expected = (x + rand({10})) * 2;
    }
    {
      const GeneratorGuard guard(b);
      out = outer(x)[0];
    }
    CHECK(testing::identical(out, expected));
  }
  CHECK(inner.captured());
  CHECK_FALSE(outer.captured());
  CHECK(outer.message() == "tandem: captured step: the step begins another one: it runs uncaptured from now on");
}

TEST_CASE("on the CPU: results outlive the captured step") {
  Tensor out;
  {
    CapturedStep step([](const Tensor& x) { return (x * 2 + 1).exp(); });
    for (int i = 0; i < 5; ++i) out = step(zeros({1000}))[0];
    REQUIRE(step.captured());
  }
  CHECK(testing::identical(out, ones({1000}).exp()));
}

TEST_CASE("on the CPU: another thread may compute, and its elements are its own") {
  CapturedStep step([](const Tensor& x) {
    const Tensor y = x + 1;
    float sum = 0;
    std::thread([&] { sum = (ones({100}) * 2).sum().item<float>(); }).join();
    check(sum == 200, "another thread's kernels were recorded");
    return y * 3;
  });
  for (int i = 0; i < 6; ++i) CHECK(testing::identical(step(full({10}, i))[0], full({10}, 3 * (i + 1))));
  CHECK(step.captured());
}

TEST_CASE("supported signatures of the step function") {
  const Tensor a = ones({2}), b = full({2}, 2.0f);
  CapturedStep vectors([](const std::vector<Tensor>& in) { return std::vector<Tensor>{in[1], in[0]}; });
  CHECK(vectors({a, b}).size() == 2);
  CHECK(testing::identical(vectors(a, b)[0], b));
  CapturedStep pair([](const Tensor& x, const Tensor& y) { return std::pair(x + y, x - y); });
  CHECK(testing::identical(pair({a, b})[1], a - b));
  CapturedStep tuple([](Tensor x) { return std::tuple(x, x * 2, x * 3); });
  CHECK(testing::identical(tuple({a})[2], a * 3));
  int calls = 0;
  CapturedStep none([&] { ++calls; });
  CHECK(none(std::vector<Tensor>{}).empty());
  CHECK(calls == 1);
  CHECK_THROWS_WITH_AS(pair({a}), "captured step: the function takes 2 tensors, got 1", Error);
  CapturedStep broken([](const Tensor& x) -> Tensor { fail("no ", x.numel()); });
  CHECK_THROWS_WITH_AS(broken(a), "no 2", Error);
  CHECK_THROWS_AS(CapturedStep([] {}, {nullptr}), Error);
}
