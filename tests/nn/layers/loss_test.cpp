// Loss modules: values from PyTorch 1.13, modes, state.
#include <doctest/doctest.h>

#include <cmath>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/factories/tensor_literal.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/nn/functional.h"
#include "tandem/nn/layers/loss.h"

using namespace tandem;
namespace F = tandem::nn::functional;

namespace {
const Tensor& scores() {
  static const Tensor x = tensor({{1.0, -1.0, 0.5}, {0.2, 2.0, -0.3}});
  return x;
}
const Tensor& classes() {
  static const Tensor y = tensor({2, 1});
  return y;
}
void near(const Tensor& got, double expected) { CHECK(got.item<double>() == doctest::Approx(expected).epsilon(1e-5)); }
}  // namespace

TEST_CASE("losses equal PyTorch's") {
  near(nn::CrossEntropyLoss()(scores(), classes()), 0.645234919737);
  near(nn::CrossEntropyLoss(nn::CrossEntropyLossOptions().reduction(kSum).label_smoothing(0.1))(scores(), classes()),
       1.46046983947);
  near(nn::CrossEntropyLoss(nn::CrossEntropyLossOptions().weight(tensor({1., 2., 3.})))(scores(), classes()),
       0.727179319718);
  near(nn::CrossEntropyLoss(nn::CrossEntropyLossOptions().ignore_index(1))(scores(), classes()), 1.05495691964);
  near(nn::CrossEntropyLoss(nn::CrossEntropyLossOptions().reduction(kNone))(scores(), classes()).sum(), 1.29046983947);
  near(nn::NLLLoss()(scores().log_softmax(1), classes()), 0.645234919737);
  const Tensor t = tensor({{0., 1., 0.3}, {1., 0.5, 0.}}), p = scores().sigmoid();
  near(nn::MSELoss()(scores(), t), 1.33666666667);
  near(nn::L1Loss(nn::L1LossOptions(kSum))(scores(), t), 5.8);
  near(nn::SmoothL1Loss(nn::SmoothL1LossOptions().beta(0.7))(scores(), t), 0.665476190476);
  near(nn::HuberLoss(nn::HuberLossOptions().delta(0.7))(scores(), t), 0.465833333333);
  near(nn::BCELoss()(p, t), 0.955003747352);
  CHECK_THROWS_WITH_AS(nn::BCELoss()(ones({4, 1}), ones({4})),
                       doctest::Contains("Using a target size ([4]) that is different to the input size ([4, 1])"),
                       Error);
  near(nn::BCEWithLogitsLoss()(scores(), t), 0.955003747352);
  near(nn::BCEWithLogitsLoss(nn::BCEWithLogitsLossOptions().pos_weight(tensor({1., 2., 3.})))(scores(), t),
       1.23186572794);
  near(nn::KLDivLoss(nn::KLDivLossOptions(kBatchMean))(scores().log_softmax(1), t), 2.15847397185);
  near(F::cross_entropy(scores(), t), 2.51235668764);
}

TEST_CASE("a loss module keeps its weights as a buffer and clones deeply") {
  const Tensor w = tensor({1., 2., 3.});
  nn::CrossEntropyLoss loss(nn::CrossEntropyLossOptions().weight(w));
  CHECK(loss->named_buffers().keys() == std::vector<std::string>{"weight"});
  loss->to(kDouble);
  CHECK(((loss->options.weight().dtype() == kDouble)));
  auto copy = std::dynamic_pointer_cast<nn::CrossEntropyLossImpl>(loss->clone());
  copy->options.weight().fill_(0);
  CHECK(loss->options.weight().data_ptr<double>()[1] == 2);
}
