// EmbeddingBag, and embeddings from given weights: values and gradients of PyTorch 2.15, errors.
#include "layer_testing.h"

using namespace tandem;
using namespace tandem::testing;
namespace F = tandem::nn::functional;

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
