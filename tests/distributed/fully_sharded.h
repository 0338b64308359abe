// Trains models on ranks that are threads, with FullyShardedDataParallel and with DistributedDataParallel.
#pragma once
#include <map>

#include "tandem/parallel/distributed_data_parallel/distributed_data_parallel.h"
#include "tandem/parallel/fully_sharded/fully_sharded_data_parallel.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"
#include "tandem/tests/distributed/ranks.h"

namespace tandem::distributed {

/// What a rank has after training.
struct Trained {
  std::vector<double> losses;
  std::map<std::string, Tensor> values;  // of the parameters, and of the buffers
};

inline void check_same(const Trained& a, const Trained& b) {
  REQUIRE(a.losses.size() == b.losses.size());
  for (std::size_t i = 0; i < a.losses.size(); ++i) {
    CAPTURE(i);
    CHECK(a.losses[i] == b.losses[i]);
  }
  REQUIRE(a.values.size() == b.values.size());
  for (const auto& item : a.values) {
    CAPTURE(item.first);
    REQUIRE(b.values.contains(item.first));
    CHECK(testing::identical(item.second, b.values.at(item.first)));
  }
}

/// One step of a rank: computes the loss of batch number `step` with forward(x), and returns it.
using Forward = std::function<Tensor(const Tensor&)>;
using Loss = std::function<Tensor(const Forward& forward, int rank, int step)>;
using MakeOptimizer = std::function<std::unique_ptr<optim::Optimizer>(const Tensors& parameters)>;

inline MakeOptimizer sgd() {
  return [](const Tensors& p) { return std::make_unique<optim::SGD>(p, optim::SGDOptions(0.05).momentum(0.9)); };
}
inline MakeOptimizer adam() {
  return [](const Tensors& p) { return std::make_unique<optim::Adam>(p, optim::AdamOptions(0.003)); };
}

template <class Model>
std::vector<double> train_steps(Model& model, optim::Optimizer& optimizer, const Loss& loss, int rank, int steps) {
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) {
    optimizer.zero_grad();
    const Tensor value = loss([&](const Tensor& x) { return model->forward(x); }, rank, step);
    value.backward();
    losses.push_back(value.item<double>());
    optimizer.step();
  }
  return losses;
}

/// A module with the same initial values on every rank; another rank than 0 has others if `differ`.
template <class Make>
auto make_seeded(const Make& make, int rank) {
  const GeneratorGuard guard{Generator(static_cast<uint64_t>(3 + rank))};
  return make();
}

/// `make` returns a holder.
template <class Make>
Trained train_sharded(const GroupPtr& group, const Make& make, const Loss& loss, const MakeOptimizer& optimizer,
                      int steps, FullyShardedDataParallelOptions options = {}) {
  auto net = make_seeded(make, group->rank());
  options.process_group = group;
  using Net = typename decltype(net)::ContainedType;
  FullyShardedDataParallel<Net> model(net, options);
  const auto steps_of = optimizer(model->parameters());
  Trained out{train_steps(model, *steps_of, loss, group->rank(), steps), {}};
  for (const auto& [name, value] : model->gather_parameters()) out.values.emplace(name, value);
  for (const auto& [name, value] : model->named_buffers()) out.values.emplace(name, value.clone());
  return out;
}

/// Averages gradients in the order of the ranks.
inline HookResult add_in_rank_order(ProcessGroup& group, const GradBucket& bucket) {
  const NoGradGuard no_grad;
  Tensor buffer = bucket.buffer();
  const Tensor all = empty({group.size(), buffer.numel()}, buffer.options());
  return {{group.all_gather(all.view({-1}), buffer)}, [all, buffer]() mutable {
            const NoGradGuard no_grad;
            Tensor sum = all.select(0, 0).clone();
            for (int64_t rank = 1; rank < all.size(0); ++rank) sum = sum + all.select(0, rank);
            buffer.copy_(sum / static_cast<double>(all.size(0)));
          }};
}

/// With sums in the order of the ranks.
template <class Make>
Trained train_replicated(const GroupPtr& group, const Make& make, const Loss& loss, const MakeOptimizer& optimizer,
                         int steps) {
  auto net = make_seeded(make, group->rank());
  using Net = typename decltype(net)::ContainedType;
  // With two ranks any order has the same bits.
  DistributedDataParallel<Net> model(
      net, {.process_group = group, .comm_hook = group->size() == 2 ? allreduce_hook : add_in_rank_order});
  const auto steps_of = optimizer(model->parameters());
  Trained out{train_steps(model, *steps_of, loss, group->rank(), steps), {}};
  for (const auto& [name, value] : model->named_parameters()) out.values.emplace(name, value.detach().clone());
  for (const auto& [name, value] : model->named_buffers()) out.values.emplace(name, value.clone());
  return out;
}

}  // namespace tandem::distributed
