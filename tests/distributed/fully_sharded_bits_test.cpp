// FullyShardedDataParallel: the bits of DistributedDataParallel.
#include <doctest/doctest.h>

#include "tandem/tests/distributed/fully_sharded.h"

namespace tandem::distributed {
namespace {

Tensor batch(IntArrayRef sizes, int rank, int step) {
  const GeneratorGuard guard{Generator(static_cast<uint64_t>(1000 * step + rank + 1))};
  return randn(sizes);
}

template <class Make>
void compare(const Make& make, const Loss& loss, const MakeOptimizer& optimizer, int size = 2, int steps = 10) {
  for (const bool reshard : {true, false}) {
    CAPTURE(reshard);
    on_ranks(size, [&](const GroupPtr& group) {
      const Trained expected = train_replicated(group, make, loss, optimizer, steps);
      check_same(train_sharded(group, make, loss, optimizer, steps, {.reshard_after_forward = reshard}), expected);
    });
  }
}

}  // namespace

TEST_CASE("a small network on two ranks") {
  if (!available()) return;
  const auto make = [] {
    return nn::Sequential(nn::Linear(7, 33), nn::Tanh(), nn::Linear(33, 20), nn::Tanh(), nn::Linear(20, 3));
  };
  const Loss loss = [](const Forward& forward, int rank, int step) {
    return forward(batch({5, 7}, rank, step)).pow(2).mean();
  };
  compare(make, loss, sgd());
  compare(make, loss, adam());
}

}  // namespace tandem::distributed
