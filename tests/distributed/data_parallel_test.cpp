// DistributedDataParallel: ranks are threads.
#include <doctest/doctest.h>

#include <mutex>

#include "tandem/parallel/distributed_data_parallel/distributed_data_parallel.h"
#include "tandem/tandem.h"
#include "tandem/tests/distributed/ranks.h"

using namespace tandem;
using namespace tandem::distributed;

namespace {

struct NetImpl : nn::Module {
  explicit NetImpl(int64_t hidden = 7) {
    first = register_module("first", nn::Linear(5, hidden));
    second = register_module("second", nn::Linear(hidden, 4));
    unused = register_module("unused", nn::Linear(3, 2));
    for (const Tensor& p : unused->parameters()) p.set_requires_grad(false);
  }
  Tensor forward(Tensor x) { return second(tanh(first(x))); }
  nn::Linear first{nullptr}, second{nullptr}, unused{nullptr};
};

std::shared_ptr<NetImpl> make_net(uint64_t seed, int64_t hidden = 7) {
  const GeneratorGuard guard{Generator(seed)};
  return std::make_shared<NetImpl>(hidden);
}

Tensor inputs_of(int rank, int64_t step = 0) {
  const GeneratorGuard guard{Generator(static_cast<uint64_t>(100 + rank) + 1000 * static_cast<uint64_t>(step))};
  return randn({6, 5});
}

Tensor loss_of(const Tensor& output) { return (output * output).mean(); }

// What one process computes: the average over ranks of the gradients at the parameters of rank 0.
std::vector<Tensor> expected_gradients(int size, int64_t step = 0) {
  auto net = make_net(0);
  for (int rank = 0; rank < size; ++rank) loss_of(net->forward(inputs_of(rank, step))).div(size).backward();
  std::vector<Tensor> out;
  for (const Tensor& p : net->parameters()) out.push_back(p.grad());
  return out;
}

void check_gradients(nn::Module& net, const std::vector<Tensor>& expected) {
  const std::vector<Tensor> parameters = net.parameters();
  REQUIRE(parameters.size() == expected.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    REQUIRE(parameters[i].grad().defined() == expected[i].defined());
    if (expected[i].defined()) CHECK(allclose(parameters[i].grad(), expected[i], 1e-5, 1e-6));
  }
}

}  // namespace

TEST_CASE("gradients are averaged over the processes for every size of the buckets") {
  for (const int size : {1, 2, 3})
    for (const int64_t bytes : {int64_t{1}, int64_t{200}, int64_t{1} << 20})
      on_ranks(size, [&](const GroupPtr& group) {
        auto net = make_net(static_cast<uint64_t>(group->rank()));  // other parameters than rank 0's
        DistributedDataParallel<NetImpl> model(
            net, {.process_group = group, .bucket_bytes = bytes, .first_bucket_bytes = bytes});
        for (int64_t step = 0; step < 3; ++step) {  // the buckets are arranged again after the first step
          model->zero_grad();
          loss_of(model->forward(inputs_of(group->rank(), step))).backward();
          check_gradients(*net, expected_gradients(size, step));
        }
      });
}

TEST_CASE("gradients are accumulated under no_sync and over steps without zero_grad") {
  on_ranks(2, [&](const GroupPtr& group) {
    DistributedDataParallel<NetImpl> model(make_net(0), {.process_group = group});
    const auto two = [&](bool hold) {
      model->zero_grad();
      {
        std::optional<distributed::NoSyncGuard> guard;
        if (hold) guard.emplace(*model);
        loss_of(model->forward(inputs_of(group->rank(), 0))).backward();
      }
      if (hold && group->rank() == 1)  // not averaged yet
        CHECK_FALSE(allclose(model->parameters()[0].grad(), expected_gradients(2, 0)[0]));
      loss_of(model->forward(inputs_of(group->rank(), 1))).backward();
      auto expected = expected_gradients(2, 0);
      const auto more = expected_gradients(2, 1);
      for (std::size_t i = 0; i < expected.size(); ++i)
        if (expected[i].defined()) expected[i] = expected[i] + more[i];
      check_gradients(*model->module(), expected);
    };
    two(true);
    two(false);
  });
}

TEST_CASE("compression hooks send float16 and bfloat16") {
  on_ranks(3, [&](const GroupPtr& group) {
    for (const auto& [hook, tolerance] : {std::pair{&fp16_compress_hook, 2e-3}, {&bf16_compress_hook, 2e-2}}) {
      DistributedDataParallel<NetImpl> model(make_net(0), {.process_group = group, .comm_hook = hook});
      loss_of(model->forward(inputs_of(group->rank()))).backward();
      const auto expected = expected_gradients(3);
      const auto parameters = model->parameters();
      for (std::size_t i = 0; i < parameters.size(); ++i)
        if (expected[i].defined()) {
          CHECK(allclose(parameters[i].grad(), expected[i], tolerance, tolerance / 10));
          CHECK_FALSE(parameters[i].grad().equal(expected[i]));  // it was rounded
        }
    }
  });
}

namespace {

// Uses `extra` on some ranks only.
struct BranchImpl : nn::Module {
  BranchImpl() {
    base = register_module("base", nn::Linear(5, 4));
    extra = register_module("extra", nn::Linear(5, 4));
    never = register_module("never", nn::Linear(5, 4));
  }
  Tensor forward(Tensor x, bool with_extra) { return with_extra ? base(x) + extra(x) : base(x); }
  nn::Linear base{nullptr}, extra{nullptr}, never{nullptr};
};

}  // namespace

TEST_CASE("parameters without a gradient are an error that names them, on every process") {
  const auto errors = errors_on_ranks(2, [&](const GroupPtr& group) {
    const GeneratorGuard guard{Generator(1)};
    DistributedDataParallel<BranchImpl> model(std::make_shared<BranchImpl>(), {.process_group = group});
    loss_of(model->forward(inputs_of(group->rank()), true)).backward();
  });
  for (const std::string& error : errors) {
    CHECK(error.find("never.weight, never.bias") != std::string::npos);
    CHECK(error.find("find_unused_parameters") != std::string::npos);
  }
}

TEST_CASE("find_unused_parameters reduces what some processes used and leaves the rest alone") {
  on_ranks(3, [&](const GroupPtr& group) {
    const GeneratorGuard guard{Generator(1)};
    auto net = std::make_shared<BranchImpl>();
    DistributedDataParallel<BranchImpl> model(net, {.process_group = group, .find_unused_parameters = true});
    for (int step = 0; step < 2; ++step) {
      model->zero_grad();
      loss_of(model->forward(inputs_of(group->rank()), group->rank() == 1)).backward();
      CHECK_FALSE(net->never->weight.grad().defined());
      REQUIRE(net->extra->weight.grad().defined());
      // Only rank 1 contributes.
      const GeneratorGuard same{Generator(1)};
      auto alone = std::make_shared<BranchImpl>();
      loss_of(alone->forward(inputs_of(1), true)).div(3).backward();
      CHECK(allclose(net->extra->weight.grad(), alone->extra->weight.grad(), 1e-5, 1e-6));
    }
  });
}

TEST_CASE("models that differ are refused on every process") {
  const auto errors = errors_on_ranks(3, [&](const GroupPtr& group) {
    DistributedDataParallel<NetImpl> model(make_net(0, group->rank() == 2 ? 8 : 7), {.process_group = group});
  });
  for (const std::string& error : errors) {
    CHECK(error.find("the model of rank 2 differs from that of rank 0") != std::string::npos);
    CHECK(error.find("rank 0: parameter first.weight [7, 5]") != std::string::npos);
    CHECK(error.find("rank 2: parameter first.weight [8, 5]") != std::string::npos);
  }
}

TEST_CASE("an exception in forward ends the other processes with its message") {
  const auto errors = errors_on_ranks(3, [&](const GroupPtr& group) {
    DistributedDataParallel<NetImpl> model(make_net(0), {.process_group = group});
    const Tensor x = group->rank() == 1 ? randn({6, 9}) : inputs_of(0);
    loss_of(model->forward(x)).backward();
  });
  CHECK(errors[0].find("rank 1") != std::string::npos);
  CHECK(errors[2].find("rank 1") != std::string::npos);
  CHECK(errors[1].find("9") != std::string::npos);
}

TEST_CASE("processes with fewer batches take part until all have finished") {
  std::mutex mutex;
  std::vector<std::vector<Tensor>> ends(3);
  on_ranks(3, [&](const GroupPtr& group) {
    DistributedDataParallel<NetImpl> model(make_net(0), {.process_group = group});
    optim::SGD optimizer(model->parameters(), 0.1);
    const int64_t batches = 2 + group->rank() % 2;  // rank 1 has one more
    int64_t done = 0;
    model->join([&] {
      for (; done < batches; ++done) {
        optimizer.zero_grad();
        loss_of(model->forward(inputs_of(group->rank(), done))).backward();
        optimizer.step();
      }
    });
    CHECK(done == batches);
    const std::lock_guard lock(mutex);
    for (const Tensor& p : model->parameters())
      ends[static_cast<std::size_t>(group->rank())].push_back(p.detach().clone());
  });
  // One process that computes the same averages.
  auto net = make_net(0);
  optim::SGD optimizer(net->parameters(), 0.1);
  for (int64_t step = 0; step < 3; ++step) {
    optimizer.zero_grad();
    for (int rank = 0; rank < 3; ++rank)
      if (step < 2 + rank % 2) loss_of(net->forward(inputs_of(rank, step))).div(3).backward();
    optimizer.step();
  }
  const auto expected = net->parameters();
  for (const auto& end : ends)
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(allclose(end[i], expected[i], 1e-5, 1e-6));
}

TEST_CASE("every forward in training receives the buffers of rank 0") {
  on_ranks(2, [&](const GroupPtr& group) {
    auto norm = std::make_shared<nn::BatchNorm1dImpl>(5);
    DistributedDataParallel<nn::BatchNorm1dImpl> model(norm, {.process_group = group});
    Tensor first = norm->running_mean.clone();
    model->forward(inputs_of(group->rank(), 0)).sum().backward();
    model->zero_grad();
    model->forward(inputs_of(group->rank(), 1)).sum().backward();
    // The second forward started with rank 0's statistics of the first.
    nn::BatchNorm1d alone(5);
    alone(inputs_of(0, 0));
    alone(inputs_of(group->rank(), 1));
    CHECK(allclose(norm->running_mean, alone->running_mean, 1e-5, 1e-6));
  });
}
