// Parameters that receive several gradients: in one graph, in several passes, and in passes nested in a pass, as with
// layers that are computed again in backward. Ranks are threads.
#include <doctest/doctest.h>

#include "tandem/autograd/function.h"
#include "tandem/core/shards.h"
#include "tandem/parallel/distributed_data_parallel/distributed_data_parallel.h"
#include "tandem/parallel/parameter_server/parameter_server.h"
#include "tandem/tandem.h"
#include "tandem/tests/distributed/ranks.h"
#include "tandem/tests/distributed/seeded.h"
#include "tandem/tests/parallel/logical_devices.h"

using namespace tandem;
using namespace tandem::distributed;

namespace {

// layer(x), whose backward computes the layer again and runs a pass through it.
struct Recomputed : autograd::Function<Recomputed> {
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x, nn::LinearImpl* layer) {
    ctx->save_for_backward({x});
    ctx->saved_data["layer"] = static_cast<int64_t>(reinterpret_cast<intptr_t>(layer));
    return layer->forward(x);
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx, autograd::variable_list grads) {
    const auto layer = reinterpret_cast<nn::LinearImpl*>(static_cast<intptr_t>(ctx->saved_data["layer"].toInt()));
    const AutoGradMode recorded(true);
    const Tensor x = ctx->get_saved_variables()[0].detach().requires_grad_();
    layer->forward(x).backward(grads[0]);
    return {x.grad(), Tensor()};
  }
};

// Applies `first` and `second` several times each; negative: in nested passes.
struct NetImpl : nn::Cloneable<NetImpl> {
  NetImpl() { reset(); }
  void reset() override {
    first = register_module("first", nn::Linear(5, 5));
    second = register_module("second", nn::Linear(5, 5));
  }
  Tensor forward(Tensor x, int firsts, int seconds) {
    return several(second, several(first, x.requires_grad_(), firsts), seconds).pow(2).mean();
  }
  static Tensor several(nn::Linear& layer, Tensor x, int times) {
    for (int i = 0; i < std::abs(times); ++i)
      x = tanh(times < 0 ? Recomputed::apply(x, layer.get()) : layer->forward(x));
    return x;
  }
  nn::Linear first{nullptr}, second{nullptr};
};
using Net = DistributedDataParallel<NetImpl>;

struct Uses {
  int first, second;
};

// The average over the ranks' losses, in one process without nested passes.
std::vector<Tensor> averaged(int size, Uses uses, double factor = 1) {
  auto net = seeded<NetImpl>();
  for (int rank = 0; rank < size; ++rank)
    (net->forward(inputs_of(rank), std::abs(uses.first), std::abs(uses.second)) * (factor / size)).backward();
  std::vector<Tensor> out;
  for (const Tensor& p : net->parameters()) out.push_back(p.grad());
  return out;
}

void check_equal(const nn::Module& net, const std::vector<Tensor>& expected) {
  const auto parameters = net.parameters();
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(allclose(parameters[i].grad(), expected[i], 1e-5, 1e-6));
}

const std::vector<int64_t> kSizes = {1, int64_t{1} << 20};  // of the buckets

DistributedDataParallelOptions options_of(const GroupPtr& group, int64_t bytes, bool static_graph = false) {
  DistributedDataParallelOptions out;
  out.process_group = group;
  out.bucket_bytes = out.first_bucket_bytes = bytes;
  out.static_graph = static_graph;
  return out;
}

// What the ranks throw if they do these steps one after the other.
void check_refused(const DistributedDataParallelOptions& given, const std::vector<Uses>& steps, const char* words) {
  for (const int64_t bytes : kSizes) {
    const auto errors = errors_on_ranks(2, [&](const GroupPtr& group) {
      DistributedDataParallelOptions options = given;
      options.process_group = group;
      options.bucket_bytes = options.first_bucket_bytes = bytes;
      Net model(seeded<NetImpl>(), options);
      for (const Uses& uses : steps) model->forward(inputs_of(group->rank()), uses.first, uses.second).backward();
    });
    for (const std::string& error : errors)
      CHECK_MESSAGE(error.find(words) != std::string::npos, "expected \"", words, "\", got: ", error);
  }
}

}  // namespace

TEST_CASE("parameters used several times in one forward, and in several forwards of one pass") {
  for (const int64_t bytes : kSizes)
    on_ranks(2, [&](const GroupPtr& group) {
      const auto net = seeded<NetImpl>();
      Net model(net, options_of(group, bytes));
      for (int step = 0; step < 3; ++step) {
        model->zero_grad();
        const Tensor x = inputs_of(group->rank());
        if (step < 2)
          model->forward(x, 3, 2).backward();
        else
          (model->forward(x, 3, 2) + model->forward(x, 3, 2)).backward();
        check_equal(*net, averaged(2, {3, 2}, step < 2 ? 1 : 2));
      }
    });
}

TEST_CASE("each pass after a forward of its own is averaged, although gradients are kept") {
  on_ranks(2, [&](const GroupPtr& group) {
    const auto net = seeded<NetImpl>();
    Net model(net, options_of(group, 1));
    for (int step = 1; step <= 3; ++step) {
      model->forward(inputs_of(group->rank()), 1, 1).backward();
      check_equal(*net, averaged(2, {1, 1}, step));
    }
    // Of two passes after two forwards, the first is.
    model->zero_grad();
    const Tensor a = model->forward(inputs_of(group->rank()), 1, 1), b = model->forward(inputs_of(group->rank()), 1, 1);
    a.backward();
    check_equal(*net, averaged(2, {1, 1}));
    b.backward();
    const auto own = seeded<NetImpl>();
    own->forward(inputs_of(group->rank()), 1, 1).backward();
    CHECK(allclose(net->first->weight.grad(), averaged(2, {1, 1})[0] + own->first->weight.grad(), 1e-5, 1e-6));
  });
}

TEST_CASE("a parameter may get its gradient from a nested pass") {
  for (const bool static_graph : {false, true})
    for (const int64_t bytes : kSizes)
      for (const Uses uses : {Uses{-1, 1}, {1, -1}, {-1, -1}})
        on_ranks(2, [&](const GroupPtr& group) {
          const auto net = seeded<NetImpl>();
          Net model(net, options_of(group, bytes, static_graph));
          for (int step = 0; step < 3; ++step) {
            model->zero_grad();
            model->forward(inputs_of(group->rank()), uses.first, uses.second).backward();
            check_equal(*net, averaged(2, uses));
          }
        });
}

TEST_CASE("static_graph: a parameter may get several gradients from nested passes") {
  for (const int64_t bytes : kSizes)
    for (const Uses uses : {Uses{1, -2}, {-3, 1}, {-2, -3}})
      on_ranks(2, [&](const GroupPtr& group) {
        const auto net = seeded<NetImpl>();
        Net model(net, options_of(group, bytes, true));
        for (int step = 0; step < 3; ++step) {
          model->zero_grad();
          model->forward(inputs_of(group->rank()), uses.first, uses.second).backward();
          check_equal(*net, averaged(2, uses));
        }
      });
}

TEST_CASE("nested passes on two devices of a process") {
  const LogicalDevices two(2);
  on_ranks(2, [&](const GroupPtr& group) {
    const auto net = seeded<NetImpl>();
    DistributedDataParallelOptions options = options_of(group, 1, true);
    options.devices = {"cpu:0", "cpu:1"};
    Net model(net, options);
    for (int step = 0; step < 3; ++step) {
      model->zero_grad();
      model->forward(inputs_of(group->rank()), 2, -2).mean().backward();
      check_equal(*net, averaged(2, {2, 2}));
    }
  });
}

TEST_CASE("a whole step inside another pass is averaged before its backward returns") {
  for (const bool static_graph : {false, true})
    on_ranks(2, [&](const GroupPtr& group) {
      const auto net = seeded<NetImpl>();
      Net model(net, options_of(group, 1, static_graph));
      const Tensor x = ones({2}).requires_grad_();
      const Tensor y = x * 2;
      int steps = 0;
      y.register_hook([&](const Tensor&) {
        const AutoGradMode recorded(true);
        for (; steps < 2; ++steps) {
          model->zero_grad();
          model->forward(inputs_of(group->rank()), 1, -1).backward();
          check_equal(*net, averaged(2, {1, -1}));
        }
      });
      y.sum().backward();
      CHECK(steps == 2);
    });
}

TEST_CASE("a second gradient in one pass is refused with the parameter's name") {
  check_refused({}, {{1, -2}}, "parameter second.bias received a second gradient in one backward pass");
  check_refused({}, {{1, 1}, {-2, 1}}, "parameter first.bias received a second gradient in one backward pass");
  check_refused({}, {{1, -2}}, "set static_graph = true if all steps do the same");
  check_refused({.find_unused_parameters = true}, {{1, -1}}, "although the outputs of the last forward do not");
  check_refused({.static_graph = true}, {{1, -1}, {1, -2}}, "received more gradients than in the first step");
  check_refused({.static_graph = true}, {{1, -2}, {1, -1}}, "to use the same parameters equally often");
}

TEST_CASE("what has been sent does not change when a second gradient is refused") {
  for (const bool static_graph : {false, true})
    on_ranks(1, [&](const GroupPtr& group) {
      std::vector<std::pair<Tensor, Tensor>> sent;  // and what it was
      DistributedDataParallelOptions options = options_of(group, 1, static_graph);
      options.comm_hook = [&](ProcessGroup&, const GradBucket& bucket) {
        sent.emplace_back(bucket.buffer(), bucket.buffer().clone());
        return HookResult();
      };
      const auto net = seeded<NetImpl>();
      Net model(net, options);
      if (static_graph) model->forward(inputs_of(0), 1, 1).backward();
      model->zero_grad();
      sent.clear();
      CHECK_THROWS_WITH(model->forward(inputs_of(0), 1, -2).backward(), doctest::Contains("second.bias"));
      CHECK(!sent.empty());
      for (const auto& [now, before] : sent) CHECK(now.equal(before));
      CHECK_FALSE(net->second->bias.grad().defined());  // the group may still write to it
      net->forward(inputs_of(0), 1, -2).backward();     // outside of the group
      for (const auto& [now, before] : sent) CHECK(now.equal(before));
    });
}

TEST_CASE("ParameterServer refuses a gradient that follows one that has been sent") {
  const LogicalDevices two(2);
  const auto errors_of = [](const std::vector<Device>& devices, int buckets, int64_t bytes, Uses uses) {
    return errors_on_ranks(2, [&](const GroupPtr& group) {
      parallel::ParameterServer<NetImpl> server(seeded<NetImpl>(), devices,
                                                {.buckets = buckets, .group = group, .bucket_bytes = bytes});
      optim::SGD optimizer(server.parameters(), 0.1);
      for (int step = 0; step < 2; ++step)
        server.step(optimizer, std::vector<Tensor>{inputs_of(group->rank())},
                    [&](NetImpl& net, const std::vector<Tensor>& batch) {
                      return net.forward(batch[0].clone(), uses.first, uses.second);
                    });
    });
  };
  const std::vector<Device> both = {"cpu:0", "cpu:1"};
  for (const auto& devices : {std::vector<Device>{"cpu:0"}, both})
    for (const int buckets : {0, 4}) {
      CAPTURE(devices.size());
      CAPTURE(buckets);
      check_no_errors(errors_of(devices, buckets, 1, {3, -1}));
      for (const std::string& error : errors_of(devices, buckets, 1, {1, -2}))
        CHECK_MESSAGE(error.find("would receive another gradient") != std::string::npos, error);
    }
}

TEST_CASE(
    "ParameterServer with shards has the same bits on any number of processes, with passes nested in "
    "backward") {
  const auto train = [](int processes, Uses uses) {
    Tensors ends(static_cast<std::size_t>(processes));
    on_ranks(processes, [&](const GroupPtr& group) {
      const auto net = seeded<NetImpl>();
      parallel::ParameterServer<NetImpl> server(net, {"cpu:0"}, {.shards = 4, .group = group});
      optim::SGD optimizer(server.parameters(), 0.5);
      for (int step = 0; step < 3; ++step) {
        const Tensor x = cat({inputs_of(2 * step), inputs_of(2 * step + 1)});
        const auto [begin, end] = shard_range(8, 4, processes, group->rank());
        server.step(optimizer, Tensors{x.narrow(0, begin, end - begin)}, [&](NetImpl& part, const Tensors& batch) {
          return part.forward(batch[0].clone(), uses.first, uses.second);
        });
      }
      Tensors flat;
      for (const Tensor& p : net->parameters()) flat.push_back(p.detach().flatten());
      ends[static_cast<std::size_t>(group->rank())] = cat(flat);
    });
    return ends;
  };
  for (const Uses uses : {Uses{1, 1}, {1, -1}, {-3, 1}, {1, -3}, {-2, -3}}) {
    const Tensor expected = train(1, uses)[0];
    for (const int processes : {2, 3, 4})
      for (const Tensor& end : train(processes, uses)) CHECK(end.equal(expected));
  }
}

TEST_CASE("a parameter that receives more gradients in a later shard is refused") {
  parallel::ParameterServer<NetImpl> server(seeded<NetImpl>(), {"cpu:0"}, {.shards = 2});
  optim::SGD optimizer(server.parameters(), 0.5);
  int shard = 0;
  const auto step = [&](int first, int second) {
    server.step(optimizer, Tensors{inputs_of(0)}, [&](NetImpl& net, const Tensors& batch) {
      return net.forward(batch[0].clone(), 1, shard++ % 2 == 0 ? first : second);
    });
  };
  step(1, -1);
  CHECK_THROWS_WITH(step(1, -2), doctest::Contains("would receive another gradient in the backward pass of shard 1"));
  step(-2, 1);  // from now on gradients of later shards are added when these are complete
  step(1, -2);
}
