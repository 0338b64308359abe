// replicate, parallel_apply, nested containers, Scatter and Gather; failures and their messages.
#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/parallel/parallel.h"
#include "tandem/testing.h"
#include "tandem/tests/parallel/models.h"

using namespace tandem;
using namespace tandem::parallel;
using testing::close;
using testing::identical;

namespace {

template <class E = Error, class F>
void says(F&& f, const char* text) {
  CAPTURE(text);
  CHECK_THROWS_WITH_AS(f(), doctest::Contains(text), E);
}

struct Thrower : nn::Module {
  Tensor forward(Tensor x, int kind) {
    ++calls();
    if (x.device().index() == 0) return x;
    switch (kind) {
      case 0:
        fail("no luck with ", x.size(0), " rows");
      case 1:
        throw IndexError("out of reach");
      case 2:
        throw NotImplementedError("not today");
      case 3:
        throw std::invalid_argument("std text");
      case 4:
        throw 17;
      default:
        return x;
    }
  }
  static std::atomic<int>& calls() {
    static std::atomic<int> count{0};
    return count;
  }
};

}  // namespace

TEST_CASE("replicas compute what the module does, and their gradients reach the module") {
  LogicalDevices three(3);
  manual_seed(1);
  Normed net;
  net->eval();
  const auto replicas = nn::parallel::replicate(net, cpu_devices(3));
  CHECK(replicas[0]->fc->weight.data_ptr() == net->fc->weight.data_ptr());
  CHECK(replicas[0]->norm->running_mean.data_ptr() == net->norm->running_mean.data_ptr());
  Tensor sum = zeros({});
  const Tensor x = randn({2, 2, 4, 4});
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(replicas[i]->fc->weight.device() == cpu_devices(3)[i]);
    CHECK_FALSE(replicas[i]->drop->is_training());
    const Tensor y = nn::ModuleHolder<NormedImpl>(replicas[i])(x.to(cpu_devices(3)[i]));
    CHECK(identical(y.detach().cpu(), net(x).detach()));
    sum = sum + y.sum().cpu();
  }
  sum.backward();
  const auto got = gradients(*net);
  net->zero_grad();
  (net(x).sum() * 3).backward();
  const auto expected = gradients(*net);
  for (std::size_t k = 0; k < got.size(); ++k) CHECK(close(got[k], expected[k], 1e-4));
}

TEST_CASE("making replicas draws no random numbers") {
  LogicalDevices two(2);
  struct Drawn : nn::Module {
    Drawn() { w = register_parameter("w", randn({3})); }
    Tensor forward(Tensor x) { return x * w; }
    Tensor w;
  };
  auto net = std::make_shared<Drawn>();
  const uint64_t before = default_generator().offset();
  const auto copies = replicate(net, cpu_devices(2));
  CHECK(default_generator().offset() == before);
  CHECK(identical(copies[1]->w.detach().cpu(), net->w.detach()));
}

TEST_CASE("parallel_apply: LibTorch's form and the general one") {
  LogicalDevices three(3);
  manual_seed(2);
  Mlp net;
  auto modules = replicate(net, cpu_devices(3));
  const Tensor x = randn({6, 5});
  const auto pieces = scatter(x, cpu_devices(3));
  const auto outputs = nn::parallel::parallel_apply(modules, pieces, cpu_devices(3));
  CHECK(close(gather(outputs, cpu_device(0)).detach(), net(x).detach(), 1e-6));
  CHECK(nn::parallel::parallel_apply(modules, pieces)[2].device() == cpu_device(2));

  const auto indices = parallel_apply(cpu_devices(3), [](std::size_t i) { return i; });
  CHECK(indices == std::vector<std::size_t>{0, 1, 2});
  std::atomic<int> count{0};
  parallel_apply(cpu_devices(3), [&](std::size_t) { ++count; });
  CHECK(count == 3);
  CHECK(parallel_apply(std::vector<Device>{}, [](std::size_t i) { return i; }).empty());
}

TEST_CASE("replicas inherit modes, the default device and dtype, and the random state") {
  LogicalDevices three(3);
  const auto modes = [] {
    return parallel_apply(cpu_devices(3), [](std::size_t i) {
      return std::array<bool, 4>{GradMode::is_enabled(), InferenceMode::is_enabled(),
                                 autograd::AnomalyMode::is_enabled(),
                                 zeros({1}).device() == cpu_device(static_cast<int>(i))};
    });
  };
  for (const auto& mode : modes()) CHECK(mode == std::array<bool, 4>{true, false, false, true});
  {
    InferenceMode guard;
    for (const auto& mode : modes()) CHECK(mode == std::array<bool, 4>{false, true, false, true});
  }
  {
    autograd::DetectAnomalyGuard guard;
    NoGradGuard no_grad;
    for (const auto& mode : modes()) CHECK(mode == std::array<bool, 4>{false, false, true, true});
  }
  set_default_dtype(kDouble);
  for (const Tensor& t : parallel_apply(cpu_devices(3), [](std::size_t) { return ones({1}); }))
    CHECK((t.dtype() == kDouble));
  set_default_dtype(kFloat);

  const auto draw = [] { return parallel_apply(cpu_devices(3), [](std::size_t) { return rand({4}).cpu(); }); };
  manual_seed(3);
  const auto first = draw(), second = draw();
  manual_seed(3);
  const auto again = draw();
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(identical(again[i], first[i]));
    CHECK_FALSE(identical(second[i], first[i]));
    CHECK_FALSE(identical(first[i], first[(i + 1) % 3]));
  }
}

TEST_CASE("nested containers are split and joined tensor by tensor") {
  LogicalDevices three(3);
  using Inner = std::pair<Tensor, std::string>;
  using Nested =
      std::tuple<std::vector<Inner>, std::map<std::string, std::optional<Tensor>>, std::array<Tensor, 2>, int>;
  const Tensor x = arange(5), y = arange(10).reshape({5, 2});
  const Nested value{{{x, "a"}, {y, "b"}}, {{"one", x * 2}, {"none", std::nullopt}}, {y, Tensor()}, 7};
  const auto pieces = scatter_nested(value, cpu_devices(3));
  REQUIRE(pieces.size() == 3);
  CHECK(identical(std::get<0>(pieces[2])[1].first, y.narrow(0, 4, 1)));
  CHECK(std::get<0>(pieces[1])[1].first.device() == cpu_device(1));
  const Nested back = gather_nested(pieces, cpu_device(0));
  CHECK(identical(std::get<0>(back)[0].first, x));
  CHECK(std::get<0>(back)[1].second == "b");
  CHECK(identical(*std::get<1>(back).at("one"), x * 2));
  CHECK_FALSE(std::get<1>(back).at("none").has_value());
  CHECK(identical(std::get<2>(back)[0], y));
  CHECK_FALSE(std::get<2>(back)[1].defined());
  CHECK(std::get<3>(back) == 7);
  says([] { gather_nested(std::vector<int>{1, 2}, cpu_device(0)); }, "values of type int that differ");
  says([&] { gather_nested(std::vector<std::vector<Tensor>>{{x}, {x, x}}, cpu_device(0)); }, "of different sizes");
  says([&] { gather_nested(std::vector<Tensor>{x, Tensor()}, cpu_device(0)); }, "an undefined tensor");
  says(
      [&] {
        scatter_nested(std::vector<Tensor>{x, ones({3})}, cpu_devices(3));
      },
      "wrap a tensor that every replica needs whole in parallel::whole(tensor)");
}

TEST_CASE("LibTorch's Scatter and Gather") {
  LogicalDevices three(3);
  const Tensor x = randn({5, 4}, kDouble).requires_grad_();
  autograd::Scatter chunks(cpu_devices(3));
  autograd::Gather joined(cpu_device(1));
  const auto f = [&](const std::vector<Tensor>& in) {
    auto pieces = chunks.apply({in[0]});
    for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i] = pieces[i].pow(2 + static_cast<int>(i));
    return joined.apply(pieces);
  };
  testing::gradcheck(f, {x});
  autograd::Scatter sizes(cpu_devices(2), std::vector<int64_t>{1, 3}, 1);
  CHECK(identical(sizes.apply({x.detach()})[1], x.detach().narrow(1, 1, 3)));
  autograd::Scatter number({cpu_device(2)}, nullopt, 0, true);
  CHECK(number.apply({tensor(2.0)})[0].sizes() == IntArrayRef({1}));
  says([&] { chunks.apply({x, x}); }, "Scatter: expected one tensor, got 2");
  says([&] { chunks.apply({Tensor()}); }, "Scatter: the tensor is undefined");
  says([&] { number.apply({Tensor()}); }, "Scatter: the tensor is undefined");
  says([&] { joined.apply({x, Tensor()}); }, "gather: tensor 1 of 2 is undefined");
  says([&] { joined.apply({}); }, "gather: no tensors given");
}

TEST_CASE("a replica's exception names its device; the other replicas finish") {
  LogicalDevices three(3);
  const auto thrower = std::make_shared<Thrower>();
  nn::DataParallel model(thrower, cpu_devices(3));
  const Tensor x = ones({6, 2});
  for (int round = 0; round < 3; ++round) {
    Thrower::calls() = 0;
    says([&] { model(x, 0); }, "replica 1 on cpu:1: in Thrower: no luck with 2 rows");
    CHECK(Thrower::calls() == 3);
    says<IndexError>([&] { model(x, 1); }, "replica 1 on cpu:1: in Thrower: out of reach");
    says<NotImplementedError>([&] { model(x, 2); }, "replica 1 on cpu:1: in Thrower: not today");
    says<std::invalid_argument>([&] { model(x, 3); }, "replica 1 on cpu:1: std text");
    CHECK_THROWS_AS(model(x, 4), int);
    CHECK(identical(model(x, 5), x));
  }
  Mlp net;
  const auto before = net->state_dict()["fc1.weight"].clone();
  nn::DataParallel wrong(net, cpu_devices(3));
  says([&] { wrong(ones({6, 4})); }, "replica 0 on cpu:0: in Mlp.fc1: linear: ");
  CHECK(identical(net->fc1->weight.detach(), before));
  CHECK(wrong(ones({6, 5})).size(0) == 6);
  const auto bytes = [] {
    std::vector<int64_t> out;
    for (const Device& device : cpu_devices(3)) out.push_back(memory_stats(device).current_bytes);
    return out;
  };
  const auto used = bytes();
  for (int i = 0; i < 20; ++i) CHECK_THROWS_AS(wrong(ones({6, 4})), Error);
  CHECK(bytes() == used);
}

TEST_CASE("modules and devices that DataParallel rejects") {
  LogicalDevices three(3);
  Mlp net;
  const Tensor x = ones({6, 5});
  says(
      [&] {
        nn::DataParallel(net, {cpu_device(0), cpu_device(1), cpu_device(0)});
      },
      "DataParallel: device cpu:0 appears twice");
  says([&] { nn::DataParallel(net, {cpu_device(0), cpu_device(7)}); }, "no device cpu:7");
  says([&] { nn::DataParallel(net, std::vector<Device>{}); }, "DataParallel: no devices given");
  says([&] { nn::DataParallel(std::shared_ptr<MlpImpl>(), cpu_devices(2)); }, "DataParallel: the module is empty");
  nn::DataParallel elsewhere(net, {cpu_device(1), cpu_device(2)});
  says([&] { elsewhere(x); }, "MlpImpl is on cpu:0, which is not one of the devices cpu:1, cpu:2; call model->to");
  nn::DataParallel other(net, {cpu_device(1)});
  says([&] { other(x); }, "is on cpu:0, which is not one of the devices cpu:1");
  nn::DataParallel model(net, cpu_devices(3));
  net->fc2->to(cpu_device(1));
  says([&] { model(x); }, "fc1.weight is on cpu:0 and fc2.weight on cpu:1; call model->to(device)");
  net->fc2->to(cpu_device(0));
  says(
      [&] {
        nn::DataParallel(std::make_shared<WithLossImpl>(), cpu_devices(3))(x, ones({5, 3}));
      },
      "DataParallel: tensors differ in size along dimension 0");
}

TEST_CASE("the error for a module that cannot be copied names the cure") {
  LogicalDevices two(2);
  struct Sized : nn::Module {
    explicit Sized(int n) { fc = register_module("fc", nn::Linear(n, 2)); }
    Tensor forward(Tensor x) { return fc(x); }
    nn::Linear fc{nullptr};
  };
  struct Defaulted : nn::Module {
    explicit Defaulted(int n = 3) { fc = register_module("fc", nn::Linear(n, 2)); }
    Tensor forward(Tensor x) { return fc(x); }
    nn::Linear fc{nullptr};
  };
  says([] { replicate(std::make_shared<Sized>(4), cpu_devices(2)); }, "Sized cannot be copied to another device");
  says([] { replicate(std::make_shared<Sized>(4), cpu_devices(2)); }, "or give it a default constructor");
  says([] { replicate(std::make_shared<Defaulted>(4), cpu_devices(2)); },
       "fc.weight is [2, 4] float32 cpu:0, but [2, 3] float32 cpu:0 in the copy");
  nn::DataParallel model(std::make_shared<Sized>(4), cpu_devices(2));
  says([&] { model(ones({2, 4})); }, "Derive from nn::Cloneable");
  CHECK(model(ones({1, 4})).size(0) == 1);
}

TEST_CASE("modules that share a child may fail, come and go at once on several threads") {
  nn::Linear shared(4, 4);
  const Tensor wrong = ones({2, 3});
  std::atomic<int> placed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        nn::Sequential net(shared, nn::ReLU());
        try {
          net(wrong);
        } catch (const Error& error) {
          placed += std::string(error.what()).starts_with("in Sequential.0: linear: ");
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(placed == 600);
}
