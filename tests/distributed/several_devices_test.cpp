// DistributedDataParallel on several devices per process. Ranks are threads.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>

#include "tandem/parallel/data_parallel/data_parallel.h"
#include "tandem/parallel/distributed_data_parallel/distributed_data_parallel.h"
#include "tandem/tandem.h"
#include "tandem/tests/distributed/ranks.h"
#include "tandem/tests/distributed/seeded.h"

using namespace tandem;
using namespace tandem::distributed;

namespace {

struct NetImpl : nn::Cloneable<NetImpl> {
  NetImpl() { reset(); }
  void reset() override {
    first = register_module("first", nn::Linear(5, 40));
    second = register_module("second", nn::Linear(40, 40));
    third = register_module("third", nn::Linear(40, 4));
    other = register_module("other", nn::Linear(5, 4));
  }
  Tensor forward(Tensor x) { return third(tanh(second(tanh(first(x))))); }
  // Negative: uses nothing else.
  Tensor forward(Tensor x, Tensor uses_other) {
    const float use = uses_other[0].item<float>();
    return use < 0 ? other(x) : forward(x, use > 0);
  }
  Tensor forward(Tensor x, bool uses_other) { return uses_other ? forward(x) + other(x) : forward(x); }
  nn::Linear first{nullptr}, second{nullptr}, third{nullptr}, other{nullptr};
};
struct NormImpl : nn::Cloneable<NormImpl> {
  NormImpl() { reset(); }
  void reset() override {
    linear = register_module("linear", nn::Linear(5, 3));
    norm = register_module("norm", nn::BatchNorm1d(3));
  }
  Tensor forward(Tensor x) { return norm(linear(x)); }
  nn::Linear linear{nullptr};
  nn::BatchNorm1d norm{nullptr};
};
// Its gradients travel in several groups; those of `last` come first.
struct LargeImpl : nn::Cloneable<LargeImpl> {
  LargeImpl() { reset(); }
  void reset() override {
    first = register_module("first", nn::Linear(5, 40));
    last = register_module("last", nn::Linear(40, 8000));
  }
  Tensor forward(Tensor x) {
    const Tensor hidden = tanh(first(x));
    if (hidden.requires_grad() && reached)
      hidden.register_hook([f = reached, device = x.device()](const Tensor&) { f(device); });
    return last(hidden);
  }
  nn::Linear first{nullptr}, last{nullptr};
  static inline std::function<void(Device)> reached;  // called when backward has passed `last` on a device
};
using Net = DistributedDataParallel<NetImpl>;

/// Makes sure that there are `count` logical CPU devices while it lives.
struct Devices {
  explicit Devices(int count) : before(cpu::device_count()) { cpu::set_device_count(std::max(count, before)); }
  ~Devices() { cpu::set_device_count(before); }
  int before;
};
const std::vector<Device> kTwo = {"cpu:0", "cpu:1"};

std::shared_ptr<NetImpl> net_without_other() {
  auto net = seeded<NetImpl>();
  for (const Tensor& p : net->other->parameters()) p.set_requires_grad(false);
  return net;
}

Tensor batch_of(int step) {
  const GeneratorGuard guard{Generator(static_cast<uint64_t>(200 + step))};
  return randn({8, 5});
}

bool all_equal_on_ranks(ProcessGroup& group, const Tensor& tensor) {
  const Tensor own = tensor.detach(), largest = own.clone();
  group.all_reduce(largest, ReduceOp::MAX)->wait();
  const Tensor differs = (largest != own).any().to(kInt).view({1});
  group.all_reduce(differs, ReduceOp::SUM)->wait();
  return differs.item<int>() == 0;
}

Tensor flat(const nn::Module& net) {
  std::vector<Tensor> all;
  for (const Tensor& p : net.parameters()) all.push_back(p.detach().flatten());
  return cat(all);
}

// Trains with a part of each batch per process; the parameters of every rank.
std::vector<Tensor> train(int processes, const std::vector<Device>& devices, int64_t bucket_bytes = 4 << 20) {
  std::vector<Tensor> ends(static_cast<std::size_t>(processes));
  on_ranks(processes, [&](const GroupPtr& group) {
    auto net = net_without_other();
    Net model(net, DistributedDataParallelOptions{.process_group = group,
                                                  .devices = devices,
                                                  .bucket_bytes = bucket_bytes,
                                                  .first_bucket_bytes = bucket_bytes});
    optim::SGD optimizer(model->parameters(), optim::SGDOptions(0.25).momentum(0.5));
    for (int step = 0; step < 4; ++step) {
      const int64_t part = 8 / processes;
      optimizer.zero_grad();
      model->forward(batch_of(step).narrow(0, group->rank() * part, part)).pow(2).mean().backward();
      optimizer.step();
    }
    ends[static_cast<std::size_t>(group->rank())] = flat(*net);
  });
  return ends;
}

}  // namespace

TEST_CASE("two devices of one process have the same bits as two processes of one device") {
  const Devices two(2);
  const Tensor expected = train(2, {})[0];
  for (const int64_t bytes : {int64_t{64}, int64_t{4 << 20}}) CHECK(train(1, kTwo, bytes)[0].equal(expected));
  // Four parts: the order of the sums differs.
  const std::vector<Tensor> four = train(2, kTwo);
  CHECK(four[0].equal(four[1]));
  CHECK(allclose(four[0], train(4, {})[0], 1e-4, 1e-5));
  CHECK(train(2, kTwo, 64)[1].equal(four[0]));
}

TEST_CASE("a bucket is sent while backward still runs on the devices") {
  const Devices two(2);
  std::atomic<int> sent = 0, on_time = 0;
  LargeImpl::reached = [&](Device device) {
    if (device.index() == 0) return;  // the root's thread sends
    const auto begin = std::chrono::steady_clock::now();
    while (sent < 2 && seconds_since(begin) < 10) std::this_thread::yield();
    on_time += sent >= 2;
  };
  on_ranks(2, [&](const GroupPtr& group) {
    DistributedDataParallel<LargeImpl> model(
        seeded<LargeImpl>(),
        DistributedDataParallelOptions{
            .process_group = group, .devices = kTwo, .comm_hook = [&](ProcessGroup& within, const GradBucket& bucket) {
              ++sent;
              return allreduce_hook(within, bucket);
            }});
    CHECK(model->bucket_count() == 2);
    model->forward(batch_of(group->rank())).pow(2).mean().backward();
    CHECK(all_equal_on_ranks(*group, model->module()->first->weight.grad()));
  });
  LargeImpl::reached = nullptr;
  CHECK(on_time == 2);
}

TEST_CASE("gradients are added in the order of the devices, whichever comes first") {
  const Devices three(3);
  LargeImpl::reached = [](Device device) {  // the last device comes first
    std::this_thread::sleep_for(std::chrono::milliseconds(20 * (2 - device.index())));
  };
  const auto loss = [](const Tensor& out) { return out.pow(2).sum(); };
  std::vector<Tensor> expected;
  for (int64_t part = 0; part < 3; ++part) {
    auto net = seeded<LargeImpl>();
    loss(net->forward(batch_of(0).narrow(0, 2 * part, 2))).backward();
    std::size_t i = 0;
    for (const Tensor& p : net->parameters())
      if (part == 0)
        expected.push_back(p.grad());
      else
        expected[i++].add_(p.grad());
  }
  on_ranks(1, [&](const GroupPtr& group) {
    auto net = seeded<LargeImpl>();
    DistributedDataParallel<LargeImpl> model(
        net, DistributedDataParallelOptions{.process_group = group, .devices = {"cpu:0", "cpu:1", "cpu:2"}});
    for (int step = 0; step < 2; ++step) {
      model->zero_grad();
      loss(model->forward(batch_of(0).narrow(0, 0, 6))).backward();
      const auto parameters = net->parameters();
      for (std::size_t i = 0; i < parameters.size(); ++i) CHECK(parameters[i].grad().equal(expected[i]));
    }
  });
  LargeImpl::reached = nullptr;
}

TEST_CASE("the order of the buckets does not depend on which device is faster") {
  const Devices two(2);
  for (const int slow : {0, 1}) {
    LargeImpl::reached = [slow](Device device) {
      if (device.index() == slow) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    };
    on_ranks(2, [&](const GroupPtr& group) {
      std::vector<int64_t> sizes;
      DistributedDataParallel<LargeImpl> model(
          seeded<LargeImpl>(),
          DistributedDataParallelOptions{.process_group = group,
                                         .devices = kTwo,
                                         .bucket_bytes = 1,
                                         .first_bucket_bytes = 1,
                                         .comm_hook = [&](ProcessGroup& within, const GradBucket& bucket) {
                                           sizes.push_back(bucket.parameters()[0].numel());
                                           return allreduce_hook(within, bucket);
                                         }});
      for (int step = 0; step < 2; ++step) {
        sizes.clear();
        model->forward(batch_of(step)).pow(2).mean().backward();
        CHECK(sizes == std::vector<int64_t>{8000, 320000, 40, 200});
      }
    });
  }
  LargeImpl::reached = nullptr;
}

TEST_CASE("in a group of one process the bits are those of DataParallel") {
  const Devices two(2);
  auto net = net_without_other();
  parallel::DataParallel<NetImpl> model(net, kTwo);
  optim::SGD optimizer(model->parameters(), optim::SGDOptions(0.25).momentum(0.5));
  for (int step = 0; step < 4; ++step) {
    optimizer.zero_grad();
    model->forward(batch_of(step)).pow(2).mean().backward();
    optimizer.step();
  }
  CHECK(train(1, kTwo)[0].equal(flat(*net)));
}

TEST_CASE("parameters that no device uses are found when backward ends") {
  const Devices two(2);
  for (const bool fixed : {false, true}) {
    on_ranks(2, [&](const GroupPtr& group) {
      auto net = seeded<NetImpl>();
      Net model(net, DistributedDataParallelOptions{.process_group = group,
                                                    .devices = kTwo,
                                                    .bucket_bytes = 64,
                                                    .first_bucket_bytes = 64,
                                                    .find_unused_parameters = !fixed,
                                                    .static_graph = fixed});
      for (int step = 0; step < 3; ++step) {
        for (const Tensor& p : net->parameters()) p.mutable_grad().reset();
        const bool uses_other = !fixed && step == 1 && group->rank() == 1;
        model->forward(batch_of(step + group->rank()), uses_other).pow(2).mean().backward();
        CHECK(net->other->weight.grad().defined() == (!fixed && step == 1));
        const Tensor& grad = net->second->weight.grad();
        CHECK(grad.abs().max().item<double>() > 0);
        CHECK(all_equal_on_ranks(*group, grad));
      }
      if (fixed) return;
      for (const Tensor& p : net->parameters()) p.mutable_grad().reset();
      model->forward(batch_of(0), full({8}, -1.0)).pow(2).mean().backward();
      CHECK_FALSE(net->first->weight.grad().defined());
      CHECK(net->other->weight.grad().defined());
    });
  }
  const auto other_steps = errors_on_ranks(2, [&](const GroupPtr& group) {
    Net model(seeded<NetImpl>(),
              DistributedDataParallelOptions{
                  .process_group = group, .devices = kTwo, .find_unused_parameters = true, .static_graph = true});
    for (const bool uses_other : {true, false}) model->forward(batch_of(0), uses_other).mean().backward();
  });
  for (const std::string& error : other_steps) CHECK(error.find("static_graph") != std::string::npos);
  const auto errors = errors_on_ranks(2, [&](const GroupPtr& group) {
    Net model(seeded<NetImpl>(), DistributedDataParallelOptions{.process_group = group, .devices = kTwo});
    model->forward(batch_of(0), false).mean().backward();
  });
  for (const std::string& error : errors) CHECK(error.find("other.weight") != std::string::npos);
}

TEST_CASE("a parameter that some devices use has the gradient of the whole batch, and keeps its own if none does") {
  const Devices two(2);
  const auto loss = [](const Tensor& out) { return out.pow(2).mean(); };
  on_ranks(2, [&](const GroupPtr& group) {
    auto net = seeded<NetImpl>();
    Net model(net, DistributedDataParallelOptions{.process_group = group,
                                                  .devices = kTwo,
                                                  .bucket_bytes = 64,
                                                  .first_bucket_bytes = 64,
                                                  .find_unused_parameters = true});
    const int64_t rank = group->rank();
    for (int used = 0; used < 32; ++used) {  // bit k: device k % 2 of rank k / 2; bit 4: a gradient is there before
      CAPTURE(used);
      std::vector<float> bits;
      for (int k = 0; k < 4; ++k) bits.push_back(static_cast<float>(used >> k & 1));
      const Tensor flags = tensor(bits), x = batch_of(used);
      // One process computes the whole batch.
      auto whole = seeded<NetImpl>();
      Tensors outs;
      for (int64_t k = 0; k < 4; ++k) outs.push_back(whole->forward(x.narrow(0, 2 * k, 2), flags.narrow(0, k, 1)));
      loss(cat(outs)).backward();
      model->zero_grad();
      const Tensor before = full({4, 5}, static_cast<double>(rank + 1)), &other = net->other->weight;
      if (used >> 4) other.mutable_grad() = before;
      loss(model->forward(x.narrow(0, 4 * rank, 4), flags.narrow(0, 2 * rank, 2).repeat_interleave(2))).backward();
      const auto parameters = net->parameters(), expected = whole->parameters();
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        const bool had = parameters[i].is_same(other) && used >> 4 != 0;
        REQUIRE(parameters[i].grad().defined() == (had || expected[i].grad().defined()));
        if (had && !expected[i].grad().defined())
          CHECK(
              (parameters[i].grad().is_same(before) && before.equal(full_like(before, static_cast<double>(rank + 1)))));
        else if (parameters[i].grad().defined())
          CHECK(allclose(parameters[i].grad(), had ? expected[i].grad() + 1.5 : expected[i].grad(), 1e-4, 1e-6));
      }
    }
  });
}

TEST_CASE("no_sync, evaluation, buffers and processes with fewer batches on several devices") {
  const Devices two(2);
  on_ranks(2, [&](const GroupPtr& group) {
    auto net = seeded<NormImpl>();
    DistributedDataParallel<NormImpl> model(net,
                                            DistributedDataParallelOptions{.process_group = group, .devices = kTwo});
    optim::SGD optimizer(model->parameters(), 0.1);
    const auto loss = [&](int step) { return model->forward(batch_of(step)).pow(3).mean(); };
    {
      const auto holding = model->no_sync();
      loss(group->rank()).backward();
    }
    CHECK_FALSE(all_equal_on_ranks(*group, net->linear->weight.grad()));
    loss(group->rank() + 2).backward();
    CHECK(all_equal_on_ranks(*group, net->linear->weight.grad()));
    model->join([&] {
      for (int step = 0; step < 2 + group->rank(); ++step) {
        optimizer.zero_grad();
        loss(step).backward();
        optimizer.step();
      }
    });
    CHECK(all_equal_on_ranks(*group, net->linear->weight));
    CHECK(all_equal_on_ranks(*group, net->norm->running_mean));
    model->eval();
    const NoGradGuard no_grad;
    CHECK(allclose(model->forward(batch_of(9)), net->forward(batch_of(9)), 1e-5, 1e-6));
  });
}

TEST_CASE("devices that are refused") {
  const Devices three(3);
  const auto errors = errors_on_ranks(1, [&](const GroupPtr& group) {
    const auto refused = [&](const std::vector<Device>& devices, optional<Device> device, const char* words) {
      DistributedDataParallelOptions options;
      options.process_group = group;
      options.device = device;
      options.devices = devices;
      CHECK_THROWS_WITH(Net(seeded<NetImpl>(), options), doctest::Contains(words));
    };
    refused({"cpu:0", "cpu:0"}, nullopt, "appears twice");
    refused(kTwo, Device("cpu:2"), "not one of the devices");
  });
  check_no_errors(errors);
}
