// Margin losses: values and gradients of PyTorch 2.15.
#include "layer_testing.h"

using namespace tandem;
using namespace tandem::testing;
namespace F = tandem::nn::functional;

TEST_CASE("margin losses, and losses with mixed dtypes") {
  const Tensor a = row({1, 2}), b = row({2, 1}), sign = row({1, -1});
  CHECK(near(nn::MarginRankingLoss(nn::MarginRankingLossOptions().margin(0.5))(a, b, sign), {1.5}));
  CHECK(near(nn::HingeEmbeddingLoss()(a, sign), {0.5}));
  CHECK(near(nn::SoftMarginLoss()(a, sign), {(0.3132617 + 2.1269280) / 2}));
  CHECK(near(nn::TripletMarginLoss()(a.view({1, 2}), a.view({1, 2}), b.view({1, 2})), {0}));
  CHECK(near(nn::CosineEmbeddingLoss()(a.view({1, 2}), b.view({1, 2}), ones({1})), {0.2}));
  CHECK(near(nn::MultiMarginLoss()(a.view({1, 2}), zeros({1}, kLong)), {1}));
  CHECK(near(nn::MultiLabelSoftMarginLoss()(zeros({1, 2}), ones({1, 2})), {0.6931472}));
  CHECK(near(nn::PoissonNLLLoss()(zeros({2}), ones({2})), {1}));
  const Tensor number = tensor(1.0, TensorOptions(kDouble));
  CHECK((F::mse_loss(a, number).dtype() == kDouble));
  CHECK((F::l1_loss(number, a).dtype() == kDouble));
  CHECK((F::smooth_l1_loss(a, number).dtype() == kDouble));
}

TEST_CASE("multilabel_margin_loss, triplet_margin_with_distance_loss") {
  const Tensor x = wave({3, 4}).requires_grad_(), t = longs({3, 0, -1, 1, 1, -1, 0, 0, -1, 0, 1, 2}).view({3, 4});
  const Tensor each = multilabel_margin_loss(x, t, kNone);
  CHECK(near(each[0].item<double>(), 1.3832290252886386));
  CHECK(near(each[1].item<double>(), 0.6333273620467111));
  CHECK(each[2].item<double>() == 0);
  const Tensor mean = nn::MultiLabelMarginLoss()(x, t);
  CHECK(near(mean.item<double>(), 0.6721854624451166));
  mean.backward();
  CHECK(sums_are(x.grad(), 0, 0.0364781913));
  CHECK(near(multilabel_margin_loss(x[0], t[0]).item<double>(), 1.3832290252886386));
  CHECK_THROWS_AS(multilabel_margin_loss(x, t[0]), Error);

  const Tensor a = wave({4, 3}), p = wave({4, 3}, 0.5), n = wave({4, 3}, 0.2);
  CHECK(near(nn::TripletMarginWithDistanceLoss()(a, p, n).item<double>(), 0.9606219061044634));
  nn::TripletMarginWithDistanceLoss own(
      nn::TripletMarginWithDistanceLossOptions()
          .distance_function([](const Tensor& u, const Tensor& v) { return (u - v).abs().sum(1); })
          .swap(true)
          .margin(0.5)
          .reduction(kSum));
  CHECK(near(own(a, p, n).item<double>(), 4.780966684505698));
  CHECK(text(own) == "tandem::nn::TripletMarginWithDistanceLoss(margin=0.5, swap=true)");
}
