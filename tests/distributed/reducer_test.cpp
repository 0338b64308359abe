// What reducers refuse and how they say it, and the exchange of sums of shards.
#include "tandem/parallel/distributed_data_parallel/reducer.h"

#include <cmath>

#include "tandem/autograd/ops.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/core/shards.h"
#include "tandem/parallel/distributed_data_parallel/reducer_errors.h"
#include "tandem/parallel/shards/tree_exchange.h"
#include "tandem/tests/distributed/ranks.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::distributed;
using test::says;

namespace {

// What fail_incomplete says about so many parameters, all but the second without a gradient.
std::string incomplete(std::size_t count, const ReducerOptions& options = {}) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back("p" + std::to_string(i));
  std::vector<char> ready(count, 0);
  ready[1] = 1;
  try {
    fail_incomplete(options, names, ready);
  } catch (const Error& error) {
    return error.what();
  }
}
// Numbers whose sum depends on the order.
Tensor irregular(int64_t shard, int64_t size) {
  return (arange(size, kFloat) + static_cast<double>(7 * shard)).sin() * std::pow(10.0, static_cast<double>(shard % 3));
}

// The sum of shards begin … end - 1 in the order of the tree, by definition.
Tensor tree_sum(int64_t begin, int64_t end, int64_t width, int64_t size) {
  if (width == 1) return irregular(begin, size);
  const int64_t middle = begin + width / 2;
  const Tensor left = tree_sum(begin, std::min(middle, end), width / 2, size);
  return middle < end ? left + tree_sum(middle, end, width / 2, size) : left;
}

// Exchanges the shards' numbers; checks the sum, and that it is added to what was there.
void check_exchange(const GroupPtr& group, int64_t leaves, int64_t size, int64_t bytes) {
  const int64_t first = balanced_begin(leaves, group->size(), group->rank());
  const int64_t count = balanced_begin(leaves, group->size(), group->rank() + 1) - first;
  Tensor expected = zeros({size});
  if (size > 0) {
    int64_t width = 1;
    while (width < leaves) width *= 2;
    expected = tree_sum(0, leaves, width, size);
  }
  for (const double divisor : {1., 2., 4.}) {
    const bool accumulate = divisor != 2;
    parallel::TreeSum shards;
    shards.begin(leaves);
    for (int64_t i = 0; i < count; ++i) shards.add(0, first + i, irregular(first + i, size));
    const Tensor sum = full({size}, 2.5);
    TreeExchange(group, bytes).run(shards.nodes(), leaves, sum, accumulate, divisor);
    CHECK(equal(sum, accumulate ? full({size}, 2.5) + expected / divisor : expected / divisor));
  }
}

}  // namespace

TEST_CASE("reducers refuse options that make no sense, and parameters that cannot be trained") {
  if (!available()) return;
  on_ranks(1, [](const GroupPtr& group) {
    const auto refuses = [&](const char* text, std::vector<Tensor> parameters, const ReducerOptions& options) {
      std::vector<std::string> names;
      for (std::size_t i = 0; i < parameters.size(); ++i) names.push_back("p" + std::to_string(i));
      CHECK_THROWS_WITH_AS(Reducer(std::move(parameters), std::move(names), group, options), doctest::Contains(text),
                           Error);
    };
    const Tensor p = ones({2}, requires_grad());
    CHECK_NOTHROW(Reducer({p}, {"p"}, group, {.bucket_bytes = 1, .first_bucket_bytes = 1}));
    refuses("no parameters", {}, {});
    refuses("must be positive, got 0 and 1", {p}, {.bucket_bytes = 0, .first_bucket_bytes = 1});
    refuses("must be positive, got 1 and 0", {p}, {.bucket_bytes = 1, .first_bucket_bytes = 0});
    refuses("hook is empty", {p}, {.comm_hook = nullptr});
    refuses("p2 must be a leaf", {p, p, p * 2}, {});
    refuses("p1 must be a leaf that requires a gradient", {p, ones({2}), p}, {});
    Reducer reducer({p}, {"p"}, group, {});
    CHECK_THROWS_WITH_AS(reducer.set_hook(nullptr), doctest::Contains("hook is empty"), Error);
  });
}

TEST_CASE("a reducer says what has changed, and every call after a failure says why") {
  if (!available()) return;
  on_ranks(1, [](const GroupPtr& group) {
    const Tensor p = ones({2}, requires_grad()), q = ones({3}, requires_grad());
    Reducer reducer({p, q}, {"p", "q"}, group, {.comm_hook = [](ProcessGroup&, const GradBucket&) -> HookResult {
                      throw std::runtime_error("the hook gives up");
                    }});
    CHECK(reducer.buckets() == 1);
    CHECK(reducer.bytes() == 128);
    std::vector<Tensor> outputs{(p.sum() * q).sum()};
    q.set_requires_grad(false);
    CHECK_THROWS_WITH_AS(reducer.prepare(outputs, true), doctest::Contains("parameter q was frozen"), Error);
    q.set_requires_grad(true);
    q.set_data(ones({4}));
    CHECK_THROWS_WITH_AS(reducer.prepare(outputs, true), doctest::Contains("parameter q has changed"), Error);
    q.set_data(ones({3}));
    reducer.prepare(outputs, true);
    CHECK_THROWS_AS(outputs[0].backward(), std::runtime_error);
    CHECK_THROWS_AS(reducer.check_previous(), std::runtime_error);
    CHECK_THROWS_AS(reducer.skip(), std::runtime_error);
    CHECK_THROWS_AS(reducer.prepare(outputs, true), std::runtime_error);
    CHECK_THROWS_AS(reducer.shadow(), std::runtime_error);
  });
}

TEST_CASE("the error for missing gradients names ten parameters") {
  CHECK(says(incomplete(2), ": 1 of 2 parameters had no gradient in the backward pass: p0; if forward"));
  CHECK(says(incomplete(11), ": 10 of 11 parameters"));
  CHECK(says(incomplete(11), ": p0, p2, p3, p4, p5, p6, p7, p8, p9, p10; "));
  CHECK(says(incomplete(12), ": 11 of 12 parameters"));
  CHECK(says(incomplete(12), ", p9, p10, …; "));
  CHECK(says(incomplete(2, {.find_unused_parameters = true}), "requires the loss to use every output"));
  CHECK(says(incomplete(2, {.static_graph = true}), "static_graph"));
}

TEST_CASE("sums of shards are exchanged in the order of the tree, in parts of any size") {
  if (!available()) return;
  for (const int ranks : {1, 2, 3})
    on_ranks(ranks, [](const GroupPtr& group) {
      for (const int64_t leaves : {3, 4, 7})
        for (const int64_t size : {0, 1, 15, 16, 17, 100, 200})
          for (const int64_t bytes : {1, 256, 1 << 20}) check_exchange(group, leaves, size, bytes);
    });
}
