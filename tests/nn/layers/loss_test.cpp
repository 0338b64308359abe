// Loss, normalisation and dropout modules: values from PyTorch 1.13, modes, state.
#include <doctest/doctest.h>

#include <cmath>
#include <sstream>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/factories/tensor_literal.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/nn/functional.h"
#include "tandem/nn/layers/batch_norm.h"
#include "tandem/nn/layers/dropout.h"
#include "tandem/nn/layers/layer_norm.h"
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

TEST_CASE("BatchNorm2d") {
  nn::BatchNorm2d norm(2);
  const Tensor x = arange(16, kFloat).view({2, 2, 2, 2});
  const Tensor y = norm(x);
  CHECK(y.mean({0, 2, 3}).allclose(zeros({2}), 0, 1e-6));
  CHECK(norm->running_mean.allclose(tensor({0.55, 0.95}).to(kFloat)));
  CHECK(norm->running_var.allclose(tensor({2.8714286, 2.8714286}).to(kFloat)));
  CHECK(norm->num_batches_tracked.item<int64_t>() == 1);
  norm->eval();
  norm(x);
  CHECK(norm->num_batches_tracked.item<int64_t>() == 1);
  CHECK(norm->state_dict().keys() ==
        std::vector<std::string>{"weight", "bias", "running_mean", "running_var", "num_batches_tracked"});
  std::ostringstream out;
  out << norm;
  CHECK(out.str() == "tandem::nn::BatchNorm2d(2, eps=1e-05, momentum=0.1, affine=true, track_running_stats=true)");
  CHECK_THROWS_WITH_AS(norm(zeros({2, 2})), doctest::Contains("[N, C, H, W]"), Error);
  nn::BatchNorm1d mean_of_all(nn::BatchNorm1dOptions(1).momentum(nullopt));
  mean_of_all(tensor({{1.}, {3.}}).to(kFloat));
  mean_of_all(tensor({{5.}, {7.}}).to(kFloat));
  CHECK(mean_of_all->running_mean.item<float>() == doctest::Approx(4));
  nn::BatchNorm2d bare(nn::BatchNorm2dOptions(2).affine(false).track_running_stats(false));
  bare->eval();
  CHECK(bare(x).allclose(y, 1e-5, 1e-5));
  CHECK(bare->parameters().empty());
}

TEST_CASE("LayerNorm") {
  nn::LayerNorm norm(nn::LayerNormOptions({3}));
  CHECK(norm(tensor({{1., 2., 3.}}).to(kFloat)).allclose(tensor({{-1.2247356, 0., 1.2247356}}).to(kFloat)));
  CHECK(norm->parameters().size() == 2);
}

TEST_CASE("Dropout") {
  for (double p : {1.5, -0.1, std::nan("")}) {
    CHECK_THROWS_WITH_AS(nn::Dropout{p}, doctest::Contains("between 0 and 1"), Error);
    CHECK_THROWS_WITH_AS(nn::Dropout2d{p}, doctest::Contains("between 0 and 1"), Error);
  }
  nn::Dropout drop(0.25);
  const Tensor x = ones({1000});
  const Tensor y = drop(x);
  const double kept = (y > 0).sum().item<double>();
  CHECK(kept > 690);
  CHECK(kept < 810);
  CHECK(y.max().item<float>() == doctest::Approx(1 / 0.75));
  drop->eval();
  CHECK(drop(x).equal(x));
  const Tensor planes = nn::Dropout2d(0.5)(ones({10, 10, 4, 4})).sum({2, 3});
  CHECK(((planes == 0).sum() + (planes == 32).sum()).item<int64_t>() == 100);
}
