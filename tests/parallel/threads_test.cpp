// Several threads at once: forward and backward of one DataParallel, of one plain module, and of separate
// models, and operations that allow one thread at a time.
#include <doctest/doctest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "tandem/core/profile.h"
#include "tandem/parallel/data_parallel/data_parallel.h"
#include "tandem/parallel/parameter_server/parameter_server.h"
#include "tandem/testing.h"
#include "tandem/tests/parallel/models.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::parallel;
using testing::close;
using testing::identical;

namespace {

constexpr int kThreads = 8;

// Runs body(t) on threads that start together; returns each thread's error message ("" for none).
template <class Body>
std::vector<std::string> together(int count, const Body& body) {
  std::vector<std::string> errors(static_cast<std::size_t>(count));
  std::latch ready(count);
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      ready.arrive_and_wait();
      try {
        body(t);
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(t)] = error.what();
      }
    });
  for (auto& thread : threads) thread.join();
  return errors;
}
template <class Body>
void all_well(int count, const Body& body) {
  for (const std::string& error : together(count, body)) CHECK(error == "");
}

// Different sizes, so calls use different numbers of replicas.
std::vector<Tensor> inputs(int count) {
  std::vector<Tensor> out;
  for (int t = 0; t < count; ++t) out.push_back(randn({1 + (3 * t) % 7, 5}, kDouble));
  return out;
}

template <class Model>
void backward(Model& model, const Tensor& x) {
  model(x).sin().sum().backward();
}

// Compares outputs and gradients of `rounds` calls on each of kThreads threads with those on one thread.
template <class Model, class Net>
void check_threads(Model& model, Net& net, const std::vector<Tensor>& in, int rounds) {
  net->zero_grad();
  std::vector<Tensor> outputs;
  for (const Tensor& x : in) {
    outputs.push_back(net(x).detach());
    for (int i = 0; i < rounds; ++i) backward(net, x);
  }
  const auto expected = gradients(*net);
  net->zero_grad();
  std::atomic<int> wrong{0};
  all_well(kThreads, [&](int t) {
    const auto k = static_cast<std::size_t>(t);
    for (int i = 0; i < rounds; ++i) {
      const Tensor y = model(in[k]);
      if (!close(y.detach().to(outputs[k].device()), outputs[k], 1e-12)) ++wrong;
      y.sin().sum().backward();
    }
  });
  CHECK(wrong == 0);
  const auto got = gradients(*net);
  for (std::size_t k = 0; k < got.size(); ++k) {
    CAPTURE(k);
    REQUIRE(got[k].defined() == expected[k].defined());
    if (got[k].defined()) CHECK(close(got[k], expected[k], 1e-9));
  }
}

// Throws for inputs with a large first element.
struct PickyImpl : nn::Module {
  PickyImpl() { mlp = register_module("mlp", Mlp()); }
  Tensor forward(Tensor x) {
    check(x.max().item<double>() < 100, name(), ": this one not");
    return mlp(x);
  }
  Mlp mlp{nullptr};
};
TANDEM_MODULE(Picky);

// Contains a DataParallel.
struct OuterImpl : nn::Module {
  OuterImpl() {
    inner = register_module("inner", nn::DataParallel(Mlp(), cpu_devices(3)));
    last = register_module("last", nn::Linear(3, 2));
  }
  Tensor forward(Tensor x) { return last(tanh(inner->forward(x))); }
  std::shared_ptr<DataParallelImpl<MlpImpl>> inner;
  nn::Linear last{nullptr};
};
TANDEM_MODULE(Outer);

}  // namespace

TEST_CASE("threads run forward and backward of one DataParallel") {
  LogicalDevices three(3);
  manual_seed(1);
  Mlp net;
  net->to(kDouble);
  nn::DataParallel model(net, cpu_devices(3));
  const auto in = inputs(kThreads);
  check_threads(model, net, in, 20);
  optim::SGD sgd(net->parameters(), optim::SGDOptions(0.01));
  for (int root = 2; root >= 0; --root) {  // replicas follow changes between calls
    sgd.step();
    model->to(cpu_device(root));
    std::vector<Tensor> there;
    for (const Tensor& x : in) there.push_back(x.to(cpu_device(root)));
    model->train(root % 2 == 0);
    check_threads(model, net, there, 3);
  }
  Tied tied;  // one matrix under two names; another root
  tied->to(cpu_device(1), kDouble);
  nn::DataParallel other(tied, cpu_devices(3));
  std::vector<Tensor> there;
  for (const Tensor& x : in) there.push_back(x.to(cpu_device(1)));
  check_threads(other, tied, there, 5);
}

TEST_CASE("threads call one DataParallel, some with recording and some without") {
  LogicalDevices three(3);
  manual_seed(2);
  Normed net;
  net->to(kDouble);
  net->eval();
  nn::DataParallel model(net, cpu_devices(3));
  const Tensor x = randn({7, 2, 4, 4}, kDouble), expected = net(x).detach();
  std::atomic<int> wrong{0};
  net->zero_grad();
  all_well(kThreads, [&](int t) {
    for (int i = 0; i < 20; ++i) {
      if (t % 3 == 0) {
        const NoGradGuard no_grad;
        if (!close(model(x), expected, 1e-12)) ++wrong;
      } else if (t % 3 == 1) {
        const InferenceMode inference;
        if (!close(model(x), expected, 1e-12)) ++wrong;
      } else {
        const Tensor y = model(x);
        if (!close(y.detach(), expected, 1e-12)) ++wrong;
        y.sum().backward();
      }
    }
  });
  CHECK(wrong == 0);
  const Tensor got = net->fc->bias.grad();
  CHECK(close(got, full({2}, 7.0 * 20 * 2, kDouble), 1e-9));  // from threads 2 and 5
}

TEST_CASE("calls that throw do not affect the others") {
  LogicalDevices three(3);
  manual_seed(3);
  Picky net;
  net->to(kDouble);
  nn::DataParallel model(net, cpu_devices(3));
  const auto in = inputs(kThreads);
  for (int round = 0; round < 10; ++round) {
    const auto errors = together(kThreads, [&](int t) {
      const Tensor x = in[static_cast<std::size_t>(t)].clone();
      if (t % 2 == 1) x[-1].fill_(1000);
      backward(model, x);
    });
    for (int t = 0; t < kThreads; ++t)
      CHECK((errors[static_cast<std::size_t>(t)].find("this one not") != std::string::npos) == (t % 2 == 1));
  }
  check_threads(model, net, in, 3);
}

TEST_CASE("a DataParallel inside a DataParallel, and one shared by replicas") {
  LogicalDevices three(3);
  manual_seed(4);
  Outer net;
  net->to(kDouble);
  nn::DataParallel model(net, cpu_devices(2));
  check_threads(model, net, inputs(kThreads), 3);

  Mlp shared;
  shared->to(kDouble);
  nn::DataParallel inner(shared, cpu_devices(3));
  struct CallerImpl : nn::Module {
    explicit CallerImpl(nn::DataParallel<MlpImpl>& inner) : inner(inner) {}
    Tensor forward(Tensor x) { return inner(x).to(x.device()); }
    nn::DataParallel<MlpImpl>& inner;
  };
  const auto in = inputs(kThreads);
  for (const Tensor& x : in) backward(shared, x);
  const auto expected = gradients(*shared);
  shared->zero_grad();
  all_well(kThreads, [&](int t) {
    const Tensor& x = in[static_cast<std::size_t>(t)];
    std::vector<Tensor> pieces = chunk(x, 2, 0);
    const auto out = parallel_apply(cpu_devices(static_cast<int>(pieces.size())), [&](std::size_t i) {
      return CallerImpl(inner).forward(pieces[i].to(cpu_device(static_cast<int>(i))));
    });
    gather(out, cpu_device(0)).sin().sum().backward();
  });
  const auto got = gradients(*shared);
  for (std::size_t k = 0; k < got.size(); ++k) CHECK(close(got[k], expected[k], 1e-9));
}

TEST_CASE("no_sync holds back the gradients of all threads") {
  LogicalDevices three(3);
  manual_seed(5);
  Mlp net;
  net->to(kDouble);
  nn::DataParallel model(net, cpu_devices(3));
  const auto in = inputs(kThreads);
  for (const Tensor& x : in) backward(net, x);
  const auto expected = gradients(*net);
  net->zero_grad();
  {
    const auto guard = model->no_sync();
    all_well(kThreads, [&](int t) { backward(model, in[static_cast<std::size_t>(t)]); });
  }
  const auto got = gradients(*net);
  for (std::size_t k = 0; k < got.size(); ++k) CHECK(close(got[k], expected[k], 1e-9));
}

TEST_CASE("sequential calls use one set of replicas") {
  LogicalDevices two(2);
  manual_seed(6);
  Mlp net;
  nn::DataParallel model(net, cpu_devices(2));
  const Tensor x = randn({4, 5});
  std::vector<Tensor> kept;  // graphs that stay alive need no separate replicas
  int64_t before = 0;
  for (int i = 0; i < 20; ++i) {
    kept.push_back(model(x).sum());
    if (i == 0) CHECK(model->refreshes() == 1);
    kept.back().backward();
    kept.clear();
    if (i == 1) before = memory_stats(cpu_device(1)).current_bytes;
  }
  CHECK(memory_stats(cpu_device(1)).current_bytes == before);
}

TEST_CASE("threads run backward through one plain module") {
  manual_seed(7);
  Mlp net;
  net->to(kDouble);
  check_threads(net, net, inputs(kThreads), 50);
  const Tensor x = randn({6, 5}, kDouble);
  const Tensor expected = net(x).detach();
  std::atomic<int> wrong{0};
  all_well(kThreads, [&](int) {
    const NoGradGuard no_grad;
    for (int i = 0; i < 100; ++i)
      if (!identical(net(x), expected)) ++wrong;
  });
  CHECK(wrong == 0);
}

TEST_CASE("threads train separate models, each on its device, with the same result as one thread") {
  LogicalDevices four(4);
  const auto train = [](int number, Device device) {
    const Generator stream(static_cast<uint64_t>(number));
    const GeneratorGuard guard(stream);
    Normed net;
    net->to(device);
    optim::Adam adam(net->parameters(), optim::AdamOptions(0.01));
    for (int i = 0; i < 10; ++i) {
      const Tensor x = randn({6, 2, 4, 4}).to(device);
      adam.zero_grad();
      net(x).pow(2).mean().backward();
      adam.step();
    }
    std::vector<Tensor> out;
    for (const auto& item : net->state_dict()) out.push_back(item.value().to(cpu_device(0)));
    return out;
  };
  std::vector<std::vector<Tensor>> expected, got(kThreads);
  for (int t = 0; t < kThreads; ++t) expected.push_back(train(t, cpu_device(t % 4)));
  all_well(kThreads, [&](int t) {
    const DeviceGuard here(cpu_device(t % 4));
    got[static_cast<std::size_t>(t)] = train(t, cpu_device(t % 4));
  });
  for (std::size_t t = 0; t < got.size(); ++t) {
    REQUIRE(got[t].size() == expected[t].size());
    for (std::size_t k = 0; k < got[t].size(); ++k) CHECK(identical(got[t][k], expected[t][k]));
  }
}

TEST_CASE("devices, thread counts, profiles and seeds may change while others compute on cpu:0") {
  const int threads = get_num_threads();
  LogicalDevices two(2);
  manual_seed(8);
  Mlp net;
  const Tensor x = randn({64, 5});
  const Tensor expected = net(x).detach();
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  const test::TempFolder folder;
  all_well(6, [&](int t) {
    if (t == 0) {
      for (int i = 0; i < 30; ++i) {
        set_logical_devices(kCPU, 1 + i % 4);
        set_num_threads(1 + i % 5);
      }
      for (int i = 0; i < 10; ++i) {
        profiler::start(folder / "trace.json");
        std::this_thread::yield();
        profiler::stop();
      }
      stop = true;
    } else if (t == 1) {
      for (uint64_t i = 0; !stop; ++i) manual_seed(i % 7);
    } else {
      while (!stop) {
        if (!identical(net(x).detach(), expected)) ++wrong;
        if (const Tensor r = rand({1000}); r.min().item<float>() < 0 || r.max().item<float>() >= 1) ++wrong;
      }
    }
  });
  CHECK(wrong == 0);
  set_num_threads(threads);
}

TEST_CASE("removing a device while a guard is active is harmless") {
  LogicalDevices four(4);
  {
    const DeviceGuard last(cpu_device(3));
    {
      const DeviceGuard first(cpu_device(0));
      cpu::set_device_count(2);
    }
    CHECK(cpu::current_device() == 0);
  }
  CHECK(test::error_of([] { const DeviceGuard guard(cpu_device(3)); }).find("cpu:3") != std::string::npos);
}

TEST_CASE("threads that share a generator get distinct draws, together the same ones") {
  const Generator stream(9);
  std::vector<Tensor> drawn(kThreads);
  all_well(kThreads, [&](int t) {
    const GeneratorGuard guard(stream);
    drawn[static_cast<std::size_t>(t)] = rand({16});
  });
  CHECK(stream.offset() == kThreads);
  const Generator again(9);
  std::vector<bool> found(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    const GeneratorGuard guard(again);
    const Tensor r = rand({16});
    for (std::size_t t = 0; t < drawn.size(); ++t)
      if (identical(drawn[t], r)) found[t] = true;
  }
  CHECK(std::count(found.begin(), found.end(), true) == kThreads);
}

TEST_CASE("a server rejects a second thread and continues") {
  LogicalDevices two(2);
  nn::Linear net(4, 2);
  ParameterServer server(net, cpu_devices(2));
  optim::SGD optimizer(server.parameters(), 0.1);
  const Tensor x = randn({6, 4});
  std::latch inside(2), done(1);
  const auto errors = together(2, [&](int t) {
    const auto loss = [&](nn::LinearImpl& m, const Tensors& piece) {
      if (t == 0 && piece[0].device() == cpu_device(0)) {
        inside.arrive_and_wait();
        done.wait();
      }
      return m.forward(piece[0]).pow(2).mean();
    };
    if (t == 0) {
      server.step(optimizer, {x}, loss);
      return;
    }
    inside.arrive_and_wait();
    const auto refused = [&](auto&& call) {
      const std::string text = test::error_of(call);
      CHECK(text.find("one thread at a time") != std::string::npos);
    };
    refused([&] { server.step(optimizer, {x}, loss); });
    refused([&] { server.evaluate(x); });
    refused([&] { server.update(optimizer); });
    refused([&] { server.replica(1); });
    done.count_down();
  });
  for (const std::string& error : errors) CHECK(error == "");
  server.step(optimizer, {x}, [](nn::LinearImpl& m, const Tensors& t) { return m.forward(t[0]).pow(2).mean(); });
  CHECK(server.steps() == 2);
}
