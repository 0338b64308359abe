// AdaptiveLogSoftmaxWithLoss: values of PyTorch 2.15, errors.
#include "layer_testing.h"

using namespace tandem;
using namespace tandem::testing;

TEST_CASE("AdaptiveLogSoftmaxWithLoss") {
  nn::AdaptiveLogSoftmaxWithLoss m(nn::AdaptiveLogSoftmaxWithLossOptions(8, 10, {3, 6}).div_value(2.0).head_bias(true));
  m->to(kDouble);
  std::vector<std::string> names;
  double step = 0.3;
  for (auto& p : m->named_parameters()) {
    names.push_back(p.key());
    NoGradGuard no_grad;
    p.value().copy_(wave(p.value().sizes(), step));
    step += 0.1;
  }
  CHECK(names == std::vector<std::string>{"head.weight", "head.bias", "tail.0.0.weight", "tail.0.1.weight",
                                          "tail.1.0.weight", "tail.1.1.weight"});
  const Tensor x = wave({5, 8}).requires_grad_(), y = longs({0, 4, 9, 2, 7});
  const nn::ASMoutput out = m(x, y);
  CHECK(sums_are(out.output, -28.5472972264, 8.0830360679));
  CHECK(near(out.loss, 5.70945944528861));
  CHECK(sums_are(m->log_prob(x), -247.7179704561, 10.7773583550));
  CHECK(equal(m->predict(x), longs({1, 3, 0, 2, 2})));
  CHECK(allclose(m->log_prob(x).gather(1, y.unsqueeze(1)).squeeze(1), out.output));
  out.output.sum().backward();
  CHECK(x.grad().abs().sum().item<double>() > 0);
  CHECK(allclose(m(x[1], y[1]).output, out.output[1]));
  CHECK(m->predict(x[1]).item<int64_t>() == 3);
  CHECK_THROWS_AS(m(x, y + 1), Error);
  CHECK_THROWS_AS(nn::AdaptiveLogSoftmaxWithLoss(8, 10, std::vector<int64_t>{6, 3}), Error);
}
