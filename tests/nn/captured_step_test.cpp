// Captured steps: the signatures of their functions, and what is particular to the CPU. tests/cuda has the tests that the
// CPU shares with a GPU.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
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

namespace {

std::string told(const std::string& text) { return "tandem: captured step: " + text; }
const std::string kUncaptured = ": it runs uncaptured from now on";

}  // namespace

TEST_CASE("on the CPU: how often a step runs before it is recorded, and how many recordings there may be") {
  for (const auto& [warm_up, before] : {std::pair<int, int>{-1, 1}, {0, 1}, {1, 1}, {2, 2}, {5, 5}}) {
    CapturedStep step([](const Tensor& x) { return x * 2; }, {}, {.warm_up = warm_up});
    for (int i = 0; i < before + 2; ++i) {
      step(ones({3}));
      CHECK(step.captured() == (i >= before));
      CHECK(step.graphs() == (i >= before ? 1u : 0u));
      CHECK(step.launches() == static_cast<uint64_t>(std::max(0, i - before + 1)));
    }
    CHECK(step.message().empty());
  }
  CapturedStep step([](const Tensor& x) { return x * 2; }, {}, {.warm_up = 1, .max_graphs = 2});
  const auto run = [&](int64_t size) {
    CHECK(step(ones({size}))[0].equal(full({size}, 2.0)));
    return step.captured();
  };
  CHECK_FALSE(run(1));
  CHECK(run(1));
  CHECK(step.message() == "");
  CHECK_FALSE(run(2));
  CHECK(step.message() ==
        told("input 0 has shape [2], was [1]: the step runs uncaptured 1 times, then is recorded separately"));
  CHECK(run(2));
  const std::string full_text =
      told("input 0 has shape [3], was [2], and there are already 2 recordings: such steps run uncaptured");
  for (int i = 0; i < 3; ++i) {
    CHECK_FALSE(run(3));
    CHECK(step.message() == full_text);
  }
  CHECK(run(1));
  CHECK_FALSE(run(4));
  CHECK(step.message() == full_text);  // said once
  CHECK(run(2));
  CHECK(step.graphs() == 2);
  CapturedStep quiet([](const Tensor& x) { return x * 2; }, {}, {.warm_up = 1, .say_changes = false});
  for (const int64_t size : {1, 2, 3, 1}) quiet(ones({size}));
  CHECK(quiet.message() == "");
}

TEST_CASE("on the CPU: what differs from the last call is named") {
  nn::Sequential net(nn::BatchNorm2d(2));
  const auto make = [&](CapturedStep& step) { step.watch(*net); };
  const Tensor image = ones({1, 2, 3, 4});
  const auto change = [&](const std::function<std::vector<Tensor>()>& second) {
    net->train();
    CapturedStep step([](const std::vector<Tensor>& in) { return in.empty() ? Tensor() : in[0] * 2; }, {},
                      {.warm_up = 1});
    make(step);
    for (int i = 0; i < 3; ++i) step(std::vector<Tensor>{image});
    CHECK(step.captured());
    const std::vector<Tensor> inputs = second();
    step(inputs);
    CHECK_FALSE(step.captured());
    const std::string text = step.message(), end = ": the step runs uncaptured 1 times, then is recorded separately";
    CHECK(text.ends_with(end));
    return text.substr(0, text.size() - end.size());
  };
  using Inputs = std::vector<Tensor>;
  CHECK(change([&] { return Inputs{image, image}; }) == told("the number of inputs is 2, was 1"));
  CHECK(change([&] { return Inputs{}; }) == told("the number of inputs is 0, was 1"));
  CHECK(change([&] { return Inputs{ones({1, 2, 3, 5})}; }) == told("input 0 has shape [1, 2, 3, 5], was [1, 2, 3, 4]"));
  CHECK(change([&] { return Inputs{image.to(kDouble)}; }) == told("input 0 has dtype float64, was float32"));
  CHECK(change([&] { return Inputs{image.contiguous(MemoryFormat::ChannelsLast)}; }) ==
        told("input 0 is channels-last, was row-major"));
  CHECK(change([&] { return net->eval(), Inputs{image}; }) == told("a module changed its mode (train or eval)"));
  CHECK(change([&] {
          net->named_parameters()["0.weight"].requires_grad_(false);
          return Inputs{image};
        }) == told("requires_grad of parameter 0 is false"));
  CHECK(change([&] {
          net->named_parameters()["0.weight"].requires_grad_(true);
          return Inputs{image};
        }) == told("requires_grad of parameter 0 is true"));
  CHECK(change([&] { return net->named_parameters()["0.bias"].set_data(ones({2})), Inputs{image}; }) ==
        told("parameter 1 is in different memory"));
  CHECK(change([&] { return net->named_buffers()["0.running_var"].set_data(ones({2})), Inputs{image}; }) ==
        told("a buffer is in different memory"));
  Context& c = globalContext();
  const bool before[] = {c.allowTF32CuBLAS(), c.allowTF32CuDNN(), c.benchmarkCuDNN(), c.deterministicCuDNN()};
  const std::string math = told("a switch of globalContext() (TF32, cuDNN) changed");
  CHECK(change([&] { return c.setAllowTF32CuBLAS(!before[0]), Inputs{image}; }) == math);
  CHECK(change([&] { return c.setAllowTF32CuDNN(!before[1]), Inputs{image}; }) == math);
  CHECK(change([&] { return c.setBenchmarkCuDNN(!before[2]), Inputs{image}; }) == math);
  CHECK(change([&] { return c.setDeterministicCuDNN(!before[3]), Inputs{image}; }) == math);
  c.setAllowTF32CuBLAS(before[0]);
  c.setAllowTF32CuDNN(before[1]);
  c.setBenchmarkCuDNN(before[2]);
  c.setDeterministicCuDNN(before[3]);
}

TEST_CASE("on the CPU: a step runs uncaptured with tensors on another device, and says which") {
  struct TwoDevices {
    TwoDevices() { cpu::set_device_count(2); }
    ~TwoDevices() { cpu::set_device_count(1); }
  } two;
  const Device here(kCPU, 0), there(kCPU, 1);
  const Tensor x = ones({3}), far = ones({3}).to(there), none;
  const auto message = [&](const std::vector<Tensor>& inputs) {
    CapturedStep step([](const std::vector<Tensor>& in) { return in[0].defined() ? in[0] * 2 : Tensor(); });
    for (int i = 0; i < 5; ++i) step(inputs);
    CHECK_FALSE(step.captured());
    CHECK(step.graphs() == 0);
    return step.message();
  };
  CHECK(message({far}) == told(concat("the step has input 0 on ", there, ", not on ", here)) + kUncaptured);
  CHECK(message({x, far}) == told(concat("the step has input 1 on ", there, ", not on ", here)) + kUncaptured);
  CHECK(message({none}) == told(concat("the step has input 0 undefined, not on ", here)) + kUncaptured);
  CHECK(message({x, x.clone().requires_grad_()}) ==
        told("the step has input 1 that requires a gradient") + kUncaptured);
  nn::Linear layer(3, 3);
  layer->to(there);
  CapturedStep step([&](const Tensor& t) { return t * 2; });
  step.watch(*layer);
  CHECK_THROWS_WITH_AS(step.watch(*layer), "captured step: watch() can be called only once", Error);
  for (int i = 0; i < 5; ++i) step(x);
  CHECK_FALSE(step.captured());
  CHECK(step.message() == told(concat("the step has parameters that are not on ", here)) + kUncaptured);
}

TEST_CASE("on the CPU: gradients that were undefined when a step was recorded stay so, also if a replay fails") {
  struct Side {
    Tensor w = ones({3}).requires_grad_();
    optim::SGD optimizer{{w}, optim::SGDOptions(0.1)};
    Tensor step(const Tensor& x) {
      (w * w * x).sum().backward();
      optimizer.step();
      optimizer.zero_grad();
      return w.detach().clone();
    }
    void momentum() { static_cast<optim::SGDOptions&>(optimizer.param_groups()[0].options()).momentum(0.9); }
  };
  const Tensor x = full({3}, 0.5);
  Side eager, recorded;
  CapturedStep step([&](const Tensor& t) { return recorded.step(t); }, {&recorded.optimizer}, {.warm_up = 1});
  const auto same = [&] { CHECK(testing::identical(step(x)[0], eager.step(x))); };
  for (int i = 0; i < 3; ++i) same();
  CHECK(step.captured());
  CHECK_FALSE(recorded.w.grad().defined());
  for (Side* side : {&eager, &recorded}) side->w.mutable_grad() = ones({3});
  same();
  CHECK_FALSE(step.captured());
  CHECK(step.message() ==
        told("the gradient of parameter 0 is defined but was undefined when the step was recorded: the "
             "step runs uncaptured"));
  same();
  CHECK(step.captured());
  for (Side* side : {&eager, &recorded}) side->momentum();
  same();
  CHECK_FALSE(step.captured());
  CHECK(step.message().starts_with(told("the step cannot be replayed: ")));
  CHECK_FALSE(recorded.w.grad().defined());
  same();
}
