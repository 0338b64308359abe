// Attention and transformers: values and gradients of PyTorch 2.15, blocks against the composition, masks, errors. The
// inputs are sines; two sums stand for a tensor.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tandem/core/threads/parallel_for.h"
#include "tandem/tandem.h"
#include "tandem/tests/nn/layers/layer_testing.h"

using namespace tandem;
using testing::sums_are;
using testing::wave;
namespace F = tandem::nn::functional;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

template <class Module>
void fill(Module& module) {
  NoGradGuard no_grad;
  module->to(kDouble);
  double step = 0.3;
  for (Tensor& p : module->parameters()) {
    p.copy_(wave(p.sizes(), step) * 0.5);
    step += 0.1;
  }
}
Tensor causal(int64_t n) { return nn::TransformerImpl::generate_square_subsequent_mask(n).to(kDouble); }

struct Gradients {
  Tensor out, q, k, v;
};
// A mask that requires a gradient takes the composition.
Gradients attend(const Tensor& q, const Tensor& k, const Tensor& v, Tensor mask, bool is_causal, bool composed,
                 double dropout_p = 0) {
  const Tensor a = q.detach().requires_grad_(), b = k.detach().requires_grad_(), c = v.detach().requires_grad_();
  if (composed) {
    if (!mask.defined())
      mask = is_causal
                 ? where(ones({q.size(-2), k.size(-2)}, kBool).tril(), zeros({}, kDouble), full({}, -kInf, kDouble))
                 : zeros({q.size(-2), k.size(-2)}, kDouble);
    else if (mask.dtype() == kBool)
      mask = where(mask, zeros({}, kDouble), full({}, -kInf, kDouble));
    mask = mask.detach().requires_grad_();
    is_causal = false;
  }
  manual_seed(5);
  const bool shared = q.dim() > 2 && q.size(-3) != k.size(-3);
  const Tensor out = scaled_dot_product_attention(a, b, c, mask, dropout_p, is_causal, nullopt, shared);
  (out * wave(out.sizes(), 1.1)).sum().backward();
  return {out.detach(), a.grad(), b.grad(), c.grad()};
}
bool agree(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask = {}, bool is_causal = false,
           double dropout_p = 0) {
  const Gradients x = attend(q, k, v, mask, is_causal, false, dropout_p),
                  y = attend(q, k, v, mask, is_causal, true, dropout_p);
  return allclose(x.out, y.out, 1e-10, 1e-12) && allclose(x.q, y.q, 1e-9, 1e-12) && allclose(x.k, y.k, 1e-9, 1e-12) &&
         allclose(x.v, y.v, 1e-9, 1e-12);
}

}  // namespace

TEST_CASE("scaled_dot_product_attention by blocks agrees with the composition") {
  // More queries and keys than a block, and few or many heads: both splits of backward.
  for (const int64_t heads : {1, 9}) {
    const Tensor q = wave({1, heads, 150, 5}), k = wave({1, heads, 300, 5}, 0.3), v = wave({1, heads, 300, 4}, 0.9);
    CHECK(agree(q, k, v));
    CHECK(agree(q, k, v, {}, true));
    CHECK(agree(k, q, wave({1, heads, 150, 4}), {}, true));
    CHECK(agree(q, k, v, wave({150, 300}, 0.2)));
    CHECK(agree(q, k, v, wave({1, 1, 1, 300}, 0.2) > -0.5));
    CHECK(agree(q, k, v, where(arange(150).view({150, 1}) < 2, -1e9, 0.0).to(kDouble).expand({150, 300})));
    CHECK(agree(q, k, v, arange(300) < 40));  // a block of keys is hidden
    CHECK(agree(q, k, v, arange(300) >= 270));
    CHECK(agree(q, k, v, {}, true, 0.3));  // the same elements are dropped
  }
  // Heads that share keys, which few or many tasks sum.
  for (const int64_t groups : {2, 8}) {
    const Tensor q = wave({1, 3 * groups, 140, 4}), k = wave({1, groups, 270, 4}, 0.3);
    CHECK(agree(q, k, k));
    CHECK(agree(q, k, k, {}, true, 0.5));
    CHECK(agree(q[0], k[0], k[0], wave({140, 270}, 0.2) > 0));
  }
  const Tensor q = wave({2, 7, 3, 4}).permute({0, 2, 1, 3}), k = wave({4, 6, 3, 2}).permute({3, 2, 1, 0});
  CHECK(agree(q, k, k));  // strides of any order
  CHECK(agree(wave({3, 5, 4}), wave({3, 6, 4}, 0.2), wave({3, 6, 2})));
  CHECK(agree(wave({3, 5, 4}), wave({3, 6, 4}, 0.2), wave({3, 6, 2}), wave({3, 1, 6}, 2) > 0));
  CHECK(agree(wave({5, 4}), wave({6, 4}, 0.2), wave({6, 2})));
}

TEST_CASE("scaled_dot_product_attention: hidden rows, scale, shared heads, dropout, precision") {
  Tensor visible = ones({3, 4}, kBool);
  visible[1].fill_(false);
  const Tensor q = wave({2, 2, 3, 4}), k = wave({2, 2, 4, 4}, 0.2), v = wave({2, 2, 4, 4}, 0.4);
  const Gradients g = attend(q, k, v, visible, false, false);
  CHECK(g.out.select(2, 1).abs().max().item<double>() == 0);
  CHECK(g.q.select(2, 1).abs().max().item<double>() == 0);
  CHECK(agree(q, k, v, visible));
  CHECK(allclose(scaled_dot_product_attention(q, k, v, {}, 0, false, 2.0),
                 softmax(matmul(q * 2, k.transpose(2, 3)), -1).matmul(v)));
  const Tensor one = k.narrow(1, 0, 1), shared = v.narrow(1, 0, 1);
  CHECK(allclose(scaled_dot_product_attention(q, one, shared, {}, 0, false, nullopt, true),
                 scaled_dot_product_attention(q, one.repeat({1, 2, 1, 1}), shared.repeat({1, 2, 1, 1}))));
  CHECK(scaled_dot_product_attention(q, k, v, {}, 1.0).abs().max().item<double>() == 0);
  CHECK(allclose(scaled_dot_product_attention(q.to(kFloat), k.to(kFloat), v.to(kFloat)).to(kDouble),
                 scaled_dot_product_attention(q, k, v), 1e-5, 1e-6));
  CHECK(scaled_dot_product_attention(q.narrow(2, 0, 0), k, v).sizes() == IntArrayRef({2, 2, 0, 4}));
  CHECK_THROWS_AS(scaled_dot_product_attention(q, k, v, visible, 0, true), Error);
  CHECK_THROWS_AS(scaled_dot_product_attention(q, k, v, visible.to(kLong)), Error);
  CHECK_THROWS_AS(scaled_dot_product_attention(q, wave({2, 2, 4, 3}), v), Error);
  CHECK_THROWS_AS(scaled_dot_product_attention(q, k, v.to(kFloat)), Error);
}

TEST_CASE("scaled_dot_product_attention: what a mask hides in whole blocks is not read") {
  const Tensor q = wave({2, 1, 4, 4}), k = wave({2, 1, 600, 4}, 0.3), broken = k.clone();
  broken.narrow(2, 256, 344).fill_(std::nan(""));
  for (const Tensor& mask : {arange(600) < 200, where(arange(600) < 200, 0.0, -kInf).to(kDouble)}) {
    const Gradients x = attend(q, k, k, mask, false, false), y = attend(q, broken, broken, mask, false, false);
    for (const auto& [a, b] : {std::pair(x.out, y.out), {x.q, y.q}, {x.k, y.k}, {x.v, y.v}}) CHECK(equal(a, b));
  }
}

TEST_CASE("causal_attention of queries behind others") {
  const Tensor q = wave({2, 2, 5, 4}), k = wave({2, 2, 9, 4}, 0.3), v = wave({2, 2, 9, 4}, 0.9);
  const Tensor visible = ones({5, 9}, kBool).tril(4), padding = arange(9) >= tensor({3, 0}).view({2, 1, 1, 1});
  CHECK(allclose(autograd::causal_attention(q, k, v, 4), scaled_dot_product_attention(q, k, v, visible)));
  CHECK(allclose(autograd::causal_attention(q, k, v, 4, padding),
                 scaled_dot_product_attention(q, k, v, visible.logical_and(padding))));
  CHECK(allclose(autograd::causal_attention(q, k, v, 0), scaled_dot_product_attention(q, k, v, {}, 0, true)));
  CHECK(equal(autograd::causal_attention(q, k, v, 8), scaled_dot_product_attention(q, k, v)));
  const Tensor added = wave({5, 9}, 0.5).requires_grad_();
  autograd::causal_attention(q, k, v, 4, added).sum().backward();
  CHECK(added.grad().abs().sum().item<double>() > 0);
  CHECK(added.grad()[0][5].item<double>() == 0);
}

TEST_CASE("scaled_dot_product_attention draws PyTorch's numbers for dropout in that mode") {
  const Tensor q = wave({2, 2, 5, 4}), k = wave({2, 2, 6, 4}, 0.3);
  set_generator_mode(GeneratorMode::kPyTorch);
  manual_seed(9);
  const Tensor out = scaled_dot_product_attention(q, k, k, {}, 0.4);
  manual_seed(9);
  const Tensor weights = dropout(softmax(matmul(q / 2, k.transpose(2, 3)), -1), 0.4, true);
  set_generator_mode(GeneratorMode::kPhilox);
  CHECK(allclose(out, matmul(weights, k)));
}

TEST_CASE("scaled_dot_product_attention: gradients of second order") {
  for (const int64_t groups : {2, 1}) {  // one: shared by both heads
    const Tensor q = wave({1, 2, 3, 2}).requires_grad_(), k = wave({1, groups, 4, 2}, 0.2).requires_grad_(),
                 v = wave({1, groups, 4, 3}, 0.4).requires_grad_();
    const auto second = [&](const Tensor& out) {
      const Tensor first = autograd::grad({(out * out).sum()}, {q}, {}, true, true)[0];
      return autograd::grad({(first * first).sum()}, {q, k, v});
    };
    for (const double p : {0.0, 0.5}) {
      manual_seed(3);
      const auto blocks = second(scaled_dot_product_attention(q, k, v, {}, p, false, nullopt, true));
      manual_seed(3);
      const Tensor weights = softmax(matmul(q, k.transpose(2, 3)) / std::sqrt(2.0), -1);
      const auto composed = second(dropout(weights, p, true).matmul(v));
      for (std::size_t i = 0; i < 3; ++i) CHECK(allclose(blocks[i], composed[i], 1e-9, 1e-12));
    }
  }
}

TEST_CASE("attention does not depend on the number of threads") {
  const int before = get_num_threads();
  const Tensor q = wave({1, 2, 300, 8}), k = wave({1, 2, 600, 8}, 0.3), many = wave({4, 4, 200, 8});
  const auto run = [&](int threads) {
    set_num_threads(threads);
    const Gradients a = attend(q, k, k, {}, false, false), b = attend(many, many, many, {}, true, false, 0.2);
    const Tensor x = wave({70, 33}).requires_grad_(), w = wave({33}).requires_grad_();
    layer_norm(x, {33}, w).pow(2).sum().backward();
    return std::vector<Tensor>{a.out, a.q, a.k, a.v, b.out, b.q, b.k, b.v, x.grad(), w.grad()};
  };
  const auto one = run(1), four = run(4);
  set_num_threads(before);
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(equal(one[i], four[i]));
}

TEST_CASE("MultiheadAttention") {
  nn::MultiheadAttention m(8, 2);
  fill(m);
  const Tensor x = wave({3, 2, 8}).requires_grad_();
  auto [out, weights] = m(x, x, x);
  CHECK(sums_are(out, 6.2694402508, 0.0259389118));
  CHECK(sums_are(weights, 6.0, -0.0098857266));
  (out * wave(out.sizes(), 1.1)).sum().backward();
  CHECK(sums_are(x.grad(), -0.1031563011, -0.3187987198));
  CHECK(sums_are(m->in_proj_weight.grad(), -0.0412011373, -0.8969235267));
  const Tensor fast = std::get<0>(m(x, x, x, Tensor(), false));
  CHECK(allclose(fast, out));
  CHECK(allclose(std::get<0>(m(x, x.clone(), x.clone())), out));
  CHECK_FALSE(std::get<1>(m(x, x, x, Tensor(), false)).defined());

  const Tensor padding = tensor({0, 0, 1, 0, 0, 0}).view({2, 3}).to(kBool), hidden = causal(3) != 0;
  for (const Tensor& mask : {hidden, causal(3), hidden.unsqueeze(0).repeat({4, 1, 1})}) {
    auto [masked, each] = m(x, x, x, padding, true, mask, false);
    CHECK(sums_are(masked, 5.9206094842, 0.0279026321));
    CHECK(sums_are(each, 12.0, 0.3237031559));
    CHECK(allclose(std::get<0>(m(x, x, x, padding, false, mask)), masked));
  }
  // The second sequence has no visible key: NaN with and without weights, and the other sequence unchanged.
  const Tensor all_hidden = tensor({0, 0, 1, 1, 1, 1}).view({2, 3}).to(kBool);
  const Tensor with = std::get<0>(m(x, x, x, all_hidden)), without = std::get<0>(m(x, x, x, all_hidden, false));
  CHECK(without.select(1, 1).isnan().all().item<bool>());
  CHECK(allclose(without, with, 1e-10, 1e-12, true));
  {
    NoGradGuard no_grad;
    CHECK_FALSE(std::get<0>(m(x, x, x, all_hidden, false)).requires_grad());
  }
  // Without keys the attention is 0, whatever the mask, so the output is out_proj's bias.
  const Tensor none = x.narrow(0, 0, 0);
  for (const Tensor& mask : {Tensor(), zeros({3, 0}, kBool), zeros({3, 0}, kDouble)})
    for (const bool weights : {false, true})
      CHECK(std::get<0>(m(x, none, none, Tensor(), weights, mask)).equal(m->out_proj->bias.expand({3, 2, 8})));
  const Tensor stored = wave({4, 3, 4});
  auto o = F::MultiheadAttentionForwardFuncOptions(8, 2, m->in_proj_weight, m->in_proj_bias, ones({1, 1, 8}, kDouble),
                                                   ones({1, 1, 8}, kDouble), false, 0, m->out_proj->weight,
                                                   m->out_proj->bias);
  CHECK_THROWS_WITH_AS(F::multi_head_attention_forward(x, x, x, o.static_k(stored)),
                       doctest::Contains("bias cannot be added to static key"), Error);
  CHECK_THROWS_WITH_AS(F::multi_head_attention_forward(x, x, x, o.static_k(Tensor()).static_v(stored)),
                       doctest::Contains("bias cannot be added to static value"), Error);
  CHECK_THROWS_AS(m(x, x, x, padding.t()), Error);
  CHECK_THROWS_AS(m(x.narrow(2, 0, 4), x, x), Error);
  CHECK_THROWS_AS(nn::MultiheadAttention(8, 3), Error);
}

TEST_CASE("MultiheadAttention: separate projections, appended keys, any module, clone") {
  nn::MultiheadAttention m(nn::MultiheadAttentionOptions(8, 2).kdim(6).vdim(4).add_bias_kv(true).add_zero_attn(true));
  std::vector<std::string> names;
  for (const auto& p : m->named_parameters()) names.push_back(p.key());
  CHECK(names == std::vector<std::string>{"q_proj_weight", "k_proj_weight", "v_proj_weight", "in_proj_bias", "bias_k",
                                          "bias_v", "out_proj.weight", "out_proj.bias"});
  fill(m);
  const Tensor q = wave({3, 2, 8}), k = wave({5, 2, 6}, 0.9), v = wave({5, 2, 4}, 1.3);
  auto [out, weights] = m(q, k, v);
  CHECK(sums_are(out, -0.6284090244, -4.4494642491));
  CHECK(sums_are(weights, 6.0, -0.4673010977));
  const auto copy = std::dynamic_pointer_cast<nn::MultiheadAttentionImpl>(m->clone());
  CHECK(equal(std::get<0>(copy->forward(q, k, v)), out));
  nn::AnyModule any(m);
  CHECK(equal(std::get<0>(any.forward<std::tuple<Tensor, Tensor>>(q, k, v)), out));
  const nn::MultiheadAttention fresh(nn::MultiheadAttentionOptions(8, 2).bias(false));
  CHECK_FALSE(fresh->in_proj_bias.defined());
  CHECK(fresh->parameters().size() == 2);
}

TEST_CASE("TransformerEncoder") {
  const auto check_encoder = [](nn::activation_t activation, double sum, double weighted, double grad, double grad_w) {
    nn::TransformerEncoder encoder(
        nn::TransformerEncoderLayer(
            nn::TransformerEncoderLayerOptions(8, 2).dim_feedforward(16).dropout(0).activation(std::move(activation))),
        2);
    fill(encoder);
    const Tensor x = wave({3, 2, 8}).requires_grad_(), out = encoder(x);
    CHECK(sums_are(out, sum, weighted));
    (out * wave(out.sizes(), 1.1)).sum().backward();
    CHECK(sums_are(x.grad(), grad, grad_w));
  };
  check_encoder(kReLU, 12.6521823362, -0.0231287935, -0.0167519230, -0.0982290493);
  check_encoder(kGELU, 12.5101418712, 0.0200544498, -0.0072721874, -0.0472828102);
  check_encoder([](const Tensor& t) { return gelu(t); }, 12.5101418712, 0.0200544498, -0.0072721874, -0.0472828102);
  CHECK_THROWS_AS(check_encoder(kTanh, 0, 0, 0, 0), Error);
}

TEST_CASE("Transformer: names, masks, custom parts") {
  nn::Transformer model(nn::TransformerOptions(8, 2, 1, 2).dim_feedforward(16).dropout(0));
  fill(model);
  CHECK(model->parameters().size() == 52);
  CHECK(model->named_parameters().contains("decoder.layers.1.multihead_attn.in_proj_weight"));
  CHECK(model->named_parameters().contains("encoder.norm.bias"));
  const Tensor src = wave({3, 2, 8}), tgt = wave({4, 2, 8}, 0.4), all = model(src, tgt, Tensor(), causal(4));
  CHECK(all.sizes() == IntArrayRef({4, 2, 8}));
  // With a causal mask the first two outputs do not see the rest.
  CHECK(allclose(model(src, tgt.narrow(0, 0, 2), Tensor(), causal(2)), all.narrow(0, 0, 2)));
  const auto copy = std::dynamic_pointer_cast<nn::TransformerImpl>(model->clone());
  CHECK(equal(copy->forward(src, tgt, {}, causal(4)), all));
  const auto refuses = [&](const Tensor& s, const Tensor& t, const char* words) {
    CHECK_THROWS_WITH_AS(model(s, t), doctest::Contains(words), Error);
  };
  refuses(src, tgt.narrow(1, 0, 1), "src and tgt should have equal batch size");
  refuses(src, tgt.narrow(2, 0, 4), "src and tgt should have same feature size as d_model");
  refuses(src[0], tgt, "src and tgt should have 3 dimensions");
  CHECK(equal(nn::TransformerImpl::generate_square_subsequent_mask(2),
              tensor({0.0, -kInf, 0.0, 0.0}).view({2, 2}).to(kFloat)));

  nn::TransformerEncoder own(
      nn::TransformerEncoderOptions(nn::TransformerEncoderLayerOptions(8, 2).dim_feedforward(4).dropout(0), 1));
  nn::Transformer with_own(nn::TransformerOptions(8, 2, 1, 1).dim_feedforward(16).custom_encoder(nn::AnyModule(own)));
  with_own->eval();
  CHECK(with_own->named_parameters()["encoder.layers.0.linear1.weight"].sizes() == IntArrayRef({4, 8}));
  CHECK(with_own(src.to(kFloat), tgt.to(kFloat)).sizes() == IntArrayRef({4, 2, 8}));
}
