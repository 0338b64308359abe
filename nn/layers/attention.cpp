// MultiheadAttention and its functional form.
#include "tandem/nn/layers/attention.h"

#include <cmath>
#include <limits>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/nn/attention.h"
#include "tandem/autograd/ops/nn/attention_mask.h"
#include "tandem/autograd/ops/nn/dropout.h"
#include "tandem/autograd/ops/nn/softmax.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/where.h"
#include "tandem/autograd/ops/view/cat.h"
#include "tandem/autograd/ops/view/repeat.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/nn/functional/attention.h"

namespace tandem::nn::functional {
namespace {

using Options = MultiheadAttentionForwardFuncOptions;
constexpr const char* kName = "multi_head_attention_forward";

struct Projected {
  Tensor q, k, v;
};

Tensor part(const Tensor& t, int64_t index, int64_t count, int64_t width) {
  return t.defined() ? t.narrow(0, index * width, count * width) : t;
}

// One product for as many of the three as have the same input.
Projected packed_projection(const Tensor& query, const Tensor& key, const Tensor& value, const Options& o) {
  const Tensor &w = o.in_proj_weight(), &b = o.in_proj_bias();
  const int64_t e = query.size(2);
  check(w.defined() && w.dim() == 2 && w.size(0) == 3 * e, kName, ": in_proj_weight must be [", 3 * e, ", ", e,
        "], got ", w);
  if (query.is_same(key) && key.is_same(value)) {
    const std::vector<Tensor> all = linear(query, w, b).chunk(3, -1);
    return {all[0], all[1], all[2]};
  }
  const Tensor q = linear(query, part(w, 0, 1, e), part(b, 0, 1, e));
  if (key.is_same(value)) {
    const std::vector<Tensor> both = linear(key, part(w, 1, 2, e), part(b, 1, 2, e)).chunk(2, -1);
    return {q, both[0], both[1]};
  }
  return {q, linear(key, part(w, 1, 1, e), part(b, 1, 1, e)), linear(value, part(w, 2, 1, e), part(b, 2, 1, e))};
}

Projected separate_projection(const Tensor& query, const Tensor& key, const Tensor& value, const Options& o) {
  const int64_t e = query.size(2);
  const auto project = [&](const char* name, const Tensor& x, const Tensor& w, int64_t index) {
    check(w.defined() && w.dim() == 2 && w.size(0) == e && w.size(1) == x.size(2), kName, ": ", name, " must be [", e,
          ", ", x.size(2), "], got ", w);
    return linear(x, w, part(o.in_proj_bias(), index, 1, e));
  };
  return {project("q_proj_weight", query, o.q_proj_weight(), 0), project("k_proj_weight", key, o.k_proj_weight(), 1),
          project("v_proj_weight", value, o.v_proj_weight(), 2)};
}

// [S, N, heads * D] as [N, heads, S, D].
Tensor heads_of(const Tensor& t, int64_t heads) {
  return t.unflatten(2, {heads, t.size(2) / heads}).permute({1, 2, 0, 3});
}

Tensor given_heads(const char* name, const Tensor& t, int64_t batch, int64_t heads, int64_t width) {
  check(t.dim() == 3 && t.size(0) == batch * heads && t.size(2) == width, kName, ": ", name, " must be [",
        batch * heads, ", S, ", width, "], got ", t);
  return t.unflatten(0, {batch, heads});
}

// Both masks, which broadcast to [N, heads, L, S + appended]: visible keys (bool) if neither has numbers, otherwise what
// is added to the scores. The appended keys are visible.
Tensor combined_mask(const Options& o, const Tensor& q, const Tensor& k, int64_t appended) {
  const int64_t batch = q.size(0), heads = q.size(1), queries = q.size(2), keys = k.size(2) - appended;
  const auto lengthened = [&](const Tensor& mask) {
    if (appended == 0) return mask;
    Dims sizes(mask.sizes());
    sizes.back() = appended;
    return cat({mask, full(sizes, mask.dtype() == kBool ? 1 : 0, mask.options())}, -1);
  };
  Tensor mask;
  if (const Tensor& given = o.attn_mask(); given.defined()) {
    const bool flat = given.dim() == 2, each = given.dim() == 3 && given.size(0) == batch * heads;
    check((flat || each) && given.size(-2) == queries && given.size(-1) == keys, kName, ": attn_mask must be [",
          queries, ", ", keys, "] or [", batch * heads, ", ", queries, ", ", keys, "], got ", given);
    mask = lengthened(given.dtype() == kBool ? given.logical_not() : given.to(q.dtype()));
    if (each) mask = mask.unflatten(0, {batch, heads});
  }
  if (const Tensor& given = o.key_padding_mask(); given.defined()) {
    check(given.dim() == 2 && given.size(0) == batch && given.size(1) == keys, kName, ": key_padding_mask must be [",
          batch, ", ", keys, "], got ", given);
    const Tensor visible = lengthened(given.dtype() == kBool ? given.logical_not() : given == 0);
    const Tensor padding = visible.unsqueeze(1).unsqueeze(2);
    if (!mask.defined()) return padding;
    mask = mask.dtype() == kBool ? mask.logical_and(padding) : mask + autograd::additive_mask(padding, q);
  }
  return mask;
}

// The attention and its weights before dropout's effect on them is averaged, as in LibTorch.
std::tuple<Tensor, Tensor> weighted(const Projected& p, const Tensor& mask, const Options& o) {
  const double scale = 1 / std::sqrt(static_cast<double>(p.q.size(3)));
  Tensor scores = matmul(p.q * scale, p.k.transpose(2, 3));
  if (mask.defined()) scores = scores + autograd::additive_mask(mask, p.q);
  const Tensor weights = tandem::dropout(softmax(scores, -1), o.dropout_p(), o.training());
  return {matmul(weights, p.v), weights};
}

// The attention alone. A query from which all keys are hidden gets NaN, as with weights and as in LibTorch, whereas
// scaled_dot_product_attention gives 0.
Tensor without_weights(const Projected& p, const Tensor& mask, const Options& o) {
  const Tensor out = scaled_dot_product_attention(p.q, p.k, p.v, mask, o.training() ? o.dropout_p() : 0);
  if (!mask.defined() || mask.size(-1) == 0) return out;
  if (mask.dtype() == kBool)
    return out.masked_fill(mask.any(-1, true).logical_not(), std::numeric_limits<double>::quiet_NaN());
  const Tensor best = mask.detach().amax(IntArrayRef(-1), true);
  return out + (best - best);  // adds 0, and NaN where best is -infinity
}

void check_inputs(const Tensor& query, const Tensor& key, const Tensor& value, const Options& o) {
  check(query.dim() == 3 && key.dim() == 3 && value.dim() == 3 && query.size(2) == o.embed_dim_to_check() &&
            key.size(0) == value.size(0) && key.size(1) == value.size(1) && key.size(1) == query.size(1),
        kName, ": expected query [L, N, ", o.embed_dim_to_check(), "], key [S, N, K] and value [S, N, V]\n  query ",
        query, "\n  key   ", key, "\n  value ", value);
  check(o.num_heads() > 0 && query.size(2) % o.num_heads() == 0, kName, ": num_heads = ", o.num_heads(),
        " must be positive and divide embed_dim = ", query.size(2));
  check(o.bias_k().defined() == o.bias_v().defined(), kName, ": pass both of bias_k and bias_v, or neither");
  check(!o.bias_k().defined() || !o.static_k().defined(), "bias cannot be added to static key: ", kName,
        " got both bias_k and static_k");
  check(!o.bias_v().defined() || !o.static_v().defined(), "bias cannot be added to static value: ", kName,
        " got both bias_v and static_v");
}

Tensor with_zero(const Tensor& t) { return cat({t, zeros({t.size(0), t.size(1), 1, t.size(3)}, t.options())}, 2); }

}  // namespace

std::tuple<Tensor, Tensor> multi_head_attention_forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                                        const MultiheadAttentionForwardFuncOptions& o) {
  check_inputs(query, key, value, o);
  const int64_t queries = query.size(0), batch = query.size(1), e = query.size(2), heads = o.num_heads();
  Projected p = o.use_separate_proj_weight() ? separate_projection(query, key, value, o)
                                             : packed_projection(query, key, value, o);
  int64_t appended = 0;
  if (o.bias_k().defined()) {
    p.k = cat({p.k, o.bias_k().expand({1, batch, e})});
    p.v = cat({p.v, o.bias_v().expand({1, batch, e})});
    ++appended;
  }
  p.q = heads_of(p.q, heads);
  p.k = o.static_k().defined() ? given_heads("static_k", o.static_k(), batch, heads, e / heads) : heads_of(p.k, heads);
  p.v = o.static_v().defined() ? given_heads("static_v", o.static_v(), batch, heads, e / heads) : heads_of(p.v, heads);
  if (o.add_zero_attn()) {
    p.k = with_zero(p.k);
    p.v = with_zero(p.v);
    ++appended;
  }
  const Tensor mask = combined_mask(o, p.q, p.k, appended);
  Tensor out, weights;
  if (o.need_weights())
    std::tie(out, weights) = weighted(p, mask, o);
  else
    out = without_weights(p, mask, o);
  out = linear(out.permute({2, 0, 1, 3}).reshape({queries, batch, e}), o.out_proj_weight(), o.out_proj_bias());
  if (o.need_weights() && o.average_attn_weights()) weights = weights.mean(IntArrayRef(1));
  return {out, weights};
}

}  // namespace tandem::nn::functional

namespace tandem::nn {

MultiheadAttentionImpl::MultiheadAttentionImpl(const MultiheadAttentionOptions& options)
    : Cloneable("tandem::nn::MultiheadAttention"), options(options) {
  MultiheadAttentionImpl::reset();
}

void MultiheadAttentionImpl::reset() {
  const int64_t e = options.embed_dim(), heads = options.num_heads();
  check(heads > 0 && e % heads == 0, "MultiheadAttention: num_heads = ", heads,
        " must be positive and divide embed_dim = ", e);
  head_dim = e / heads;
  _qkv_same_embed_dim = options.kdim() == e && options.vdim() == e;
  const auto parameter = [&](const char* name, bool present, IntArrayRef sizes) {
    return present ? register_parameter(name, empty(sizes)) : register_parameter(name, {}, false);
  };
  if (!_qkv_same_embed_dim) {
    q_proj_weight = parameter("q_proj_weight", true, {e, e});
    k_proj_weight = parameter("k_proj_weight", true, {e, options.kdim()});
    v_proj_weight = parameter("v_proj_weight", true, {e, options.vdim()});
    in_proj_weight = parameter("in_proj_weight", false, {});
  } else {
    in_proj_weight = parameter("in_proj_weight", true, {3 * e, e});
    q_proj_weight = parameter("q_proj_weight", false, {});
    k_proj_weight = parameter("k_proj_weight", false, {});
    v_proj_weight = parameter("v_proj_weight", false, {});
  }
  in_proj_bias = parameter("in_proj_bias", options.bias(), {3 * e});
  out_proj = register_module("out_proj", Linear(LinearOptions(e, e).bias(options.bias())));
  bias_k = options.add_bias_kv() ? parameter("bias_k", true, {1, 1, e}) : Tensor();
  bias_v = options.add_bias_kv() ? parameter("bias_v", true, {1, 1, e}) : Tensor();
  _reset_parameters();
}

void MultiheadAttentionImpl::_reset_parameters() {
  if (_qkv_same_embed_dim) {
    init::xavier_uniform_(in_proj_weight);
  } else {
    init::xavier_uniform_(q_proj_weight);
    init::xavier_uniform_(k_proj_weight);
    init::xavier_uniform_(v_proj_weight);
  }
  if (in_proj_bias.defined()) {
    init::constant_(in_proj_bias, 0.0);
    init::constant_(out_proj->bias, 0.0);
  }
  if (bias_k.defined()) init::xavier_normal_(bias_k);
  if (bias_v.defined()) init::xavier_normal_(bias_v);
}

std::tuple<Tensor, Tensor> MultiheadAttentionImpl::forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                                           const Tensor& key_padding_mask, bool need_weights,
                                                           const Tensor& attn_mask, bool average_attn_weights) {
  functional::MultiheadAttentionForwardFuncOptions o(options.embed_dim(), options.num_heads(), in_proj_weight,
                                                     in_proj_bias, bias_k, bias_v, options.add_zero_attn(),
                                                     options.dropout(), out_proj->weight, out_proj->bias);
  o.training(is_training())
      .key_padding_mask(key_padding_mask)
      .need_weights(need_weights)
      .attn_mask(attn_mask)
      .average_attn_weights(average_attn_weights);
  if (!_qkv_same_embed_dim)
    o.use_separate_proj_weight(true)
        .q_proj_weight(q_proj_weight)
        .k_proj_weight(k_proj_weight)
        .v_proj_weight(v_proj_weight);
  return functional::multi_head_attention_forward(query, key, value, o);
}

}  // namespace tandem::nn
