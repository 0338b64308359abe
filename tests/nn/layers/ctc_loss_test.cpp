// ctc_loss: values and gradients of PyTorch 2.15, errors.
#include <limits>

#include "layer_testing.h"

using namespace tandem;
using namespace tandem::testing;

TEST_CASE("ctc_loss") {
  const Tensor x = wave({6, 3, 5}).requires_grad_(), t = longs({1, 2, 2, 3, 1, 4, 4, 4, 0}).view({3, 3}),
               inputs = longs({6, 4, 2}), lengths = longs({3, 2, 2});
  const Tensor each = ctc_loss(x, t, inputs, lengths, 0, kNone);
  CHECK(near(each[0].item<double>(), -3.4182571937532322));
  CHECK(near(each[1].item<double>(), -2.066975304194517));
  CHECK(each[2].item<double>() == std::numeric_limits<double>::infinity());
  CHECK(std::isinf(ctc_loss(x, t, inputs, lengths).item<double>()));
  nn::CTCLoss layer(nn::CTCLossOptions().zero_infinity(true));
  const Tensor mean = layer(x, t, inputs, lengths);
  CHECK(near(mean.item<double>(), -0.7243022388938897));
  mean.backward();
  CHECK(sums_are(x.grad(), 6.5447383643, 0.2120233484));
  x.grad().zero_();
  ctc_loss(x, t, {6, 4, 2}, {3, 2, 2}, 0, kSum, true).backward();
  CHECK(sums_are(x.grad(), 49.7809112993, 1.5624790781));
  x.grad().zero_();
  const Tensor joined = ctc_loss(x, longs({1, 2, 2, 3, 1, 4}), longs({6, 4, 5}), longs({3, 2, 1}));
  CHECK(near(joined.item<double>(), -1.8227492326532235));
  joined.backward();
  CHECK(sums_are(x.grad(), 16.4948856183, 0.1720815775));
  const Tensor single = ctc_loss(wave({6, 5}), longs({1, 0, 2}), tensor(int64_t{6}), tensor(int64_t{3}), 3, kNone);
  CHECK(near(single.item<double>(), -5.303518611171135));
  CHECK(single.dim() == 0);
}

TEST_CASE("ctc_loss: derivative through log_softmax, errors") {
  const Tensor x = wave({5, 2, 4}).requires_grad_(), t = longs({1, 2, 3, 3}).view({2, 2});
  const auto loss = [&](const Tensor& scores) { return ctc_loss(log_softmax(scores, 2), t, {5, 4}, {2, 2}, 0, kSum); };
  loss(x).backward();
  NoGradGuard no_grad;
  for (int64_t i = 0; i < x.numel(); i += 3) {
    const Tensor step = zeros({40}, kDouble);
    step[i].fill_(1e-6);
    const double slope = (loss(x + step.view({5, 2, 4})) - loss(x - step.view({5, 2, 4}))).item<double>() / 2e-6;
    CHECK(std::abs(slope - x.grad().view({-1})[i].item<double>()) < 1e-7);
  }
  CHECK_THROWS_AS(ctc_loss(x, t, {5, 6}, {2, 2}), Error);
  CHECK_THROWS_AS(ctc_loss(x, t, {5}, {2, 2}), Error);
  CHECK_THROWS_WITH_AS(ctc_loss(x, t, {5, 5}, {2, 3}),
                       doctest::Contains("Expected tensor to have size at least 3 at dimension 1"), Error);
  const Tensor lengths = longs({2, 2});
  CHECK_THROWS_WITH_AS(ctc_loss(x, t, lengths.to(kFloat), lengths), doctest::Contains("input_lengths must be integral"),
                       Error);
  CHECK_THROWS_WITH_AS(ctc_loss(x, t, lengths, lengths.to(kFloat)),
                       doctest::Contains("target_lengths must be integral"), Error);
  CHECK_THROWS_AS(ctc_loss(x, t, {5, 5}, {2, 2}, 4), Error);
  CHECK_THROWS_AS(ctc_loss(x, t + 1, {5, 5}, {2, 2}), Error);
  AutoGradMode enabled(true);
  const Tensor grad = autograd::grad({loss(x)}, {x}, {}, true, true)[0];
  CHECK_THROWS_AS(grad.sum().backward(), Error);
}
