// Cross entropy and negative log likelihood: every reduction, weights, smoothing, ignored targets, images.
#include <cmath>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/loss/loss.h"
#include "tandem/autograd/ops/nn/softmax.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/tests/ops/op_testing.h"

using namespace tandem;
using namespace tandem::testing;

namespace {

OpTest loss(const char* torch, TensorFn fn, std::vector<std::vector<InputSpec>> cases) {
  return {.name = torch, .torch = torch, .fn = std::move(fn), .cases = std::move(cases)};
}

const std::vector<std::vector<InputSpec>> kCases = {{real({5, 4}), integers({5}, 0, 4)},
                                                    {real({2, 3, 2, 2}), integers({2, 2, 2}, 0, 3)},
                                                    {real({2, 3, 4}), integers({2, 4}, 0, 3)},
                                                    {real({6}), integers({}, 0, 6)},
                                                    {real({3, 1}), integers({3}, 0, 1)}};
const std::vector<std::vector<InputSpec>> kWeighted = {
    {real({5, 4}), integers({5}, 0, 4), constant({4}, 0.5, 2)},
    {real({2, 3, 2, 2}), integers({2, 2, 2}, 0, 3), constant({3}, 0.5, 2)},
    {real({4}), integers({}, 0, 4), constant({4}, 0.5, 2)}};

}  // namespace

TEST_CASE("cross entropy of classes") {
  check_op(loss(
      "F.cross_entropy(x0, x1)", [](const Tensors& x) { return Tensors{cross_entropy_loss(x[0], x[1])}; }, kCases));
  check_op(loss(
      "F.cross_entropy(x0, x1, reduction='sum')",
      [](const Tensors& x) { return Tensors{cross_entropy_loss(x[0], x[1], {}, kSum)}; }, kCases));
  check_op(loss(
      "F.cross_entropy(x0, x1, reduction='none')",
      [](const Tensors& x) { return Tensors{cross_entropy_loss(x[0], x[1], {}, kNone)}; }, kCases));
  check_op(loss("F.cross_entropy(x0, x1, reduction='sum') of no rows",
                [](const Tensors& x) { return Tensors{cross_entropy_loss(x[0], x[1], {}, kSum)}; },
                {{real({0, 4}), integers({0}, 0, 4)}}));
}

TEST_CASE("cross entropy with weights, smoothing, ignored targets") {
  for (const auto& [reduction, word] : {std::pair(kMean, "mean"), {kSum, "sum"}, {kNone, "none"}}) {
    const std::string name =
        concat("F.cross_entropy(x0, x1, x2, ignore_index=1, label_smoothing=0.3, reduction='", word, "')");
    check_op(
        loss(name.c_str(),
             [r = reduction](const Tensors& x) { return Tensors{cross_entropy_loss(x[0], x[1], x[2], r, 1, 0.3)}; },
             {kWeighted[0], kWeighted[1]}));
    const std::string plain = concat("F.cross_entropy(x0, x1, x2, reduction='", word, "')");
    check_op(loss(
        plain.c_str(), [r = reduction](const Tensors& x) { return Tensors{cross_entropy_loss(x[0], x[1], x[2], r)}; },
        kWeighted));
  }
}

TEST_CASE("cross entropy of probabilities") {
  check_op(loss("F.cross_entropy(x0, x1, x2, label_smoothing=0.2)",
                [](const Tensors& x) { return Tensors{cross_entropy_loss(x[0], x[1], x[2], kMean, -100, 0.2)}; },
                {{real({3, 4}), real({3, 4}, 0, 1), constant({4}, 0.5, 2)},
                 {real({2, 3, 2}), real({2, 3, 2}, 0, 1), constant({3}, 0.5, 2)}}));
  check_op(loss("F.cross_entropy(x0, x1, reduction='none')",
                [](const Tensors& x) { return Tensors{cross_entropy_loss(x[0], x[1], {}, kNone)}; },
                {{real({3, 4}), real({3, 4}, 0, 1)}, {real({4}), real({4}, 0, 1)}}));
}

TEST_CASE("negative log likelihood") {
  for (const auto& [reduction, word] : {std::pair(kMean, "mean"), {kSum, "sum"}, {kNone, "none"}}) {
    const std::string plain = concat("F.nll_loss(x0, x1, reduction='", word, "')");
    check_op(loss(
        plain.c_str(), [r = reduction](const Tensors& x) { return Tensors{nll_loss(x[0], x[1], {}, r)}; }, kCases));
    const std::string name = concat("F.nll_loss(x0, x1, x2, ignore_index=1, reduction='", word, "')");
    check_op(loss(name.c_str(), [r = reduction](const Tensors& x) { return Tensors{nll_loss(x[0], x[1], x[2], r, 1)}; },
                  {kWeighted[0], kWeighted[1]}));
  }
}

TEST_CASE("cross entropy equals nll_loss of log_softmax, also far from zero") {
  const Tensor x = make_inputs({.cases = {{constant({50, 37}, -200, 200)}}}, 0, kFloat)[0];
  const Tensor y = make_inputs({.cases = {{integers({50}, 0, 37)}}}, 0, kFloat)[0];
  std::string why;
  CHECK_MESSAGE(close(cross_entropy_loss(x + 1e4, y), nll_loss(log_softmax(x + 1e4, 1), y), 1e-6, &why), why);
  const Tensor masked = full({1, 2}, -INFINITY);
  CHECK(std::isnan(cross_entropy_loss(masked, zeros({1}, kLong)).item<float>()));
  masked.data_ptr<float>()[0] = 3;
  CHECK(cross_entropy_loss(masked, zeros({1}, kLong)).item<float>() == 0);
  CHECK(cross_entropy_loss(masked, ones({1}, kLong)).item<float>() == INFINITY);
}

TEST_CASE("only ignored targets: the mean is NaN, the gradient zero") {
  Tensor x = ones({2, 3}, requires_grad());
  const Tensor loss = cross_entropy_loss(x, full({2}, -100));
  CHECK(std::isnan(loss.item<float>()));
  loss.backward();
  CHECK(x.grad().data_ptr<float>()[0] == 0);
}

TEST_CASE("only ignored targets: the gradient with create_graph is zero, too") {
  const Tensor x = ones({3, 2}, TensorOptions(kDouble).requires_grad(true));
  const Tensor loss = cross_entropy_loss(x, zeros({3}, kLong), {}, kMean, /*ignore_index=*/0);
  const Tensor g = autograd::grad({loss}, {x}, {}, nullopt, /*create_graph=*/true)[0];
  CHECK(g.count_nonzero().item<int64_t>() == 0);  // NaN counts as nonzero
  CHECK(autograd::grad({g.sum()}, {x})[0].count_nonzero().item<int64_t>() == 0);
}

TEST_CASE("the same bits on any number of threads") {
  const Tensors in = make_inputs({.cases = {{constant({3000, 10}), integers({3000}, 0, 10)}}}, 0, kFloat);
  same_bits_on_any_threads([&] {
    const Tensor x = in[0].clone().requires_grad_();
    const Tensor loss = cross_entropy_loss(x, in[1]);
    return Tensors{loss, autograd::grad({loss}, {x})[0], nll_loss(x.detach(), in[1])};
  });
}

TEST_CASE("the gradient of more than a million scores of a half type") {
  for (const ScalarType type : {kHalf, kBFloat16}) {
    const Tensor x = zeros({1024, 1025}, TensorOptions(type).requires_grad(true));
    cross_entropy_loss(x, zeros({1024}, kLong), {}, kSum).backward();
    for (const int64_t row : {0, 1023}) {
      CHECK(x.grad()[row][0].item<double>() == doctest::Approx(1.0 / 1025 - 1).epsilon(0.005));
      CHECK(x.grad()[row][1024].item<double>() == doctest::Approx(1.0 / 1025).epsilon(4e-6));
    }
  }
}

TEST_CASE("invalid arguments throw") {
  const Tensor x = ones({2, 3});
  CHECK_THROWS_WITH_AS(cross_entropy_loss(x, full({2}, 3)),
                       doctest::Contains("target 3 is out of range: there are 3 classes"), IndexError);
  CHECK_THROWS_AS(nll_loss(x, full({2}, -1)), IndexError);
  CHECK_THROWS_WITH_AS(cross_entropy_loss(x, zeros({3}, kLong)), doctest::Contains("have shape [2]"), Error);
  CHECK_THROWS_WITH_AS(cross_entropy_loss(x, zeros({2})), doctest::Contains("integer class indices"), Error);
  CHECK_THROWS_WITH_AS(cross_entropy_loss(x, zeros({2}, kLong), ones({2})), doctest::Contains("weight must be [3]"),
                       Error);
  CHECK_THROWS_WITH_AS(cross_entropy_loss(x, zeros({2}, kLong), {}, kMean, -100, 2), doctest::Contains("[0, 1]"),
                       Error);
  CHECK_THROWS_WITH_AS(cross_entropy_loss(x.to(kLong), zeros({2}, kLong)), doctest::Contains("int64"), Error);
  CHECK_THROWS_WITH_AS(cross_entropy_loss(x, zeros({2}, kLong), {}, kBatchMean), doctest::Contains("kl_div"), Error);
}
