// DistributedDataParallel on any number of processes and devices has the gradients of one device, bit for bit where all
// sums are exact. Ranks are threads.
#include <doctest/doctest.h>

#include "tandem/parallel/distributed_data_parallel/distributed_data_parallel.h"
#include "tandem/tandem.h"
#include "tandem/tests/distributed/ranks.h"
#include "tandem/tests/distributed/seeded.h"
#include "tandem/tests/parallel/logical_devices.h"

using namespace tandem;
using namespace tandem::distributed;

namespace {

// With small integers everywhere, no sum is rounded, so its order does not matter.
struct NetImpl : nn::Cloneable<NetImpl> {
  NetImpl() { reset(); }
  void reset() override {
    first = register_module("first", nn::Linear(4, 6));
    second = register_module("second", nn::Linear(6, 3));
    other = register_module("other", nn::Linear(4, 3));
    const NoGradGuard no_grad;
    for (Tensor p : parameters()) p.copy_(randint(-2, 3, p.sizes()));
  }
  /// `uses` [n]: the samples that also pass through `other`.
  Tensor forward(const Tensor& x, const Tensor& uses) {
    const Tensor out = second(relu(first(x)));
    return uses.any().item<bool>() ? out + other(x) * uses.view({-1, 1}) : out;
  }
  nn::Linear first{nullptr}, second{nullptr}, other{nullptr};
};
using Net = DistributedDataParallel<NetImpl>;

enum class Mode { kPlain, kKept, kNoSync, kUnused, kStatic, kJoin };
constexpr Mode kModes[] = {Mode::kPlain, Mode::kKept, Mode::kNoSync, Mode::kUnused, Mode::kStatic, Mode::kJoin};
constexpr int kSteps = 3;

struct Batch {
  Tensor x, uses;
};
// Of 1 to 5 samples, so that some devices have none.
Batch batch_of(Mode mode, int step, int rank) {
  const GeneratorGuard guard{Generator(static_cast<uint64_t>(100 * step + rank))};
  const int64_t n = 1 + (4 * step + rank) % 5;
  Tensor uses = ones({n});
  if (mode == Mode::kStatic || (mode == Mode::kUnused && step == 1)) uses.zero_();  // nobody
  if (mode == Mode::kUnused && step != 1) uses.copy_(randint(2, {n}));
  return {randint(-2, 3, {n, 4}).to(kFloat), uses};
}

int micro_batches(Mode mode) { return mode == Mode::kNoSync ? 3 : 1; }
bool takes_part(Mode mode, int step, int rank) { return mode != Mode::kJoin || step < 1 + rank; }

void forget(const nn::Module& net, Mode mode, int step) {
  if (mode == Mode::kKept && step == 1) return;  // adds to the averages
  const bool in_place = mode == Mode::kKept && step == 2;
  for (const Tensor& p : net.parameters())
    if (in_place)
      p.mutable_grad().zero_();
    else
      p.mutable_grad().reset();
}

// A step that leaves integers.
void update(const nn::Module& net) {
  const NoGradGuard no_grad;
  for (Tensor p : net.parameters())
    if (p.grad().defined()) p.sub_(p.grad().sign());
}

using Gradients = std::vector<std::vector<Tensor>>;  // by step and parameter; undefined where there is none
std::vector<Tensor> gradients_of(const nn::Module& net) {
  std::vector<Tensor> out;
  for (const Tensor& p : net.parameters()) out.push_back(p.grad().defined() ? p.grad().clone() : Tensor());
  return out;
}

// One device computes the batches of all ranks. The average of losses times P is their sum.
Gradients expected(Mode mode, int processes) {
  const auto net = seeded<NetImpl>();
  Gradients out;
  for (int step = 0; step < kSteps; ++step) {
    forget(*net, mode, step);
    for (int rank = 0; rank < processes; ++rank)
      for (int k = 0; k < micro_batches(mode) && takes_part(mode, step, rank); ++k) {
        const Batch batch = batch_of(mode, step + 10 * k, rank);
        net->forward(batch.x, batch.uses).pow(2).sum().backward();
      }
    out.push_back(gradients_of(*net));
    update(*net);
  }
  return out;
}

void check_mode(Mode mode, int devices, int64_t bytes, const GroupPtr& group, const Gradients& expected) {
  const auto net = seeded<NetImpl>();
  Net model(net, DistributedDataParallelOptions{.process_group = group,
                                                .devices = cpu_devices(devices),
                                                .bucket_bytes = bytes,
                                                .first_bucket_bytes = bytes,
                                                .find_unused_parameters = mode == Mode::kUnused,
                                                .static_graph = mode == Mode::kStatic});
  const auto train = [&] {
    for (int step = 0; step < kSteps && takes_part(mode, step, group->rank()); ++step) {
      forget(*net, mode, step);
      for (int k = 0; k < micro_batches(mode); ++k) {
        optional<NoSyncGuard> here_only;
        if (k + 1 < micro_batches(mode)) here_only.emplace(*model);
        const Batch batch = batch_of(mode, step + 10 * k, group->rank());
        (model->forward(batch.x, batch.uses).pow(2).sum() * group->size()).backward();
      }
      const std::vector<Tensor> seen = gradients_of(*net);
      for (std::size_t i = 0; i < seen.size(); ++i) {
        const Tensor& right = expected[static_cast<std::size_t>(step)][i];
        CAPTURE(step);
        CAPTURE(i);
        REQUIRE(seen[i].defined() == right.defined());
        if (right.defined()) CHECK(seen[i].equal(right));
      }
      update(*net);
    }
  };
  mode == Mode::kJoin ? model->join(train) : train();
}

}  // namespace

TEST_CASE("gradients of any number of processes and devices, in every mode") {
  const LogicalDevices three(3);
  for (const Mode mode : kModes)
    for (int processes = 1; processes <= 3; ++processes) {
      const Gradients right = expected(mode, processes);
      on_ranks(processes, [&](const GroupPtr& group) {
        for (int devices = 0; devices <= 3; ++devices)  // 0: another number on every rank
          for (const int64_t bytes : {int64_t{1}, int64_t{150}, int64_t{4} << 20}) {
            CAPTURE(static_cast<int>(mode));
            CAPTURE(processes);
            CAPTURE(devices);
            CAPTURE(bytes);
            check_mode(mode, devices == 0 ? 1 + (group->rank() + 1) % 3 : devices, bytes, group, right);
          }
      });
    }
}
