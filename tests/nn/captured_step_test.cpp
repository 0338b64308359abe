// Captured steps where capture is not available: the function runs eagerly.
#include <doctest/doctest.h>

#include "tandem/tandem.h"
#include "tandem/testing.h"

using namespace tandem;

TEST_CASE("on the CPU a captured step calls the function") {
  manual_seed(1);
  nn::Linear net(4, 2), same(4, 2);
  same->load_state_dict(net->state_dict());
  optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.1).momentum(0.9));
  optim::SGD other(same->parameters(), optim::SGDOptions(0.1).momentum(0.9));
  CapturedStep step(
      [&](const Tensor& x, const Tensor& y) {
        optimizer.zero_grad();
        Tensor loss = mse_loss(net(x), y);
        loss.backward();
        optimizer.step();
        return loss;
      },
      {&optimizer});
  for (int i = 0; i < 6; ++i) {
    const Tensor x = randn({3, 4}), y = randn({3, 2});
    const Tensor loss = step(x, y)[0];
    CHECK_FALSE(loss.requires_grad());
    other.zero_grad();
    const Tensor expected = mse_loss(same(x), y);
    expected.backward();
    other.step();
    CHECK(testing::identical(loss, expected.detach()));
    CHECK_FALSE(step.captured());
  }
  CHECK(testing::identical(net->weight.detach(), same->weight.detach()));
  CHECK(step.launches() == 0);
  CHECK(step.graphs() == 0);
  CHECK(step.message().empty());
}

TEST_CASE("supported signatures of the step function") {
  const Tensor a = ones({2}), b = full({2}, 2.0f);
  CapturedStep vectors([](const std::vector<Tensor>& in) { return std::vector<Tensor>{in[1], in[0]}; });
  CHECK(vectors({a, b}).size() == 2);
  CHECK(testing::identical(vectors(a, b)[0], b));
  CapturedStep pair([](const Tensor& x, const Tensor& y) { return std::pair(x + y, x - y); });
  CHECK(testing::identical(pair({a, b})[1], a - b));
  CapturedStep tuple([](Tensor x) { return std::tuple(x, x * 2, x * 3); });
  CHECK(testing::identical(tuple({a})[2], a * 3));
  int calls = 0;
  CapturedStep none([&] { ++calls; });
  CHECK(none(std::vector<Tensor>{}).empty());
  CHECK(calls == 1);
  CHECK_THROWS_WITH_AS(pair({a}), "captured step: the function takes 2 tensors, got 1", Error);
  CapturedStep broken([](const Tensor& x) -> Tensor { fail("no ", x.numel()); });
  CHECK_THROWS_WITH_AS(broken(a), "no 2", Error);
  CHECK_THROWS_AS(CapturedStep([] {}, {nullptr}), Error);
}
