// NoGradGuard, InferenceMode, anomaly mode, and graphs built by several threads.
#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/hooks.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/index/index.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"

using namespace tandem;

TEST_CASE("NoGradGuard stops recording and ends with its scope") {
  Tensor x = ones({2}, requires_grad());
  {
    NoGradGuard guard;
    CHECK_FALSE((x * 2).requires_grad());
    AutoGradMode again(true);
    CHECK((x * 2).requires_grad());
  }
  CHECK((x * 2).requires_grad());
}

TEST_CASE("tensors created in InferenceMode stay out of autograd") {
  Tensor x = ones({2}, requires_grad()), made;
  {
    InferenceMode guard;
    made = ones({2}) + 1;
    CHECK(made.is_inference());
    CHECK_FALSE(x.is_inference());
    made.add_(1);
  }
  CHECK_THROWS_WITH_AS(x * made, doctest::Contains("InferenceMode"), Error);
  CHECK_THROWS_WITH_AS(made.add_(1), doctest::Contains("InferenceMode"), Error);
  CHECK_THROWS_WITH_AS(made.requires_grad_(), doctest::Contains("InferenceMode"), Error);
  CHECK((x * made.clone()).requires_grad());
}

namespace {
// y, a part of it created under Guard, and the x that y was computed from.
template <class Guard>
void write_part_of(const Tensor& y, const Tensor& x, const char* created) {
  Tensor part;
  {
    Guard guard;
    part = y.slice(0, 0, 2);
    part.mul_(2);  // also unrecorded
  }
  const std::string text = concat("a view that was created ", created,
                                  " is written while gradients are recorded, so the write would not reach");
  const auto refused = doctest::Contains(text.c_str());
  CHECK_THROWS_WITH_AS(part.mul_(x.slice(0, 0, 2)), refused, Error);
  CHECK_THROWS_WITH_AS(part.slice(0, 0, 1).mul_(x.slice(0, 0, 1)), refused, Error);
  if (y.requires_grad()) {
    CHECK_THROWS_WITH_AS(part.mul_(2), refused, Error);
    CHECK_THROWS_WITH_AS(part.zero_(), refused, Error);
    CHECK_THROWS_WITH_AS(part.copy_(ones({2})), refused, Error);
    CHECK_THROWS_WITH_AS((part[0] = 3), refused, Error);
  } else {
    part.mul_(2);
    part[0] = 8;
    CHECK(y.sum().item<double>() == 8 + 4 + 1);
  }
  NoGradGuard guard;
  part.fill_(5);
  CHECK(y.sum().item<double>() == 5 + 5 + 1);
}
}  // namespace

TEST_CASE("writing an unrecorded view while gradients are recorded throws") {
  const Tensor x = ones({3}, requires_grad());
  write_part_of<NoGradGuard>(x * 1, x, "under NoGradGuard");
  write_part_of<InferenceMode>(x * 1, x, "in InferenceMode");
  write_part_of<NoGradGuard>(ones({3}), x, "under NoGradGuard");
  write_part_of<InferenceMode>(ones({3}), x, "in InferenceMode");
  write_part_of<NoGradGuard>(ones({3}, requires_grad()), x, "under NoGradGuard");
  const Tensor base = ones({3}), own = base.slice(0, 0, 2).requires_grad_();
  CHECK_THROWS_WITH_AS(own.slice(0, 0, 1).mul_(2), doctest::Contains("a view that became a leaf is written"), Error);
  Tensor kept;
  {
    NoGradGuard guard;
    kept = (x * 1).view({1, 3});  // no other tensor shares its memory
  }
  kept.mul_(2);
  kept[0].slice(0, 0, 1).mul_(x.slice(0, 0, 1));
  CHECK(kept.requires_grad());
}

TEST_CASE("backward detects writes through detach() but not through data()") {
  const Tensor w = ones({3}, requires_grad());
  Tensor y = (w * w).sum();
  Tensor data = w.data();
  data.slice(0, 0, 2).mul_(2);
  CHECK(w._version() == 0);
  CHECK(data._version() == 1);
  y.backward();
  CHECK(w.grad().sum().item<double>() == 4 + 4 + 2);
  y = (w * w).sum();
  w.detach().mul_(2);
  CHECK(w._version() == 1);
  CHECK_THROWS_WITH_AS(y.backward(), doctest::Contains("overwritten by mul_"), Error);
  CHECK(w.data()._version() == 0);
  CHECK(data.detach().view({3, 1})._version() == 1);
}

namespace {
// The backward returns NaN for any input.
struct PoisonBackward final : autograd::Node {
  const char* label() const override { return "PoisonBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = g[0] * std::nan(""); }
};
Tensor poison(const Tensor& x) {
  Tensor out = x.detach().clone();
  autograd::record<PoisonBackward>(out, x);
  return out;
}
}  // namespace

TEST_CASE("anomaly mode names the forward operation and its inputs") {
  Tensor x = ones({2, 3}, requires_grad());
  poison(x).sum().backward();  // no error without anomaly mode
  autograd::DetectAnomalyGuard guard;
  Tensor y = (poison(x * 2) * 3).sum();
  CHECK_THROWS_WITH_AS(y.backward(), doctest::Contains("forward: Poison([2, 3] float32 cpu)"), Error);
}

TEST_CASE("anomaly mode names the write that renewed a view's history") {
  autograd::DetectAnomalyGuard guard;
  const Tensor x = ones({2, 3}, requires_grad()), nan = full({3}, std::nan(""));
  Tensor y = x * 1, row = y[0];
  y.mul_(2);
  CHECK_THROWS_WITH_AS(row.backward(nan), doctest::Contains("forward: AsStrided([2, 3] float32"), Error);
  y = x * 1;
  y[1].mul_(2);
  CHECK_THROWS_WITH_AS(y.backward(nan.expand({2, 3})),
                       doctest::Contains("forward: AsStridedScatter([2, 3] float32 cpu, [3] float32"), Error);
}

TEST_CASE("anomaly mode is one setting for all threads; overlapping guards") {
  using autograd::AnomalyMode;
  CHECK_FALSE(AnomalyMode::is_enabled());
  bool elsewhere = false;
  {
    auto first = std::make_unique<autograd::DetectAnomalyGuard>();
    std::thread([&] {
      const autograd::DetectAnomalyGuard second;
      elsewhere = AnomalyMode::is_enabled();
      first.reset();
      CHECK(AnomalyMode::is_enabled());
    }).join();
  }
  CHECK(elsewhere);
  CHECK_FALSE(AnomalyMode::is_enabled());
}

TEST_CASE("threads build and run separate graphs, also with shared leaves") {
  Tensor shared = ones({16}, requires_grad());
  std::vector<std::thread> threads;
  std::vector<double> own(4);
  for (std::size_t i = 0; i < own.size(); ++i)
    threads.emplace_back([&, i] {
      Tensor mine = full({16}, static_cast<double>(i), requires_grad());
      for (int round = 0; round < 50; ++round) (mine * shared).sum().backward();
      own[i] = mine.grad().sum().item<double>();
    });
  for (auto& thread : threads) thread.join();
  for (double sum : own) CHECK(sum == 50 * 16);
  CHECK(shared.grad().sum().item<double>() == 50 * 16 * (0 + 1 + 2 + 3));
}

TEST_CASE("grad of given inputs: unused ones, non-leaves, nothing accumulated") {
  Tensor x = full({1}, 3.0, requires_grad()), unused = ones({1}, requires_grad());
  Tensor y = x * x, z = y * 2;
  CHECK(autograd::grad({z}, {y}, {}, true)[0].item<float>() == 2);
  CHECK_THROWS_WITH_AS(autograd::grad({z}, {unused}, {}, true), doctest::Contains("allow_unused"), Error);
  CHECK_FALSE(autograd::grad({z}, {x, unused}, {}, true, false, true)[1].defined());
  CHECK_FALSE(x.grad().defined());
  autograd::backward({z}, {}, true, false, {x});
  CHECK(x.grad().item<float>() == 12);
}

TEST_CASE("retain_grad and removed hooks") {
  Tensor x = ones({2}, requires_grad());
  Tensor y = x * 3;
  y.retain_grad();
  int calls = 0;
  const unsigned handle = y.register_hook([&](const Tensor&) { ++calls; });
  (y * 5).sum().backward(Tensor(), true);
  CHECK(y.grad().sum().item<float>() == 10);
  y.remove_hook(handle);
  (y * 1).sum().backward();
  CHECK(calls == 1);
}
