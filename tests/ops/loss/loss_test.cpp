// Elementwise losses: values, first and second gradients, the points where formulas meet.
#include "tandem/autograd/ops/loss/loss.h"

#include <cmath>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/ops.h"
#include "tandem/tests/ops/op_testing.h"

using namespace tandem;
using namespace tandem::testing;

namespace {

OpTest loss(const char* torch, TensorFn fn, std::vector<std::vector<InputSpec>> cases) {
  return {.name = torch, .torch = torch, .fn = std::move(fn), .cases = std::move(cases)};
}

}  // namespace

TEST_CASE("mse, l1, smooth l1, huber") {
  const std::vector<std::vector<InputSpec>> cases{{distinct({3, 4}), real({3, 4}, -0.1, 0.1)},
                                                  {distinct({2, 3, 2}), real({2, 3, 2}, -0.1, 0.1)}};
  check_op(loss(
      "F.mse_loss(x0, x1)", [](const Tensors& x) { return Tensors{mse_loss(x[0], x[1])}; }, cases));
  check_op(loss(
      "F.mse_loss(x0, x1, reduction='sum')", [](const Tensors& x) { return Tensors{mse_loss(x[0], x[1], kSum)}; },
      cases));
  check_op(loss("F.mse_loss(x0, x1, reduction='none')",
                [](const Tensors& x) { return Tensors{mse_loss(x[0], x[1], kNone)}; },
                {{real({0, 3}), real({0, 3})}, {real({2, 3}), real({3})}}));
  check_op(loss(
      "F.l1_loss(x0, x1)", [](const Tensors& x) { return Tensors{l1_loss(x[0], x[1])}; }, cases));
  check_op(loss(
      "F.smooth_l1_loss(x0, x1, beta=1.5)",
      [](const Tensors& x) { return Tensors{smooth_l1_loss(x[0], x[1], kMean, 1.5)}; }, cases));
  check_op(loss(
      "F.huber_loss(x0, x1, delta=1.5)", [](const Tensors& x) { return Tensors{huber_loss(x[0], x[1], kMean, 1.5)}; },
      cases));
}

TEST_CASE("binary cross entropy") {
  check_op(loss("F.binary_cross_entropy(x0, x1, x2)",
                [](const Tensors& x) { return Tensors{binary_cross_entropy(x[0], x[1], x[2])}; },
                {{real({3, 4}, 0.1, 0.9), constant({3, 4}, 0, 1), constant({4}, 0.5, 2)}}));
  check_op(loss("F.binary_cross_entropy_with_logits(x0, x1)",
                [](const Tensors& x) { return Tensors{binary_cross_entropy_with_logits(x[0], x[1])}; },
                {{real({3, 4}, -5, 5), constant({3, 4}, 0, 1)}}));
  check_op(
      loss("F.binary_cross_entropy_with_logits(x0, x1, x2, pos_weight=x3, reduction='sum')",
           [](const Tensors& x) { return Tensors{binary_cross_entropy_with_logits(x[0], x[1], x[2], x[3], kSum)}; },
           {{real({3, 4}, -5, 5), constant({3, 4}, 0, 1), constant({4}, 0.5, 2), constant({4}, 0.5, 2)}}));
}

TEST_CASE("kl_div") {
  check_op(loss("F.kl_div(x0, x1, reduction='batchmean')",
                [](const Tensors& x) { return Tensors{kl_div(x[0], x[1], kBatchMean)}; },
                {{real({3, 4}, -3, 0), real({3, 4}, 0.1, 1)}}));
  check_op(loss("F.kl_div(x0, x1, reduction='sum', log_target=True)",
                [](const Tensors& x) { return Tensors{kl_div(x[0], x[1], kSum, true)}; },
                {{real({3, 4}, -3, 0), real({3, 4}, -3, 0)}}));
  CHECK(kl_div(zeros({2}), zeros({2}), kSum).item<float>() == 0);
}

TEST_CASE("clamped logarithms and points where formulas meet") {
  const Tensor sure = binary_cross_entropy(zeros({1}), ones({1}));
  CHECK(sure.item<float>() == 100);
  Tensor z = zeros({1}, requires_grad());
  binary_cross_entropy_with_logits(z, ones({1})).backward();
  CHECK(z.grad().item<float>() == -0.5f);
  const Tensor far = full({1}, -1000.0);
  CHECK(binary_cross_entropy_with_logits(far, ones({1})).item<float>() == 1000);
  CHECK(smooth_l1_loss(ones({1}), zeros({1})).item<float>() == 0.5f);
  CHECK(huber_loss(full({1}, 2.0), zeros({1})).item<float>() == 1.5f);
  CHECK(smooth_l1_loss(ones({1}), zeros({1}), kMean, 0).item<float>() == 1);
}

// F.hinge_embedding_loss: x for a target of 1, max(0, margin - x) for -1, and their sum for any other target.
TEST_CASE("margin losses on both sides of the margin, for each target") {
  for (const double x : {-1.5, 0.25, 1.0, 3.0})
    for (const double target : {1.0, -1.0, 0.0})
      for (const double margin : {1.0, 2.5}) {
        const double apart = std::max(0.0, margin - x);
        const double expected = target == 1 ? x : target == -1 ? apart : x + apart;
        CHECK(hinge_embedding_loss(full({1}, x), full({1}, target), margin).item<float>() == expected);
        CHECK(margin_ranking_loss(full({1}, x), full({1}, 0.5), full({1}, target), margin).item<float>() ==
              std::max(0.0, -target * (x - 0.5) + margin));
      }
  const Tensor a = tensor({3.0, 4.0}).view({1, 2}), b = tensor({2.0, 0.0}).view({1, 2});  // with a cosine of 0.6
  for (const double target : {1.0, -1.0, 0.0})
    for (const double margin : {0.0, 0.5, 0.75})
      CHECK(cosine_embedding_loss(a, b, full({1}, target), margin).item<double>() ==
            doctest::Approx(target == 1    ? 0.4
                            : target == -1 ? std::max(0.0, 0.6 - margin)
                                           : 0.0));
}

TEST_CASE("binary_cross_entropy has finite gradients where its input is 0 or 1") {
  const auto numbers = [](const Tensor& t) {
    const double* p = t.data_ptr<double>();
    return std::vector<double>(p, p + t.numel());
  };
  const auto leaf = [](std::vector<double> v) { return tensor(v, TensorOptions(kDouble).requires_grad(true)); };
  Tensor x = leaf({0, 1, 0, 1, 0.25}), t = leaf({1, 0, 0, 1, 1});
  for (const bool graph : {false, true}) {
    const Tensor loss = binary_cross_entropy(x, t, {}, kSum);
    const auto g = autograd::grad({loss}, {x, t}, {}, nullopt, graph);
    CHECK(allclose(g[0], tensor(std::vector<double>{-1e12, 1e12, 0, 0, -4}, TensorOptions(kDouble))));
    CHECK(numbers(g[1].slice(0, 0, 4).contiguous()) == std::vector<double>{100, -100, 100, -100});
    if (!graph) continue;
    const auto second = autograd::grad({g[0].sum() + g[1].sum()}, {x, t});
    for (const Tensor& s : second) CHECK(isfinite(s).all().item<bool>());
    // d/dx ((x - t) / (x (1 - x))) = 1 / x^2 for t = 1; for the other gradient -1 / (x (1 - x)).
    CHECK(numbers(second[0])[4] == doctest::Approx(16 - 1 / (0.25 * 0.75)));
  }
  Tensor z = leaf({200, 200, -800, -800});  // a saturated sigmoid
  binary_cross_entropy(z.sigmoid(), tensor(std::vector<double>{1, 0, 0, 1}, TensorOptions(kDouble))).backward();
  CHECK(numbers(z.grad()) == std::vector<double>(4, 0.0));
}

TEST_CASE("binary_cross_entropy leaves out dimensions of size 1") {
  const auto numbers = [](const Tensor& t) {
    const Tensor flat = t.detach().reshape({-1});
    return std::vector<double>(flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel());
  };
  const Tensor target = tensor(std::vector<double>{1, 0, 0, 1}, TensorOptions(kDouble));
  const Tensor flat = tensor(std::vector<double>{0.3, 0.4, 0.5, 0.9}, TensorOptions(kDouble).requires_grad(true)),
               column = flat.detach().view({4, 1}).requires_grad_();
  const Tensor terms = binary_cross_entropy(column, target, {}, kNone);
  CHECK(terms.sizes() == IntArrayRef{4, 1});
  CHECK(numbers(terms) == numbers(binary_cross_entropy(flat, target, {}, kNone)));
  binary_cross_entropy(flat, target).backward();
  binary_cross_entropy(column, target).backward();
  CHECK(numbers(column.grad()) == numbers(flat.grad()));
}

TEST_CASE("invalid arguments throw") {
  const Tensor x = ones({2, 3});
  CHECK_THROWS_WITH_AS(mse_loss(x, ones({2})), doctest::Contains("[2, 3]"), Error);
  CHECK_THROWS_WITH_AS(mse_loss(x, x, kBatchMean), doctest::Contains("kl_div"), Error);
  CHECK_THROWS_WITH_AS(binary_cross_entropy(x, ones({3})), doctest::Contains("shapes differ"), Error);
  CHECK_THROWS_WITH_AS(binary_cross_entropy_with_logits(x, ones({3})),
                       doctest::Contains("Target size ([3]) must be the same as input size ([2, 3])"), Error);
  CHECK_THROWS_WITH_AS(huber_loss(x, x, kMean, 0), doctest::Contains("positive"), Error);
  CHECK_THROWS_WITH_AS(smooth_l1_loss(x, x, kMean, -1), doctest::Contains("beta"), Error);
}

TEST_CASE("kl_div takes the batch size from the input, not from the broadcast shape") {
  const Tensor target = full({2, 3}, 0.5), number = full({}, -1.0);
  const auto total = kl_div(number, target, kSum).item<float>();
  CHECK(kl_div(number, target, kBatchMean).item<float>() == total);
  CHECK(kl_div(number.view({1, 1}), target, kBatchMean).item<float>() == total);
}

TEST_CASE("the second derivative of the quadratic part is correct where input and target are equal") {
  const TensorOptions leaf = TensorOptions(kDouble).requires_grad(true);
  const Tensor x = ones({1}, leaf), target = ones({1}, kDouble);
  const auto curvature = [&](const Tensor& loss) {
    const Tensor g = autograd::grad({loss}, {x}, {}, nullopt, /*create_graph=*/true)[0];
    return autograd::grad({g}, {x})[0].item<double>();
  };
  CHECK(curvature(huber_loss(x, target)) == 1);
  CHECK(curvature(smooth_l1_loss(x, target, kSum, 0.5)) == 2);
}
