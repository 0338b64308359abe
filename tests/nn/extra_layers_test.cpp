// RMSNorm, EmbeddingBag, dropout for SELU, RReLU, CTC, margin losses, AdaptiveLogSoftmaxWithLoss: values and gradients
// of PyTorch 2.15, random properties, clones, errors. The inputs are sines; two sums stand for a tensor.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "tandem/tandem.h"

using namespace tandem;
namespace F = tandem::nn::functional;

namespace {

Tensor wave(IntArrayRef sizes, double step = 0.7) {
  return (arange(checked_numel(sizes), kDouble) * step).sin().view(sizes);
}
bool near(double a, double b) { return std::abs(a - b) < 1e-8; }
bool sums_are(const Tensor& t, double sum, double weighted) {
  const Tensor flat = t.detach().to(kDouble).reshape({-1});
  const double a = flat.sum().item<double>(), b = (flat * arange(flat.numel(), kDouble).cos()).sum().item<double>();
  INFO("sums ", a, " ", b);
  CHECK(near(a, sum));
  CHECK(near(b, weighted));
  return true;
}
Tensor longs(std::vector<int64_t> values) { return tensor(values); }
void pull(const Tensor& out) { (out * wave(out.sizes(), 1.1)).sum().backward(); }
template <class Holder>
std::string text(const Holder& module) {
  std::ostringstream out;
  out << module;
  return out.str();
}

}  // namespace

TEST_CASE("rms_norm") {
  const Tensor x = wave({3, 4, 6}).requires_grad_(), w = wave({6}, 0.4).requires_grad_(), y = rms_norm(x, {6}, w);
  CHECK(sums_are(y, 0.8535015947, -2.0720830085));
  pull(y);
  CHECK(sums_are(x.grad(), -0.7910696820, -2.0984412534));
  CHECK(sums_are(w.grad(), -1.1607963818, 1.5154669119));
  CHECK(sums_are(rms_norm(x, {4, 6}, {}, 0.1), 0.0164988122, -3.4173221574));
  nn::RMSNorm layer(std::vector<int64_t>{6});
  CHECK(allclose(layer(x.to(kFloat)), rms_norm(x, {6}).to(kFloat), 1e-5, 1e-6));
  CHECK(text(layer) == "tandem::nn::RMSNorm([6], eps=None, elementwise_affine=true)");
  CHECK(nn::RMSNorm(nn::RMSNormOptions({6}).elementwise_affine(false))->parameters().empty());
  CHECK_THROWS_AS(rms_norm(x, {4}), Error);
}

TEST_CASE("embedding_bag") {
  const Tensor table = wave({7, 3}), at = longs({1, 2, 4, 5, 4, 3, 2, 6}), starts = longs({0, 4, 4, 7});
  const auto bag = [&](nn::EmbeddingBagMode mode, optional<int64_t> padding, double a, double b, double c, double d) {
    const Tensor w = table.clone().requires_grad_();
    const Tensor out =
        F::embedding_bag(at, w, F::EmbeddingBagFuncOptions().offsets(starts).mode(mode).padding_idx(padding));
    CHECK(sums_are(out, a, b));
    pull(out);
    CHECK(sums_are(w.grad(), c, d));
  };
  bag(kSum, nullopt, -1.6299811775, -0.5131416242, 10.5455218615, -0.3417336411);
  bag(kSum, 4, -3.2444174599, -2.8071114225, 6.9611913073, -2.5005938869);
  bag(kMean, nullopt, 0.8615124837, -0.5696331950, 1.6771569893, -1.1004812677);
  bag(kMean, -3, -0.0894934249, -1.5140849394, 1.6771569893, -1.8416357557);
  bag(kMax, nullopt, 5.0409681949, 1.7741994411, 1.6771569893, -2.3911584952);
  bag(kMax, 4, 4.2031831873, 0.9697831702, 1.6771569893, -2.9379086722);

  const Tensor w = table.clone().requires_grad_(), share = wave({8}, 0.3).requires_grad_();
  const Tensor out = F::embedding_bag(at, w,
                                      F::EmbeddingBagFuncOptions()
                                          .offsets(longs({0, 4, 8}))
                                          .mode(kSum)
                                          .per_sample_weights(share)
                                          .include_last_offset(true));
  CHECK(sums_are(out, -0.7670044752, -0.6906906332));
  pull(out);
  CHECK(sums_are(share.grad(), -4.0838739476, 0.8175223499));
  CHECK(sums_are(w.grad(), -4.0424958451, -2.1388581547));

  const Tensor small = table.clone(), counted = table.clone().requires_grad_();
  F::embedding_bag(at.view({2, 4}), small, F::EmbeddingBagFuncOptions().max_norm(0.9));
  CHECK(sums_are(small, 2.6057529262, 0.3253801988));
  pull(F::embedding_bag(at.view({2, 4}), counted, F::EmbeddingBagFuncOptions().scale_grad_by_freq(true)));
  CHECK(sums_are(counted.grad(), -0.0863882473, -0.5039772813));
  CHECK_THROWS_AS(F::embedding_bag(at, table), Error);
  CHECK_THROWS_AS(F::embedding_bag(at, table, F::EmbeddingBagFuncOptions().offsets(longs({1, 2}))), Error);
  CHECK_THROWS_AS(F::embedding_bag(at, table, F::EmbeddingBagFuncOptions().offsets(starts).per_sample_weights(share)),
                  Error);
  CHECK(F::embedding_bag(longs({}).to(kLong), table, F::EmbeddingBagFuncOptions().offsets(longs({0, 0})))
            .abs()
            .sum()
            .item<double>() == 0);
}

TEST_CASE("EmbeddingBag and Embedding from pretrained weights") {
  nn::EmbeddingBag layer(nn::EmbeddingBagOptions(10, 3).mode(kSum).padding_idx(2));
  CHECK(text(layer) == "tandem::nn::EmbeddingBag(num_embeddings=10, embedding_dim=3, mode=kSum, padding_idx=2)");
  CHECK(layer->weight[2].abs().sum().item<double>() == 0);
  const Tensor at = longs({1, 2, 3, 4});
  CHECK(allclose(layer(at.view({2, 2}))[0], layer->weight[1]));
  CHECK(allclose(layer(at, longs({0, 3}))[1], layer->weight[4]));
  const auto frozen = nn::EmbeddingBag::from_pretrained(wave({5, 2}));
  CHECK_FALSE(frozen->weight.requires_grad());
  CHECK(equal(frozen->weight.detach(), wave({5, 2})));
  nn::Embedding single =
      nn::Embedding::from_pretrained(wave({5, 2}), nn::EmbeddingFromPretrainedOptions().freeze(false).max_norm(0.5));
  CHECK(single->weight.requires_grad());
  CHECK(single(longs({1, 4})).norm(2, IntArrayRef(1)).max().item<double>() < 0.5 + 1e-6);
  CHECK_THROWS_AS(nn::EmbeddingBag(nn::EmbeddingBagOptions(3, 2).padding_idx(3)), Error);
}

TEST_CASE("alpha_dropout keeps mean and variance") {
  manual_seed(3);
  const Tensor x = randn({400, 500});
  for (const double p : {0.1, 0.5}) {
    const Tensor y = alpha_dropout(x, p, true);
    CHECK(std::abs(y.mean().item<double>()) < 0.02);
    CHECK(std::abs(y.var().item<double>() - 1) < 0.03);
    const Tensor z = feature_alpha_dropout(x.view({400, 100, 5}), p, true);
    CHECK(std::abs(z.var().item<double>() - 1) < 0.05);
    // A dropped channel is constant.
    const double constant = ((z - z.narrow(2, 0, 1)).abs().amax(IntArrayRef(2)) == 0).to(kDouble).mean().item<double>();
    CHECK(std::abs(constant - p) < 0.02);
  }
  CHECK(alpha_dropout(x, 0.5, false).is_same(x));
  CHECK(alpha_dropout(x, 1, true).abs().sum().item<double>() == 0);
  nn::AlphaDropout layer(0.5);
  nn::FeatureAlphaDropout channels(nn::FeatureAlphaDropoutOptions(0.5).inplace(true));
  CHECK(text(layer) == "tandem::nn::AlphaDropout(p=0.5, inplace=false)");
  CHECK(text(channels) == "tandem::nn::FeatureAlphaDropout(p=0.5, inplace=true)");
  const Tensor y = x.clone();
  CHECK(channels(y).is_same(y));
  CHECK_FALSE(equal(x, y));
  CHECK(F::alpha_dropout(x).is_same(x));
  layer->eval();
  CHECK(equal(layer(x), x));
  CHECK_THROWS_AS(nn::AlphaDropout(1.5), Error);
}

TEST_CASE("rrelu") {
  const Tensor x = wave({1000}).requires_grad_();
  CHECK(allclose(rrelu(x), leaky_relu(x, (0.125 + 1.0 / 3) / 2)));
  const Tensor y = rrelu(x, 0.2, 0.4, true), slope = (y / x).detach();
  CHECK(equal(slope > 0.99, x > 0));
  const Tensor negative = slope.masked_select(x < 0);
  CHECK(negative.min().item<double>() >= 0.2);
  CHECK(negative.max().item<double>() <= 0.4);
  CHECK(negative.std().item<double>() > 0.04);
  y.sum().backward();
  CHECK(allclose(x.grad().narrow(0, 1, 999), slope.narrow(0, 1, 999)));
  nn::RReLU layer(nn::RReLUOptions().lower(0.1).upper(0.3).inplace(true));
  CHECK(text(layer) == "tandem::nn::RReLU(lower=0.1, upper=0.3, inplace=true)");
  layer->eval();
  const Tensor z = x.detach().clone();
  CHECK(layer(z).is_same(z));
  CHECK(allclose(z, leaky_relu(x, 0.2).detach()));
  CHECK_THROWS_AS(rrelu(x, 0.5, 0.1), Error);
}

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
  CHECK_THROWS_AS(ctc_loss(x, t, {5, 5}, {2, 3}), Error);
  CHECK_THROWS_AS(ctc_loss(x, t, {5, 5}, {2, 2}, 4), Error);
  CHECK_THROWS_AS(ctc_loss(x, t + 1, {5, 5}, {2, 2}), Error);
  AutoGradMode enabled(true);
  const Tensor grad = autograd::grad({loss(x)}, {x}, {}, true, true)[0];
  CHECK_THROWS_AS(grad.sum().backward(), Error);
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
