// Training with shards: the same bits on any number of processes, devices per process, threads and sizes of parts.
#include <doctest/doctest.h>

#include <mutex>

#include "tandem/core/shards.h"
#include "tandem/parallel/parameter_server/parameter_server.h"
#include "tandem/parallel/shards/tree_sum.h"
#include "tandem/tandem.h"
#include "tandem/tests/distributed/ranks.h"

using namespace tandem;
using distributed::errors_on_ranks;
using distributed::GroupPtr;
using distributed::on_ranks;
using Tensors = std::vector<Tensor>;

namespace {

// Batch norm and dropout depend on the shards, so they would show a wrong order or seed.
struct NetImpl : nn::Cloneable<NetImpl> {
  NetImpl() { reset(); }
  void reset() override {
    first = register_module("first", nn::Linear(12, 40));
    norm = register_module("norm", nn::BatchNorm1d(40));
    drop = register_module("drop", nn::Dropout(0.3));
    second = register_module("second", nn::Linear(40, 5));
    seen = register_buffer("seen", zeros({1}));
  }
  Tensor forward(Tensor x) {
    x = norm(first(x));
    if (is_training()) {
      const NoGradGuard guard;
      seen.copy_(x.detach().abs().max().view({1}));  // written directly
    }
    return second(drop(relu(x)));
  }
  nn::Linear first{nullptr}, second{nullptr};
  nn::BatchNorm1d norm{nullptr};
  nn::Dropout drop{nullptr};
  Tensor seen;
};

std::pair<Tensor, Tensor> batch_of(int step, int64_t samples) {
  const GeneratorGuard guard{Generator(static_cast<uint64_t>(50 + step))};
  const Tensor x = randn({samples, 12});
  return {x, randint(5, {samples}, kLong)};
}

struct Run {
  int processes = 1;
  std::vector<Device> devices = {"cpu:0"};
  int64_t shards = 8, bucket_bytes = 4 << 20;
  std::vector<int64_t> samples = {64, 64, 37, 64};  // per step; 37: shards of unequal size
  int reseeded = -1;                                // the step before which rank 0 changes its seed
};

// Parameters and buffers after the last step, of every rank.
std::vector<std::vector<Tensor>> train(const Run& run) {
  std::vector<std::vector<Tensor>> ends(static_cast<std::size_t>(run.processes));
  std::mutex mutex;
  on_ranks(run.processes, [&](const GroupPtr& group) {
    const GeneratorGuard guard{Generator(static_cast<uint64_t>(group->rank()))};  // rank 0's counts
    auto net = std::make_shared<NetImpl>();
    parallel::ParameterServer<NetImpl> server(net, run.devices,
                                              {.shards = run.shards, .group = group, .bucket_bytes = run.bucket_bytes});
    optim::SGD optimizer(server.parameters(), optim::SGDOptions(0.1).momentum(0.9));
    for (int step = 0; step < static_cast<int>(run.samples.size()); ++step) {
      const int64_t samples = run.samples[static_cast<std::size_t>(step)];
      if (step == run.reseeded && group->rank() == 0) default_generator().set_current_seed(99);
      const auto [x, y] = batch_of(step, samples);
      const auto [begin, end] = shard_range(samples, run.shards, group->size(), group->rank());
      const auto part = [&, from = begin, to = end](const Tensor& t) { return t.narrow(0, from, to - from); };
      server.step(optimizer, part(x), part(y),
                  [](NetImpl& n, const Tensor& a, const Tensor& b) { return cross_entropy_loss(n.forward(a), b); });
    }
    std::vector<Tensor> end;
    for (const Tensor& p : net->parameters()) end.push_back(p.detach().clone());
    for (const Tensor& b : net->buffers()) end.push_back(b.clone());
    const std::lock_guard lock(mutex);
    ends[static_cast<std::size_t>(group->rank())] = std::move(end);
  });
  return ends;
}

void same(const std::vector<std::vector<Tensor>>& ends, const std::vector<Tensor>& expected) {
  for (std::size_t rank = 0; rank < ends.size(); ++rank) {
    REQUIRE(ends[rank].size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      CHECK_MESSAGE(ends[rank][i].equal(expected[i]), "rank ", rank, " of ", ends.size(), ", tensor ", i);
  }
}

}  // namespace

TEST_CASE("the tree's nodes of a run of shards are those that a sum of them has") {
  for (int64_t leaves = 1; leaves <= 17; ++leaves)
    for (int64_t first = 0; first < leaves; ++first)
      for (int64_t count = 1; first + count <= leaves; ++count) {
        parallel::TreeSum sum;
        sum.begin(leaves);
        for (int64_t leaf = first; leaf < first + count; ++leaf) sum.add(0, leaf, ones({1}));
        const auto places = parallel::tree_nodes(leaves, first, count);
        REQUIRE(places.size() == sum.nodes().size());
        for (std::size_t i = 0; i < places.size(); ++i)
          CHECK(places[i] == static_cast<const parallel::TreePlace&>(sum.nodes()[i]));
      }
}

TEST_CASE("shard ranges cover a batch in order") {
  for (const int64_t samples : {1, 5, 64, 65, 1000})
    for (const int64_t shards : {1, 5, 8})
      for (int size = 1; size <= std::min<int64_t>(samples, shards); ++size) {
        int64_t at = 0;
        for (int rank = 0; rank < size; ++rank) {
          const auto [begin, end] = shard_range(samples, shards, size, rank);
          CHECK(begin == at);
          CHECK(end > begin);
          at = end;
        }
        CHECK(at == samples);
      }
  CHECK_THROWS_WITH(shard_range(64, 4, 5, 0), doctest::Contains("4 shards are too few for 5 processes"));
}

TEST_CASE("parameters and buffers have the same bits on any number of processes") {
  const std::vector<Tensor> expected = train({})[0];
  for (const int processes : {2, 3, 4, 6, 8}) same(train({.processes = processes}), expected);
  for (const int64_t bytes : {int64_t{64}, int64_t{1000}})
    same(train({.processes = 3, .bucket_bytes = bytes}), expected);
}

TEST_CASE("without shards, training goes on with the same bits after an epoch whose last batch is smaller") {
  on_ranks(3, [](const GroupPtr& group) {
    // Three processes train on batches of these sizes, from where the parameters are.
    const auto train_on = [&](const std::shared_ptr<nn::LinearImpl>& net, int first,
                              const std::vector<int64_t>& sizes) {
      parallel::ParameterServer<nn::LinearImpl> server(net, {"cpu:0"}, {.group = group});
      optim::SGD optimizer(server.parameters(), 0.1);
      for (std::size_t k = 0; k < sizes.size(); ++k) {
        const auto [x, y] = batch_of(first + static_cast<int>(k), sizes[k] + group->rank());
        server.step(optimizer, x, y, [](nn::LinearImpl& n, const Tensor& a, const Tensor& b) {
          return cross_entropy_loss(n.forward(a), b);
        });
      }
    };
    const auto make = [] {
      const GeneratorGuard guard{Generator(3)};
      return std::make_shared<nn::LinearImpl>(12, 5);
    };
    const auto whole = make(), resumed = make();
    train_on(whole, 0, {7, 7, 4, 7, 7, 4});
    train_on(resumed, 0, {7, 7, 4});
    train_on(resumed, 3, {7, 7, 4});
    CHECK(whole->weight.equal(resumed->weight));
    CHECK(whole->bias.equal(resumed->bias));
  });
}

TEST_CASE("another process's part or seed may differ from that of the last step") {
  cpu::set_device_count(std::max(2, cpu::device_count()));
  // The last of two processes has 8 samples of 16 and of 17.
  const std::vector<int64_t> samples = {24, 17, 16, 16, 17, 17};
  const std::vector<Tensor> expected = train({.samples = samples, .reseeded = 3})[0];
  for (const int processes : {2, 3, 4})
    same(train({.processes = processes, .samples = samples, .reseeded = 3}), expected);
  same(train({.processes = 2, .devices = {"cpu:0", "cpu:1"}, .samples = samples, .reseeded = 3}), expected);
}

TEST_CASE("the loss is called once per shard, and again only where rank 0 alone has a new seed") {
  on_ranks(2, [&](const GroupPtr& group) {
    const GeneratorGuard guard{Generator(0)};
    parallel::ParameterServer<NetImpl> server(std::make_shared<NetImpl>(), {"cpu:0"}, {.shards = 8, .group = group});
    optim::SGD optimizer(server.parameters(), 0.1);
    int calls = 0;
    const auto step = [&](int64_t samples) {
      const auto [x, y] = batch_of(0, samples);
      const auto [begin, end] = shard_range(samples, 8, 2, group->rank());
      calls = 0;
      const parallel::StepResult result =
          server.step(optimizer, x.narrow(0, begin, end - begin), y.narrow(0, begin, end - begin),
                      [&](NetImpl& n, const Tensor& a, const Tensor& b) {
                        ++calls;
                        return cross_entropy_loss(n.forward(a), b);
                      });
      for (const double weight : result.weights) CHECK(weight <= 8.0 / static_cast<double>(samples));
    };
    for (const int64_t samples : {64, 64, 63, 64}) {  // rank 0 always has 32
      step(samples);
      CHECK(calls == 4);
    }
    if (group->rank() == 0) default_generator().set_current_seed(5);
    step(64);
    CHECK(calls == (group->rank() == 0 ? 4 : 8));
    step(64);
    CHECK(calls == 4);
  });
}

TEST_CASE("several devices per process leave the bits as they are") {
  const int before = cpu::device_count();
  cpu::set_device_count(std::max(2, before));
  const std::vector<Tensor> expected = train({})[0];
  same(train({.devices = {"cpu:0", "cpu:1"}}), expected);
  same(train({.processes = 3, .devices = {"cpu:0", "cpu:1"}}), expected);
}

TEST_CASE("the result equals that of a server without a group") {
  const std::vector<Tensor> expected = train({.processes = 2})[0];
  const GeneratorGuard guard{Generator(0)};
  auto net = std::make_shared<NetImpl>();
  parallel::ParameterServer<NetImpl> server(net, {"cpu:0"}, {.shards = 8});
  optim::SGD optimizer(server.parameters(), optim::SGDOptions(0.1).momentum(0.9));
  for (int step = 0; step < 4; ++step) {
    const int64_t samples = step == 2 ? 37 : 64;
    const auto [x, y] = batch_of(step, samples);
    server.step(optimizer, x, y,
                [](NetImpl& n, const Tensor& a, const Tensor& b) { return cross_entropy_loss(n.forward(a), b); });
  }
  std::vector<Tensor> end = net->parameters();
  for (const Tensor& b : net->buffers()) end.push_back(b);
  same({end}, expected);
}

TEST_CASE("without shards the processes' gradients are summed by the engine") {
  std::mutex mutex;
  std::vector<Tensor> ends;
  on_ranks(3, [&](const GroupPtr& group) {
    const GeneratorGuard guard{Generator(0)};
    auto net = std::make_shared<nn::LinearImpl>(4, 2);
    parallel::ParameterServer<nn::LinearImpl> server(net, {"cpu:0"}, {.group = group, .bucket_bytes = 8},
                                                     [] { return std::make_shared<nn::LinearImpl>(4, 2); });
    optim::SGD optimizer(server.parameters(), 0.1);
    const Tensor x = arange(9 * 4).view({9, 4}).to(kFloat) / 10;
    // 2, 3 and 4 samples: weighted by their number.
    const int64_t begin = group->rank() * (group->rank() + 3) / 2;
    const Tensor part = x.narrow(0, begin, 2 + group->rank());
    server.step(optimizer, Tensors{part}, [](nn::LinearImpl& n, const Tensors& batch) {
      return (n.forward(batch[0]) * n.forward(batch[0])).mean();
    });
    const std::lock_guard lock(mutex);
    ends.push_back(net->weight.detach().clone());
  });
  const GeneratorGuard guard{Generator(0)};
  nn::Linear net(4, 2);
  const Tensor out = net(arange(9 * 4).view({9, 4}).to(kFloat) / 10);
  (out * out).mean().backward();
  const Tensor expected = net->weight.detach() - net->weight.grad() * 0.1;
  for (const Tensor& end : ends) CHECK(allclose(end, expected, 1e-5, 1e-6));
}

TEST_CASE("without shards a part of another size changes the weights of all, and the loss is called once") {
  std::mutex mutex;
  std::vector<std::vector<Tensor>> drawn(2);
  on_ranks(2, [&](const GroupPtr& group) {
    const GeneratorGuard guard{Generator(0)};
    auto net = std::make_shared<nn::LinearImpl>(4, 2);
    const auto make = [] { return std::make_shared<nn::LinearImpl>(4, 2); };
    parallel::ParameterServer<nn::LinearImpl> server(net, {"cpu:0"}, {.group = group}, make);
    const Tensor x = arange(9 * 4).view({9, 4}).to(kFloat) / 10;
    int calls = 0;
    const auto gradient = [&](int64_t first, bool holds) {
      const int64_t begin = group->rank() == 0 ? 0 : first, end = group->rank() == 0 ? first : first + 3;
      const auto loss = [&](nn::LinearImpl& n, const Tensors& batch) {
        ++calls;
        const Tensor random = rand({2});
        {
          const std::lock_guard lock(mutex);
          drawn[static_cast<std::size_t>(group->rank())].push_back(random);
        }
        return (n.forward(batch[0]) * n.forward(batch[0])).mean();
      };
      if (!holds) return server.backward({x.narrow(0, begin, end - begin)}, loss), void();
      const auto no_sync = server.no_sync();
      server.backward({x.narrow(0, begin, end - begin)}, loss);
    };
    const auto expected = [&](int64_t samples) {
      nn::Linear plain(4, 2);
      plain->load_state_dict(net->state_dict());
      const Tensor out = plain(x.narrow(0, 0, samples));
      (out * out).mean().backward();
      return plain->weight.grad();
    };
    const auto close = [&](const Tensor& sum) { CHECK(allclose(net->weight.grad(), sum, 1e-5, 1e-6)); };
    gradient(5, false);
    close(expected(8));
    gradient(5, false);
    gradient(2, false);  // rank 1 has 3 samples as before
    close(expected(5));
    if (group->rank() == 0) default_generator().set_current_seed(5);
    gradient(2, false);
    gradient(6, true);  // accumulates into new gradients, and then into these
    gradient(1, false);
    close(expected(9) + expected(4));
    CHECK(calls == 6);
  });
  CHECK_FALSE(drawn[0].back().equal(drawn[1].back()));
}

namespace {

// The last layer's gradients are complete long before those of the first; `unused` has none.
struct DeepImpl : nn::Cloneable<DeepImpl> {
  DeepImpl() { reset(); }
  void reset() override {
    layers.clear();
    for (int i = 0; i < 5; ++i) layers.push_back(register_module("layer" + std::to_string(i), nn::Linear(8, 8)));
    unused = register_module("unused", nn::Linear(8, 8));
  }
  Tensor forward(Tensor x) {
    for (nn::Linear& layer : layers) x = tanh(layer(x));
    return x;
  }
  std::vector<nn::Linear> layers;
  nn::Linear unused{nullptr};
};

struct DeepRun {
  std::vector<Device> devices = {"cpu:0"};
  int64_t bucket_bytes = 4 << 20;
  int sent_by_device = 0;  // ServerOptions::buckets
};

// The parameters of both ranks after steps of 8 samples, which is also where a part is skipped.
std::vector<Tensor> train_deep(const DeepRun& run) {
  std::vector<Tensor> ends(2);
  on_ranks(2, [&](const GroupPtr& group) {
    const GeneratorGuard guard{Generator(4)};
    auto net = std::make_shared<DeepImpl>();
    parallel::ParameterServer<DeepImpl> server(net, run.devices,
                                               {.not_finite = parallel::NotFinite::kSkip,
                                                .buckets = run.sent_by_device,
                                                .group = group,
                                                .bucket_bytes = run.bucket_bytes});
    optim::SGD optimizer(server.parameters(), optim::SGDOptions(0.1).momentum(0.9));
    for (int step = 0; step < 6; ++step) {
      const GeneratorGuard inputs{Generator(static_cast<uint64_t>(70 + step))};
      const Tensor x = randn({8, 8}).narrow(0, group->rank() * 4, 4);
      const bool bad = step == 2 && group->rank() == 1;
      const Tensor before = net->layers[0]->weight.detach().clone();
      const auto result = server.step(optimizer, Tensors{x}, [&](DeepImpl& n, const Tensors& batch) {
        return n.forward(batch[0]).pow(2).mean() * (bad ? NAN : 1.0);
      });
      CHECK(result.skipped == (step == 2));
      CHECK(net->layers[0]->weight.equal(before) == result.skipped);
    }
    std::vector<Tensor> all;
    for (const Tensor& p : net->parameters()) all.push_back(p.detach().flatten());
    ends[static_cast<std::size_t>(group->rank())] = cat(all);
  });
  return ends;
}

}  // namespace

TEST_CASE("without shards the size and the number of the sums change no bit on two processes") {
  const int before = cpu::device_count();
  cpu::set_device_count(std::max(3, before));
  const std::vector<Tensor> one = train_deep({});
  CHECK(one[0].equal(one[1]));
  const std::vector<Tensor> small = train_deep({.bucket_bytes = 64});
  CHECK(small[0].equal(one[0]));
  CHECK(small[1].equal(one[0]));
  const std::vector<Device> three = {"cpu:0", "cpu:1", "cpu:2"};
  const std::vector<Tensor> devices = train_deep({.devices = three});
  CHECK(devices[0].equal(devices[1]));
  CHECK(allclose(devices[0], one[0], 1e-4, 1e-5));
  for (const int sent_by_device : {0, 2})  // the sums begin during backward, or after it
    for (const Tensor& end : train_deep({three, 64, sent_by_device})) CHECK(end.equal(devices[0]));
}

TEST_CASE("without shards an exception on one process ends all, although sums are on their way") {
  const auto errors = errors_on_ranks(2, [&](const GroupPtr& group) {
    parallel::ParameterServer<DeepImpl> server(std::make_shared<DeepImpl>(), {"cpu:0"},
                                               {.group = group, .bucket_bytes = 64});
    optim::SGD optimizer(server.parameters(), 0.1);
    int calls = 0;
    for (int step = 0; step < 3; ++step)
      server.step(optimizer, Tensors{ones({4, 8})}, [&](DeepImpl& n, const Tensors& batch) {
        const Tensor x = n.layers[0]->forward(batch[0]);
        if (++calls == 2 && group->rank() == 1)
          x.register_hook([](const Tensor&) { fail("this hook fails"); });  // after most sums have begun
        return n.forward(x).mean();
      });
  });
  for (const std::string& error : errors) CHECK(error.find("this hook fails") != std::string::npos);
}

TEST_CASE("without shards every piece has its own random stream, also with unequal numbers of devices") {
  const int before = cpu::device_count();
  cpu::set_device_count(std::max(2, before));
  std::mutex mutex;
  std::vector<Tensor> drawn;
  on_ranks(2, [&](const GroupPtr& group) {
    const std::vector<Device> devices =
        group->rank() == 0 ? std::vector<Device>{"cpu:0", "cpu:1"} : std::vector<Device>{"cpu:0"};
    parallel::ParameterServer<nn::LinearImpl> server(std::make_shared<nn::LinearImpl>(4, 2), devices, {.group = group},
                                                     [] { return std::make_shared<nn::LinearImpl>(4, 2); });
    optim::SGD optimizer(server.parameters(), 0.1);
    server.step(optimizer, Tensors{ones({4, 4})}, [&](nn::LinearImpl& n, const Tensors& batch) {
      const Tensor random = rand({8}).to(Device("cpu:0"));
      const std::lock_guard lock(mutex);
      drawn.push_back(random);
      return n.forward(batch[0]).mean();
    });
  });
  REQUIRE(drawn.size() == 3);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < i; ++j) CHECK_FALSE(drawn[i].equal(drawn[j]));
}

TEST_CASE("a wrong part of a later batch leaves no gradients of a part") {
  for (const int64_t shards : {int64_t{0}, int64_t{4}}) {
    std::mutex mutex;
    int refused = 0;
    const auto errors = errors_on_ranks(2, [&](const GroupPtr& group) {
      const auto make = [] { return std::make_shared<nn::LinearImpl>(4, 2); };
      parallel::ParameterServer<nn::LinearImpl> server(make(), {"cpu:0"}, {.shards = shards, .group = group}, make);
      optim::SGD optimizer(server.parameters(), 0.1);
      const auto loss = [](nn::LinearImpl& n, const Tensors& batch) { return n.forward(batch[0]).mean(); };
      server.step(optimizer, Tensors{ones({4, 4})}, loss);
      if (group->rank() == 1) {  // as after loading another checkpoint
        serialize::OutputArchive other;
        other.write("steps", int64_t{7});
        std::stringstream stream;
        other.save_to(stream);
        serialize::InputArchive archive;
        archive.load_from(stream);
        server.load(archive);
      }
      try {
        server.backward(Tensors{ones({4, 4})}, loss);
      } catch (const Error&) {
        CHECK_THROWS_WITH(server.update(optimizer), doctest::Contains("there is no gradient"));
        const std::lock_guard lock(mutex);
        ++refused;
        throw;
      }
    });
    CHECK(refused == 2);
    for (const std::string& error : errors) CHECK(error.find("is at step") != std::string::npos);
  }
}

TEST_CASE("a wrong part of the batch and a loss that is not finite end all processes with the reason") {
  const auto errors_of = [&](auto samples_of, double factor, parallel::NotFinite policy) {
    return errors_on_ranks(3, [&](const GroupPtr& group) {
      auto net = std::make_shared<nn::LinearImpl>(4, 2);
      parallel::ParameterServer<nn::LinearImpl> server(net, {"cpu:0"},
                                                       {.shards = 3, .not_finite = policy, .group = group},
                                                       [] { return std::make_shared<nn::LinearImpl>(4, 2); });
      optim::SGD optimizer(server.parameters(), 0.1);
      const Tensor before = net->weight.detach().clone();
      const auto result = server.step(optimizer, Tensors{ones({samples_of(group->rank()), 4})},
                                      [&](nn::LinearImpl& n, const Tensors& batch) {
                                        return n.forward(batch[0]).mean() * (group->rank() == 1 ? factor : 1.0);
                                      });
      if (policy == parallel::NotFinite::kSkip) {
        CHECK(result.skipped);
        CHECK(net->weight.equal(before));
      }
    });
  };
  for (const std::string& error : errors_of([](int rank) { return rank == 1 ? 3 : 2; }, 1, parallel::NotFinite::kThrow))
    CHECK(error.find("rank 0 has 2 samples, but its part of a batch of 7 in 3 shards has 3") != std::string::npos);
  for (const std::string& error : errors_of([](int) { return 2; }, NAN, parallel::NotFinite::kThrow))
    CHECK(error.find("the loss of shard 1") != std::string::npos);
  for (const std::string& error : errors_of([](int) { return 2; }, NAN, parallel::NotFinite::kSkip))
    CHECK(error.empty());
}
