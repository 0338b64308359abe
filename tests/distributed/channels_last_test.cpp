// Channels-last models on several devices and ranks: the bits of row-major ones.
#include <doctest/doctest.h>

#include <mutex>

#include "tandem/nn/files/archive.h"
#include "tandem/parallel/distributed_data_parallel/distributed_data_parallel.h"
#include "tandem/parallel/distributed_data_parallel/sync_batch_norm.h"
#include "tandem/parallel/parameter_server/parameter_server.h"
#include "tandem/parallel/sharded/zero_redundancy_optimizer.h"
#include "tandem/parallel/shared/device_copies.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"
#include "tandem/tests/distributed/ranks.h"
#include "tandem/tests/parallel/logical_devices.h"

using namespace tandem;
using namespace tandem::distributed;

namespace {

constexpr auto kLast = MemoryFormat::ChannelsLast;
constexpr auto kRows = MemoryFormat::Contiguous;

struct NetImpl : nn::Cloneable<NetImpl> {
  NetImpl() { reset(); }
  void reset() override {
    first = register_module("first", nn::Conv2d(nn::Conv2dOptions(3, 4, 3).padding(1)));
    norm = register_module("norm", nn::BatchNorm2d(4));
    second = register_module("second", nn::Conv2d(4, 6, 3));
    last = register_module("last", nn::Linear(6, 3));
  }
  Tensor forward(const Tensor& x) {
    return last(adaptive_avg_pool2d(relu(second(max_pool2d(norm(first(x)), 2))), 1).flatten(1));
  }
  nn::Conv2d first{nullptr}, second{nullptr};
  nn::BatchNorm2d norm{nullptr};
  nn::Linear last{nullptr};
};
TANDEM_MODULE(Net);

Net make_net(MemoryFormat format) {
  const GeneratorGuard guard{Generator(3)};
  Net net;
  net->to(format);
  return net;
}
Tensor images(int step, int rank = 0) {
  const GeneratorGuard guard{Generator(static_cast<uint64_t>(10 * step + rank))};
  return randn({6, 3, 8, 8});
}
Tensor loss_of(const Tensor& output) { return (output * output).mean(); }

Tensors values(nn::Module& net) {
  Tensors out;
  for (const Tensor& p : net.parameters()) out.push_back(p.detach().clone());
  for (const Tensor& b : net.buffers()) out.push_back(b.clone());
  return out;
}

// Whether training from each layout ends with the same bits, and keeps the layout.
void check_alike(const std::function<Tensors(MemoryFormat)>& trained) {
  const Tensors rows = trained(kRows), last = trained(kLast);
  REQUIRE(rows.size() == last.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i);
    CHECK(testing::identical(last[i], rows[i]));
    if (last[i].dim() == 4) CHECK(last[i].is_contiguous(kLast));
  }
}

// The same on every rank.
void check_alike_on_ranks(const std::function<Tensors(const GroupPtr&, MemoryFormat)>& trained) {
  check_alike([&](MemoryFormat format) {
    std::mutex mutex;
    Tensors out;
    on_ranks(2, [&](const GroupPtr& group) {
      const Tensors own = trained(group, format);
      const std::lock_guard lock(mutex);
      if (group->rank() == 0) out = own;
    });
    return out;
  });
}

}  // namespace

TEST_CASE("DataParallel trains channels-last") {
  LogicalDevices three(3);
  check_alike([](MemoryFormat format) {
    Net net = make_net(format);
    parallel::DataParallel model(net, cpu_devices(3));
    optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.1).momentum(0.9));
    for (int step = 0; step < 3; ++step) {
      optimizer.zero_grad();
      loss_of(model(images(step))).backward();
      optimizer.step();
    }
    return values(*net);
  });
}

TEST_CASE("ParameterServer trains channels-last") {
  LogicalDevices two(2);
  for (const int64_t shards : {0, 3})
    check_alike([&](MemoryFormat format) {
      Net net = make_net(format);
      parallel::ServerOptions options;
      options.shards = shards;
      parallel::ParameterServer server(net, cpu_devices(2), options);
      optim::Adam optimizer(server.parameters(), optim::AdamOptions(1e-2));
      for (int step = 0; step < 3; ++step)
        server.step(optimizer, images(step), zeros({6}),
                    [](NetImpl& model, const Tensor& x, const Tensor&) { return loss_of(model.forward(x)); });
      return values(*net);
    });
}

namespace {
// Without clone(): a server makes its replicas with the constructor.
struct PlainImpl : nn::Module {
  PlainImpl() { conv = register_module("conv", nn::Conv2d(3, 4, 3)); }
  Tensor forward(const Tensor& x) { return conv(x); }
  nn::Conv2d conv{nullptr};
};
}  // namespace

TEST_CASE("replicas that a server makes get the model's layout") {
  LogicalDevices two(2);
  const auto net = std::make_shared<PlainImpl>();
  net->to(kLast);
  parallel::ParameterServer<PlainImpl> server(net, cpu_devices(2));
  optim::SGD optimizer(server.parameters(), optim::SGDOptions(0.1));
  server.step(optimizer, images(0), zeros({6}),
              [](PlainImpl& model, const Tensor& x, const Tensor&) { return loss_of(model.forward(x)); });

  for (std::size_t i = 0; i < 2; ++i)
    CHECK(testing::identical(server.replica(1).parameters()[i], net->parameters()[i]));
}

TEST_CASE("coalesced copies and sums of channels-last tensors are differentiable") {
  LogicalDevices two(2);
  const Tensor w = images(0).to(kLast).requires_grad_(), b = ones({3}).requires_grad_();
  const auto copies = parallel::broadcast_coalesced({w, b}, cpu_devices(2));
  CHECK(copies[1][0].is_contiguous(kLast));
  CHECK(testing::identical(copies[1][0], w));
  CHECK(testing::identical(autograd::grad({(copies[1][0] * 3).sum()}, {w})[0], full({6, 3, 8, 8}, 3.0f)));
  const auto sums =
      parallel::reduce_add_coalesced({copies[1], {images(1).to(cpu_device(1)), b.to(cpu_device(1))}}, cpu_device(0));
  CHECK(testing::identical(sums[0], w.detach() + images(1)));
}

TEST_CASE("DistributedDataParallel trains channels-last, also with SyncBatchNorm and sharded states") {
  if (!available()) return;
  for (const bool sharded : {false, true})
    check_alike_on_ranks([&](const GroupPtr& group, MemoryFormat format) {
      Net net = make_net(format);
      convert_sync_batchnorm(*net, group);
      DistributedDataParallel<NetImpl> model(net.ptr(), {.process_group = group});
      const auto options = optim::AdamOptions(1e-2);
      std::unique_ptr<optim::Optimizer> optimizer;
      if (sharded)
        optimizer = std::make_unique<ZeroRedundancyOptimizer<optim::Adam>>(
            net->parameters(), options, ZeroRedundancyOptimizerOptions{.process_group = group});
      else
        optimizer = std::make_unique<optim::Adam>(net->parameters(), options);
      for (int step = 0; step < 3; ++step) {
        optimizer->zero_grad();
        loss_of(model->forward(images(step, group->rank()))).backward();
        optimizer->step();
      }
      Tensors out = values(*net);
      if (auto* zero = dynamic_cast<ZeroRedundancyOptimizer<optim::Adam>*>(optimizer.get())) {
        zero->consolidate_state_dict(-1);
        serialize::OutputArchive archive;
        zero->save(archive);
        for (const auto& item : archive.tensors()) out.push_back(item.value().clone());
      }
      return out;
    });
}

TEST_CASE("ranks whose models have different layouts are told so") {
  if (!available()) return;
  const auto errors = errors_on_ranks(2, [](const GroupPtr& group) {
    Net net = make_net(group->rank() == 0 ? kRows : kLast);
    DistributedDataParallel<NetImpl> model(net.ptr(), {.process_group = group});
  });
  for (const std::string& error : errors) CHECK(error.find("channels-last") != std::string::npos);
}

TEST_CASE("collectives of channels-last tensors") {
  if (!available()) return;
  on_ranks(2, [](const GroupPtr& group) {
    const Tensor x = images(0, group->rank()), y = x.to(kLast), sum = images(0, 0) + images(0, 1);
    group->all_reduce(y)->wait();
    CHECK(testing::identical(y, sum));
    const Tensor sent = x.clone(kLast);
    group->broadcast(sent, 1)->wait();
    CHECK(testing::identical(sent, images(0, 1)));
    CHECK_THROWS_AS(group->all_reduce(x.transpose(2, 3)), Error);
  });
  const auto errors = errors_on_ranks(2, [](const GroupPtr& group) {
    const Tensor x = images(0).to(group->rank() == 0 ? kRows : kLast);
    group->all_reduce(x)->wait();
  });
  for (const std::string& error : errors) CHECK(error.find("channels-last") != std::string::npos);
}

TEST_CASE("parts of a sharded state tell their layout") {
  if (!available()) return;
  const auto make = [](MemoryFormat format) { return Tensors{images(0).to(format).requires_grad_()}; };
  const auto errors = errors_on_ranks(2, [&](const GroupPtr& group) {
    const Tensors rows = make(kRows), last = make(kLast);
    const ZeroRedundancyOptimizerOptions options{.process_group = group};
    ZeroRedundancyOptimizer<optim::Adam> a(last, optim::AdamOptions(1e-2), options),
        b(rows, optim::AdamOptions(1e-2), options), c(make(kLast), optim::AdamOptions(1e-2), options);
    last[0].mutable_grad() = images(1).to(kLast);
    a.step();
    serialize::OutputArchive part;
    a.save_part(part);
    serialize::InputArchive same(part.tensors(), part.metadata()), other(part.tensors(), part.metadata());
    c.load_part(same);
    CHECK_THROWS_AS(b.load_part(other), Error);
    ZeroRedundancyOptimizer<optim::Adam>(make(group->rank() == 0 ? kRows : kLast), optim::AdamOptions(1e-2), options);
  });
  for (const std::string& error : errors) CHECK(error.find("layout") != std::string::npos);
}
