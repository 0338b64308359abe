// What all layers have in common: options that reach the operation, limits of options, inputs without a batch, and
// parameters that are drawn again.
#include "layer_testing.h"

using namespace tandem;
using namespace tandem::testing;
namespace F = tandem::nn::functional;

namespace {

// The parameters that reset_parameters() draws are those that the constructor drew from the same seed.
template <class Layer>
void check_reset(const char* name, const std::function<Layer()>& make) {
  CAPTURE(name);
  manual_seed(7);
  Layer layer = make();
  std::vector<Tensor> before;
  for (Tensor& p : layer->parameters()) {
    before.push_back(p.detach().clone());
    NoGradGuard no_grad;
    p.fill_(99);
  }
  manual_seed(7);
  layer->reset_parameters();
  const std::vector<Tensor> after = layer->parameters();
  CHECK(!after.empty());
  for (std::size_t i = 0; i < after.size(); ++i) CHECK_MESSAGE(after[i].equal(before[i]), i);
}

// A layer gives an input without a batch what it gives a batch of one.
template <class Layer>
void check_unbatched(Layer layer, const Tensor& x) {
  CAPTURE(text(layer));
  layer->eval();
  CHECK(layer(x[0]).equal(layer(x)[0]));
}

}  // namespace

TEST_CASE("reset_parameters draws all parameters again, as the constructor does") {
  check_reset<nn::Linear>("Linear", [] { return nn::Linear(3, 4); });
  check_reset<nn::Bilinear>("Bilinear", [] { return nn::Bilinear(3, 4, 2); });
  check_reset<nn::Conv1d>("Conv1d", [] { return nn::Conv1d(nn::Conv1dOptions(2, 3, 3)); });
  check_reset<nn::Conv2d>("Conv2d", [] { return nn::Conv2d(nn::Conv2dOptions(2, 3, 3)); });
  check_reset<nn::Embedding>("Embedding", [] { return nn::Embedding(nn::EmbeddingOptions(5, 2).padding_idx(1)); });
  check_reset<nn::EmbeddingBag>("EmbeddingBag", [] { return nn::EmbeddingBag(5, 2); });
  check_reset<nn::LayerNorm>("LayerNorm", [] { return nn::LayerNorm(nn::LayerNormOptions({4})); });
  check_reset<nn::BatchNorm1d>("BatchNorm1d", [] { return nn::BatchNorm1d(4); });
  check_reset<nn::LSTM>("LSTM", [] { return nn::LSTM(3, 4); });
  nn::AdaptiveLogSoftmaxWithLoss adaptive(nn::AdaptiveLogSoftmaxWithLossOptions(8, 10, {3, 6}).div_value(2));
  {
    NoGradGuard no_grad;
    for (Tensor& p : adaptive->parameters()) p.fill_(99);
  }
  adaptive->reset_parameters();  // in another order than the constructor's, as in LibTorch
  for (const Tensor& p : adaptive->parameters()) CHECK(p.abs().max().item<double>() < 2);
  nn::MultiheadAttention other(nn::MultiheadAttentionOptions(4, 2).kdim(3).vdim(5));
  for (const Tensor& w : {other->q_proj_weight, other->k_proj_weight, other->v_proj_weight}) {
    const double bound = std::sqrt(6.0 / static_cast<double>(w.size(0) + w.size(1)));
    CHECK(w.abs().max().item<double>() <= bound);
    CHECK(w.abs().max().item<double>() > bound / 2);
  }
}

TEST_CASE("layers take inputs without a batch") {
  check_unbatched(nn::InstanceNorm1d(2), count({1, 2, 4}));
  check_unbatched(nn::InstanceNorm2d(2), count({1, 2, 3, 4}));
  check_unbatched(nn::InstanceNorm3d(2), count({1, 2, 2, 3, 4}));
  check_unbatched(nn::Conv1d(nn::Conv1dOptions(2, 3, 2)), count({1, 2, 4}));
  check_unbatched(nn::Conv2d(nn::Conv2dOptions(2, 3, 2)), count({1, 2, 3, 4}));
  check_unbatched(nn::Conv3d(nn::Conv3dOptions(2, 3, 2)), count({1, 2, 2, 3, 4}));
  check_unbatched(nn::MaxPool2d(2), count({1, 2, 4, 4}));
  check_unbatched(nn::AvgPool1d(2), count({1, 2, 4}));
  nn::AdaptiveLogSoftmaxWithLoss adaptive(nn::AdaptiveLogSoftmaxWithLossOptions(4, 6, {2}));
  const Tensor row = count({1, 4}) / 4, label = longs({3});
  CHECK(adaptive(row[0], label[0]).output.equal(adaptive(row, label).output[0]));
}

TEST_CASE("functions with options pass each of them on") {
  CHECK(
      F::avg_pool1d(count({1, 1, 6}), F::AvgPool1dFuncOptions(3).stride(2)).equal(avg_pool1d(count({1, 1, 6}), 3, 2)));
  const Tensor volume = count({1, 1, 2, 3, 4}) + 1;
  CHECK(F::lp_pool3d(volume, F::LPPool3dFuncOptions(1, {1, 3, 2})).allclose(avg_pool3d(volume, {1, 3, 2}) * 6));
  CHECK(F::lp_pool2d(volume[0], F::LPPool2dFuncOptions(1, {3, 2})).allclose(avg_pool2d(volume[0], {3, 2}) * 6));
  const Tensor x = tensor({0.5F, -2.0F}), y = tensor({1.0F, -1.0F});
  CHECK(F::soft_margin_loss(x, y).allclose(log1p(exp(-x * y)).mean()));
  nn::Conv1d odd(nn::Conv1dOptions(1, 1, 6).padding(kSame).padding_mode(kCircular).bias(false));
  {
    NoGradGuard no_grad;
    odd->weight.copy_(count({1, 1, 6}));
  }
  CHECK(odd(count({1, 1, 5})).equal(conv1d(pad(count({1, 1, 5}), {2, 3}, "circular"), odd->weight)));
  CHECK_THROWS_AS(F::pad(count({1, 1, 4}), F::PadFuncOptions({1, 1}).mode(kReflect).value(1)), Error);
  CHECK(F::pad(count({1, 1, 4}), F::PadFuncOptions({1, 1}).mode(kReflect)).size(2) == 6);
  // Without running statistics, those of the batch are used, in evaluation, too.
  nn::BatchNorm1d norm(nn::BatchNormOptions(2).track_running_stats(false));
  norm->eval();
  const Tensor batch = count({4, 2});
  CHECK(std::abs(norm(batch).mean().item<float>()) < 1e-6);
  nn::MultiheadAttention attention(4, 2);
  const Tensor q = count({3, 1, 4}) / 10, v = -q;
  CHECK(std::get<0>(attention(q, q, v)).allclose(std::get<0>(attention(q, q.clone(), v))));
}

TEST_CASE("layers take the least options, and refuse those below") {
  CHECK(nn::Linear(0, 2)(zeros({3, 0})).sizes() == IntArrayRef({3, 2}));
  CHECK(nn::Linear(2, 0)(zeros({3, 2})).sizes() == IntArrayRef({3, 0}));
  CHECK_THROWS_AS(nn::Linear(-1, 2), Error);
  CHECK_THROWS_AS(nn::Linear(2, -1), Error);
  for (const int64_t padding : {-4, 3}) {
    CHECK_THROWS_AS(nn::Embedding(nn::EmbeddingOptions(3, 2).padding_idx(padding)), Error);
    CHECK_THROWS_AS(nn::EmbeddingBag(nn::EmbeddingBagOptions(3, 2).padding_idx(padding)), Error);
  }
  CHECK_NOTHROW(nn::Embedding(nn::EmbeddingOptions(3, 2).padding_idx(-3)));
  CHECK_THROWS_WITH_AS(F::embedding_bag(zeros({1, 3}, kLong), ones({4, 2}),
                                        F::EmbeddingBagFuncOptions().mode(kSum).per_sample_weights(ones({1, 2}))),
                       doctest::Contains("per_sample_weights must have the shape of input"), Error);
  for (const double ratio : {0.0, 1.0})
    CHECK_THROWS_AS(nn::FractionalMaxPool2d(nn::FractionalMaxPool2dOptions(2).output_ratio({{ratio, 0.5}})), Error);
  CHECK_THROWS_AS(nn::AdaptiveLogSoftmaxWithLoss(nn::AdaptiveLogSoftmaxWithLossOptions(4, 6, {})), Error);
  CHECK_THROWS_AS(
      F::interpolate(count({1, 1, 4}),
                     F::InterpolateFuncOptions().size(std::vector<int64_t>{2}).mode(kArea).align_corners(true)),
      Error);
  CHECK_THROWS_WITH_AS(
      F::batch_norm(count({4, 2}), zeros({2}), ones({2}), F::BatchNormFuncOptions().training(true).momentum(nullopt)),
      doctest::Contains("requires a momentum"), Error);
  CHECK_THROWS_WITH_AS(nn::Conv1d(nn::Conv1dOptions(1, 1, 0)), doctest::Contains("Conv1d"), Error);
  CHECK(text(nn::Conv2d(nn::Conv2dOptions(1, 1, 3).padding(1))).find("padding=[1, 1]") != std::string::npos);
  CHECK(text(nn::Conv2d(nn::Conv2dOptions(1, 1, 3))).find("padding") == std::string::npos);
}
