// FullyShardedDataParallel: what all ranks report when one of them fails or leaves.
#include <doctest/doctest.h>

#include "tandem/autograd/hooks.h"
#include "tandem/nn/checkpoint.h"
#include "tandem/tests/distributed/fully_sharded.h"

namespace tandem::distributed {
namespace {

using Sequential = FullyShardedDataParallel<nn::SequentialImpl>;

// Throws on rank 1 in the third step.
struct Trap {
  int rank = 0, steps = 0;
  void pass() {
    if (++steps == 3 && rank == 1) throw Error("the trap");
  }
};

nn::Sequential net_with(const std::function<Tensor(const Tensor&)>& middle) {
  const GeneratorGuard guard{Generator(3)};
  return nn::Sequential(nn::Linear(7, 9), nn::Tanh(), nn::Linear(9, 9), middle, nn::Linear(9, 3));
}

// Trains until something throws; then the next forward must throw the same again. Returns the first error.
std::string error_of(const GroupPtr& group, const nn::Sequential& net,
                     const std::function<void(int)>& before_step = nullptr) {
  Sequential model(net, {.process_group = group});
  optim::SGD sgd(model->parameters(), 0.1);
  const Tensor x = full({5, 7}, 0.1 * (group->rank() + 1));
  const auto step = [&](int number) {
    if (before_step) before_step(number);
    sgd.zero_grad();
    model->forward(x).pow(2).mean().backward();
    sgd.step();
  };
  std::string error;
  for (int number = 0; number < 20 && error.empty(); ++number) try {
      step(number);
    } catch (const std::exception& thrown) {
      error = thrown.what();
    }
  CHECK_THROWS_AS(model->forward(x), Error);
  CHECK_THROWS_AS(model->gather_parameters(), Error);
  return error;
}

void check_trap(int size, const std::function<std::string(const GroupPtr&)>& run) {
  CAPTURE(size);
  std::vector<std::string> errors(static_cast<std::size_t>(size));
  on_ranks(size, [&](const GroupPtr& group) { errors[static_cast<std::size_t>(group->rank())] = run(group); });
  for (std::size_t rank = 0; rank < errors.size(); ++rank)
    CHECK_MESSAGE(errors[rank].find(rank == 1 ? "the trap" : "rank 1") != std::string::npos, "rank ", rank, ": ",
                  errors[rank]);
}

}  // namespace

TEST_CASE("a rank throws in forward") {
  if (!available()) return;
  for (const int size : {2, 3})
    check_trap(size, [](const GroupPtr& group) {
      Trap trap{group->rank()};
      return error_of(group, net_with([&](const Tensor& x) {
                        trap.pass();
                        return x;
                      }));
    });
}

TEST_CASE("a rank throws in backward, in a hook or where a part of forward runs again") {
  if (!available()) return;
  for (const int size : {2, 3}) {
    check_trap(size, [](const GroupPtr& group) {
      Trap trap{group->rank()};
      return error_of(group, net_with([&](const Tensor& x) {
                        const Tensor y = x.tanh();
                        y.register_hook([&](const Tensor&) { trap.pass(); });
                        return y;
                      }));
    });
    check_trap(size, [](const GroupPtr& group) {
      Trap trap{group->rank()};
      int calls = 0;
      return error_of(group, net_with([&](const Tensor& x) {
                        return utils::checkpoint(
                            [&](const Tensor& t) {
                              if (++calls % 2 == 0) trap.pass();
                              return t.tanh();
                            },
                            x);
                      }));
    });
  }
}

TEST_CASE("a rank leaves") {
  if (!available()) return;
  std::vector<std::string> errors(3);
  on_ranks(3, [&](const GroupPtr& group) {
    const auto net = net_with([](const Tensor& x) { return x; });
    if (group->rank() == 1) {
      Sequential model(net, {.process_group = group});
      model->forward(ones({5, 7})).sum().backward();
      return;
    }
    errors[static_cast<std::size_t>(group->rank())] = error_of(group, net);
  });
  for (const int rank : {0, 2})
    CHECK_MESSAGE(errors[static_cast<std::size_t>(rank)].find("rank 1") != std::string::npos,
                  errors[static_cast<std::size_t>(rank)]);
}

}  // namespace tandem::distributed
