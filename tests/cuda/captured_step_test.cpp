// Captured steps on a device: same bits as eager steps, the cost of a replay, and every fallback to eager.
#include <doctest/doctest.h>

#include <thread>

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/runtime.h"
#include "tandem/core/profile.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"
#include "tandem/tests/cuda/step_device.h"
#include "tandem/tests/temp_folder.h"
#ifdef TANDEM_CUDA_EMULATION
#include "tandem/tests/cuda_emulation/emulation.h"
#endif

using namespace tandem;

namespace {

constexpr int64_t kSize = 300;

Tensor on_device(const Tensor& t) { return t.to(kDevice); }

// A model of elementwise operations only: without reductions it needs few kernels of the backend.
struct Model {
  explicit Model(int64_t n = kSize) {
    manual_seed(3);
    w = on_device(randn({n})).requires_grad_();
    b = on_device(randn({n})).requires_grad_();
  }
  std::vector<Tensor> parameters() const { return {w, b}; }
  Tensor forward(const Tensor& x, double p = 0.3) const { return tandem::dropout(tanh(x * w + b), p, true); }
  Tensor step(optim::Optimizer& optimizer, const Tensor& x, const Tensor& y) const {
    optimizer.zero_grad();
    const Tensor d = forward(x) - y, loss = d * d;
    loss.backward(ones_like(loss));
    optimizer.step();
    return loss.detach();
  }
  Tensor w, b;
};

template <class Optimizer, class Options>
void check_against_eager(const Options& options) {
  Model eager, recorded;
  Optimizer one(eager.parameters(), options), two(recorded.parameters(), options);
  CapturedStep step([&](const Tensor& x, const Tensor& y) { return recorded.step(two, x, y); }, {&two});
  const Generator eager_random(17), recorded_random(17);
  for (int i = 0; i < 50; ++i) {
    const Tensor x = on_device(arange(kSize).to(kFloat).mul_(0.01 * i)), y = on_device(ones({kSize}));
    const double lr = 0.1 / (1 + 0.1 * i);
    one.param_groups()[0].options().set_lr(lr);
    two.param_groups()[0].options().set_lr(lr);
    Tensor expected, loss;
    {
      const GeneratorGuard guard(eager_random);
      expected = eager.step(one, x, y);
    }
    {
      const GeneratorGuard guard(recorded_random);
      loss = step(x, y)[0];
    }
    CHECK(step.captured() == (i >= 3));
    REQUIRE(testing::identical(loss.cpu(), expected.cpu()));
    REQUIRE(testing::identical(recorded.w.detach().cpu(), eager.w.detach().cpu()));
    REQUIRE(testing::identical(recorded.b.grad().cpu(), eager.b.grad().cpu()));
    REQUIRE(recorded_random.offset() == eager_random.offset());
  }
  CHECK(step.launches() == 47);
  CHECK(step.graphs() == 1);
  CHECK(step.message().empty());
}

}  // namespace

TEST_CASE("50 replayed steps have the same bits as eager ones, with a changing learning rate and dropout") {
  if (!has_step_device()) return;
  SUBCASE("SGD") { check_against_eager<optim::SGD>(optim::SGDOptions(0.1)); }
  SUBCASE("SGD with momentum") {
    check_against_eager<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9).weight_decay(0.01).nesterov(true));
  }
  SUBCASE("Adam") { check_against_eager<optim::Adam>(optim::AdamOptions(0.1).amsgrad(true)); }
  SUBCASE("AdamW") { check_against_eager<optim::AdamW>(optim::AdamWOptions(0.1)); }
  SUBCASE("RMSprop") { check_against_eager<optim::RMSprop>(optim::RMSpropOptions(0.01).momentum(0.5).centered(true)); }
  SUBCASE("Adagrad") { check_against_eager<optim::Adagrad>(optim::AdagradOptions(0.1)); }
}

TEST_CASE("a replay is one launch, without allocations or waits") {
  if (!has_step_device()) return;
  Model model;
  optim::Adam adam(model.parameters(), optim::AdamOptions(0.1));
  CapturedStep step([&](const Tensor& x, const Tensor& y) { return model.step(adam, x, y); }, {&adam});
  const Tensor x = on_device(randn({kSize})), y = on_device(ones({kSize}));
  for (int i = 0; i < 5; ++i) step(x, y);
  REQUIRE(step.captured());
  const auto& runtime = backend(kDevice).runtime;
  const uint64_t allocations = runtime.memory_use(kDevice).system_allocations;
#ifdef TANDEM_CUDA_EMULATION
  const auto before = cuda_emulation::counters();
#endif
  for (int i = 0; i < 20; ++i) step(x, y);
  CHECK(step.launches() == 22);
  CHECK(runtime.memory_use(kDevice).system_allocations == allocations);
#ifdef TANDEM_CUDA_EMULATION
  const auto after = cuda_emulation::counters();
  CHECK(after.graph_launches - before.graph_launches == 20);
  CHECK(after.launches == before.launches);
  CHECK(after.library_calls == before.library_calls);
  CHECK(after.copies - before.copies == 60);  // two inputs, and the numbers
  CHECK(after.memsets == before.memsets);
  CHECK(after.syncs == before.syncs);
  CHECK(after.mallocs == before.mallocs);
  CHECK(after.pinned_mallocs == before.pinned_mallocs);
#endif
}

TEST_CASE("other threads may compute on the device during a capture") {
  if (!has_step_device()) return;
  Model model;
  optim::Adam adam(model.parameters(), optim::AdamOptions(0.1));
  const Tensor x = on_device(randn({kSize})), y = on_device(ones({kSize}));
  CapturedStep step(
      [&](const Tensor& a, const Tensor& b) {
        const Tensor loss = model.step(adam, a, b);
        std::thread([] {
          const DeviceIndex count = kDevice.is_cuda() ? static_cast<DeviceIndex>(device_count(kCUDA)) : DeviceIndex{1};
          const Device last(kDevice.type(), static_cast<DeviceIndex>(count - 1));  // the same GPU, if emulated
          for (const Device& device : {kDevice, last}) {
            const Tensor t = full({100}, 2.0, TensorOptions(device));
            synchronize(device);
            CHECK(t.sum().item<float>() == 200);
            backend(device).runtime.empty_cache(device);
          }
        }).join();
        return loss;
      },
      {&adam});
  for (int i = 0; i < 6; ++i) step(x, y);
  CHECK(step.captured());
  CHECK(step.message().empty());
}

TEST_CASE("replays queued far ahead use the numbers of their own step") {
  if (!has_step_device()) return;
  Model eager, recorded;
  optim::SGD one(eager.parameters(), optim::SGDOptions(1)), two(recorded.parameters(), optim::SGDOptions(1));
  CapturedStep step([&](const Tensor& x, const Tensor& y) { return recorded.step(two, x, y); }, {&two});
  const Tensor x = on_device(randn({kSize})), y = on_device(ones({kSize}));
  const auto run = [](optim::Optimizer& optimizer, auto&& one_step) {
    const Generator random(5);
    const GeneratorGuard guard(random);
    for (int i = 0; i < 200; ++i) {  // nothing waits in between
      optimizer.param_groups()[0].options().set_lr(0.001 * (i % 7));
      one_step();
    }
  };
  run(one, [&] { eager.step(one, x, y); });
  synchronize(kDevice);
  run(two, [&] { step(x, y); });
  CHECK(testing::identical(recorded.w.detach().cpu(), eager.w.detach().cpu()));
}

TEST_CASE("a new shape runs uncaptured and is recorded later; known shapes keep their recordings") {
  if (!has_step_device()) return;
  const Tensor w = on_device(full({1}, 2.0f));
  CapturedStep step([&](const Tensor& x) { return x * w; });
  const Tensor a = on_device(arange(4).to(kFloat)), b = on_device(arange(6).to(kFloat));
  for (int i = 0; i < 4; ++i) step(a);
  CHECK(step.captured());
  for (int i = 0; i < 3; ++i) {
    CHECK(testing::identical(step(b)[0].cpu(), (b * w).cpu()));
    CHECK_FALSE(step.captured());
  }
  CHECK(step.message() ==
        "tandem: captured step: input 0 has shape [6], was [4]: the step runs uncaptured 3 times, then is "
        "recorded separately");
  CHECK(testing::identical(step(b)[0].cpu(), (b * w).cpu()));
  CHECK(step.captured());
  CHECK(testing::identical(step(a)[0].cpu(), (a * w).cpu()));
  CHECK(step.captured());
  CHECK(step.graphs() == 2);
  step(a.to(kDouble));
  CHECK(step.message().find("input 0 has dtype") != std::string::npos);
}

TEST_CASE("a profile does not disturb a recording, and shows the replays") {
  if (!has_step_device()) return;
  const test::TempFolder folder;
  const std::string path = folder / "trace.json";
  profiler::start(path);
  CapturedStep step([&](const Tensor& x) { return x * 2 + 1; });
  const Tensor x = on_device(ones({100}));
  for (int i = 0; i < 6; ++i) CHECK(testing::identical(step(x)[0].cpu(), full({100}, 3.0f)));
  profiler::stop();
  CHECK(step.captured());
  CHECK(step.message().empty());
  CHECK(test::read_file(path).find("captured step") != std::string::npos);
}

TEST_CASE("inputs with strides are copied in") {
  if (!has_step_device()) return;
  CapturedStep step([&](const Tensor& x) { return x + 1; });
  const Tensor m = on_device(arange(12).to(kFloat)).view({3, 4});
  for (int i = 0; i < 6; ++i) {
    const Tensor x = (m + i).t();
    CHECK(testing::identical(step(x)[0].cpu(), (x + 1).cpu().contiguous()));
  }
  CHECK(step.captured());
}

namespace {

struct LeNet : nn::Module {
  LeNet() {
    conv1 = register_module("conv1", nn::Conv2d(nn::Conv2dOptions(1, 4, 5).padding(2)));
    norm = register_module("norm", nn::BatchNorm2d(4));
    conv2 = register_module("conv2", nn::Conv2d(nn::Conv2dOptions(4, 6, 3)));
    fc1 = register_module("fc1", nn::Linear(6 * 2 * 2, 20));
    fc2 = register_module("fc2", nn::Linear(20, 10));
  }
  Tensor forward(Tensor x) {
    x = max_pool2d(relu(norm(conv1(x))), 2);
    x = max_pool2d(relu(conv2(x)), 2).flatten(1);
    return fc2(dropout(relu(fc1(x)), 0.5, is_training()));
  }
  nn::Conv2d conv1{nullptr}, conv2{nullptr};
  nn::BatchNorm2d norm{nullptr};
  nn::Linear fc1{nullptr}, fc2{nullptr};
};

struct LeNetRun {
  LeNetRun() : optimizer(made(net)), loss_sum(zeros({}, TensorOptions(kDevice).dtype(kDouble))) {}
  static std::vector<Tensor> made(std::shared_ptr<LeNet>& net) {
    manual_seed(8);
    net = std::make_shared<LeNet>();
    net->to(kDevice);
    return net->parameters();
  }
  Tensor step(const Tensor& x, const Tensor& labels) {
    optimizer.zero_grad();
    const Tensor output = net->forward(x), loss = cross_entropy_loss(output, labels);
    loss.backward();
    optimizer.step();
    NoGradGuard guard;
    loss_sum.add_(loss.detach().to(kDouble).mul_(labels.size(0)));
    return (output.argmax(1) == labels).sum();
  }
  std::shared_ptr<LeNet> net;
  struct Adam : optim::Adam {
    Adam(std::vector<Tensor> p) : optim::Adam(std::move(p), optim::AdamOptions(0.01)) {}
  } optimizer;
  Tensor loss_sum;
};

}  // namespace

TEST_CASE("a network: convolutions, batch normalisation, pooling, dropout, losses, counters on the device") {
  if (!has_step_device()) return;
  LeNetRun eager, recorded;
  CapturedStep step([&](const Tensor& x, const Tensor& y) { return recorded.step(x, y); }, {&recorded.optimizer});
  step.watch(*recorded.net);
  const Generator a(5), b(5);
  const Tensor images = on_device(randn({8, 1, 12, 12}));
  const Tensor labels = on_device(arange(8).to(kLong));
  for (int i = 0; i < 10; ++i) {
    const Tensor x = images * (1 + 0.1 * i);
    Tensor expected, correct;
    {
      const GeneratorGuard guard(a);
      expected = eager.step(x, labels);
    }
    {
      const GeneratorGuard guard(b);
      correct = step(x, labels)[0];
    }
    CHECK(step.captured() == (i >= 3));
    CHECK(testing::identical(correct.cpu(), expected.cpu()));
    CHECK(testing::identical(recorded.loss_sum.cpu(), eager.loss_sum.cpu()));
  }
  CHECK(step.message().empty());
  const auto left = eager.net->state_dict(), right = recorded.net->state_dict();
  for (const auto& item : left) CHECK(testing::identical(right[item.key()].cpu(), item.value().cpu()));
}
