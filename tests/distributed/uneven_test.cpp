// Steps in which processes do different things: nothing with the parameters, or another mode in join().
// Ranks are threads.
#include <doctest/doctest.h>

#include <array>
#include <mutex>
#include <vector>

#include "tandem/parallel/distributed_data_parallel/distributed_data_parallel.h"
#include "tandem/tandem.h"
#include "tandem/tests/distributed/ranks.h"
#include "tandem/tests/distributed/seeded.h"

using namespace tandem;
using namespace tandem::distributed;

namespace {

// Uses the first `parts` layers; none: the result depends on `x` only.
struct PartsImpl : nn::Module {
  PartsImpl() {
    first = register_module("first", nn::Linear(5, 4));
    second = register_module("second", nn::Linear(5, 4));
  }
  Tensor forward(Tensor x, int parts) {
    if (parts < 0) return x.argmax();
    Tensor out = x.sum(1, true);
    if (parts > 0) out = out + first(x);
    if (parts > 1) out = out + second(x);
    return (out * out).mean();
  }
  nn::Linear first{nullptr}, second{nullptr};
};
using Parts = DistributedDataParallel<PartsImpl>;

struct NormalizedImpl : nn::Module {
  NormalizedImpl() {
    linear = register_module("linear", nn::Linear(5, 4));
    norm = register_module("norm", nn::BatchNorm1d(4));
  }
  Tensor forward(Tensor x) {
    const Tensor out = norm(linear(x));
    return (out * out * out).mean();
  }
  nn::Linear linear{nullptr};
  nn::BatchNorm1d norm{nullptr};
};
using Normalized = DistributedDataParallel<NormalizedImpl>;

// A rank that waits in vain fails soon.
std::vector<std::string> briefly(int size, const std::function<void(const GroupPtr&)>& body) {
  return run_ranks(
      size, [&](ProcessGroup& group) { body(group.shared_from_this()); }, with_timeout(10'000));
}

// What two processes get if rank r uses parts[r] layers.
std::vector<Tensor> expected(const std::array<int, 2>& parts) {
  const auto net = seeded<PartsImpl>();
  for (int rank = 0; rank < 2; ++rank)
    if (const int used = parts[static_cast<std::size_t>(rank)]; used > 0)
      net->forward(inputs_of(rank), used).div(2).backward();
  std::vector<Tensor> out;
  for (const Tensor& p : net->parameters()) out.push_back(p.grad());
  return out;
}

void check_gradients(const nn::Module& net, const std::vector<Tensor>& gradients) {
  const auto parameters = net.parameters();
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Tensor grad = parameters[i].grad();
    REQUIRE(grad.defined() == gradients[i].defined());
    if (grad.defined()) CHECK(allclose(grad, gradients[i], 1e-5, 1e-6));
  }
}

// The parameters and buffers of every rank after `size` ranks have trained in join().
using Trained = std::vector<std::vector<Tensor>>;
Trained train_jointly(const std::vector<int>& batches,
                      const std::function<void(NormalizedImpl&, int rank, int batch)>& before,
                      const std::function<void(NormalizedImpl&, int rank)>& after) {
  Trained out(batches.size());
  const auto errors = briefly(static_cast<int>(batches.size()), [&](const GroupPtr& group) {
    const int rank = group->rank();
    const auto net = seeded<NormalizedImpl>();
    Normalized model(net, {.process_group = group});
    optim::SGD optimizer(net->parameters(), 0.1);
    model->join([&] {
      for (int batch = 0; batch < batches[static_cast<std::size_t>(rank)]; ++batch) {
        before(*net, rank, batch);
        optimizer.zero_grad();
        model->forward(inputs_of(rank + batch)).backward();
        optimizer.step();
      }
      after(*net, rank);
    });
    auto& own = out[static_cast<std::size_t>(rank)];
    for (const Tensor& t : net->parameters()) own.push_back(t.detach().clone());
    for (const Tensor& t : net->buffers()) own.push_back(t.clone());
  });
  check_no_errors(errors);
  return out;
}

void check_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(allclose(a[i], b[i], 0, 0));
}

const auto nothing = [](auto&&...) {};

}  // namespace

TEST_CASE("a step in which a process uses no parameter") {
  if (!available()) return;
  const auto errors = briefly(2, [](const GroupPtr& group) {
    const auto rank = static_cast<std::size_t>(group->rank());
    const auto net = seeded<PartsImpl>();
    Parts model(net, {.process_group = group, .find_unused_parameters = true});
    for (const std::array<int, 2> parts : {std::array{1, 0}, {0, 2}, {0, 0}, {2, 1}, {0, 1}}) {
      CAPTURE(parts[0]);
      CAPTURE(parts[1]);
      const Tensor loss = model->forward(inputs_of(group->rank()), parts[rank]);
      model->zero_grad();  // after forward, as many programs do
      loss.backward();
      check_gradients(*net, expected(parts));
    }
  });
  check_no_errors(errors);
}

TEST_CASE("a process that uses no parameter passes the gradients of inputs and earlier steps on") {
  if (!available()) return;
  const auto errors = briefly(2, [](const GroupPtr& group) {
    const auto net = seeded<PartsImpl>();
    Parts model(net, {.process_group = group, .find_unused_parameters = true});
    const Tensor x = inputs_of(group->rank()).requires_grad_(), y = inputs_of(group->rank()).requires_grad_();
    {
      const auto here_only = model->no_sync();
      model->forward(inputs_of(group->rank()), 2).backward();
    }
    model->forward(x, 0).backward();
    check_gradients(*net, expected({2, 2}));
    seeded<PartsImpl>()->forward(y, 0).backward();
    CHECK(allclose(x.grad(), y.grad(), 0, 0));
    // These gradients stay on this process, so nobody waits.
    if (group->rank() == 0) CHECK(autograd::grad({model->forward(x, 0)}, {x})[0].defined());
    if (group->rank() == 1) model->forward(x, 0);
  });
  check_no_errors(errors);
}

TEST_CASE("static_graph with a process that never uses a parameter") {
  if (!available()) return;
  const auto errors = briefly(2, [](const GroupPtr& group) {
    const auto net = seeded<PartsImpl>();
    Parts model(net, {.process_group = group, .static_graph = true});
    for (int step = 0; step < 3; ++step) {
      model->zero_grad();
      model->forward(inputs_of(group->rank()), group->rank() == 0 ? 0 : 2).backward();
      check_gradients(*net, expected({0, 2}));
    }
  });
  check_no_errors(errors);
}

TEST_CASE("a forward without anything to train on fails on all processes at once") {
  if (!available()) return;
  const auto begin = std::chrono::steady_clock::now();
  const auto errors = errors_on_ranks(2, [](const GroupPtr& group) {
    Parts model(seeded<PartsImpl>(), {.process_group = group, .find_unused_parameters = true});
    model->eval();
    model->forward(inputs_of(0), -1);
    model->train();
    model->forward(inputs_of(0), group->rank() == 0 ? -1 : 2).backward();
  });
  const std::string text = "DistributedDataParallel: forward in training mode returned no floating-point tensor";
  CHECK(errors[0].starts_with(text));
  CHECK(errors[1].starts_with("rank 0 aborted: " + text));
  CHECK(seconds_since(begin) < 30);  // half of the timeout
}

TEST_CASE("join: a process that has finished may be in eval mode") {
  if (!available()) return;
  const auto evaluate = [](NormalizedImpl& net, int rank) {
    net.eval();
    const NoGradGuard no_grad;
    net.forward(inputs_of(rank));
  };
  const Trained all = train_jointly({1, 3, 2}, nothing, nothing), some = train_jointly({1, 3, 2}, nothing, evaluate);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    check_same(all[rank], all[0]);
    check_same(some[rank], all[0]);
  }
  const Trained without = train_jointly({0, 2}, nothing, nothing);  // the first rank has no step of its own
  check_same(without[1], without[0]);
}

TEST_CASE("join: processes may train in different modes") {
  if (!available()) return;
  const auto freeze = [](NormalizedImpl& net, int rank, int batch) { net.train(rank != 0 && batch < 2); };
  for (const std::vector<int>& batches : {std::vector{4, 1, 3}, {1, 4, 3}, {1, 1, 3}}) {
    const Trained all = train_jointly(batches, freeze, nothing);
    for (std::size_t rank = 1; rank < 3; ++rank) check_same(all[rank], all[0]);
  }
}

TEST_CASE("join: the buffers are those of the highest rank that still has batches") {
  if (!available()) return;
  for (const std::array<int, 2> batches : {std::array{2, 2}, {1, 3}, {3, 1}}) {
    const int source = batches[0] > batches[1] ? 0 : 1;
    const auto expected_net = seeded<NormalizedImpl>();
    for (int batch = 0; batch < batches[static_cast<std::size_t>(source)]; ++batch)
      expected_net->forward(inputs_of(source + batch));
    const auto errors = briefly(2, [&](const GroupPtr& group) {
      const auto net = seeded<NormalizedImpl>();
      Normalized model(net, {.process_group = group});
      model->join([&] {
        for (int batch = 0; batch < batches[static_cast<std::size_t>(group->rank())]; ++batch)
          model->forward(inputs_of(group->rank() + batch)).backward();
      });
      check_same(net->buffers(), expected_net->buffers());
    });
    check_no_errors(errors);
  }
}
