// Attention, rotary embeddings and gated activations.
#include <cmath>

#include "tandem/autograd/ops/detail/half.h"
#include "tandem/autograd/ops/nn/attention_mask.h"
#include "tandem/onnx/operators/attention.h"

namespace tandem::onnx {

Tensor split_heads(const Tensor& t, int64_t heads) {
  check(t.dim() == 3 && heads > 0 && t.size(2) % heads == 0, "cannot split ", t, " into ", heads, " heads");
  return t.reshape({t.size(0), t.size(1), heads, t.size(2) / heads}).transpose(1, 2);
}
Tensor join_heads(const Tensor& t) {
  const Tensor rows = t.transpose(1, 2);
  return rows.reshape({rows.size(0), rows.size(1), rows.size(2) * rows.size(3)});
}
void check_heads(const Tensor& q, const Tensor& k, const Tensor& v) {
  check(q.dim() == 4 && k.dim() == 4 && v.dim() == 4 && q.size(0) == k.size(0) && q.size(0) == v.size(0) &&
            k.size(1) > 0 && k.size(1) == v.size(1) && q.size(1) % k.size(1) == 0 && q.size(3) == k.size(3) &&
            k.size(2) == v.size(2),
        "query, key and value do not fit\n  query ", q, "\n  key   ", k, "\n  value ", v);
}
// J. Su et al.: RoFormer, 2021.
Tensor rotate(const Tensor& x, int64_t size, const Tensor& cosines, const Tensor& sines, const Tensor& positions,
              bool interleaved) {
  check(size > 0 && size % 2 == 0 && size <= x.size(3), "cannot rotate ", size, " of the elements of ", x);
  const auto cached = [&](Tensor cache) {
    if (positions.defined()) {
      check(cache.dim() == 2 && positions.dim() == 2, "expected a cache and position_ids of two dimensions, got ",
            cache, " and ", positions);
      cache =
          cache.index_select(0, positions.reshape({-1})).view({positions.size(0), positions.size(1), cache.size(1)});
    }
    check(cache.dim() == 3 && cache.size(2) == size / 2, "a cache must have ", size / 2, " columns, got ", cache);
    return cache.unsqueeze(1);
  };
  const Tensor cosine = cached(cosines), sine = cached(sines), turned = x.narrow(3, 0, size);
  const Tensor a = interleaved ? turned.slice(3, 0, nullopt, 2) : turned.narrow(3, 0, size / 2);
  const Tensor b = interleaved ? turned.slice(3, 1, nullopt, 2) : turned.narrow(3, size / 2, size / 2);
  const Tensor real = cosine * a - sine * b, imaginary = sine * a + cosine * b;
  const Tensor y = interleaved ? stack({real, imaginary}, -1).flatten(3) : cat({real, imaginary}, 3);
  check(y.sizes() == turned.sizes(), "the caches do not fit the input ", x);
  return size < x.size(3) ? cat({y, x.narrow(3, size, x.size(3) - size)}, 3) : y;
}

namespace {

using autograd::widened;

ScalarType precision_of(const Call& c, ScalarType otherwise) {
  static constexpr std::pair<int64_t, ScalarType> kTypes[] = {{1, kFloat}, {10, kHalf}, {11, kDouble}, {16, kBFloat16}};
  const int64_t number = c.integer("softmax_precision", -1);
  for (const auto& [of, type] : kTypes)
    if (number == of) return type;
  check(number == -1, "softmax_precision is no floating point type: ", number);
  return otherwise;
}
double scale_of(const Call& c, const Tensor& query) {
  return c.has("scale") ? c.number("scale") : 1 / std::sqrt(static_cast<double>(query.size(-1)));
}
Tensor shared_heads(const Tensor& t, const Tensor& query) {
  return t.size(1) == query.size(1) ? t : t.repeat_interleave(query.size(1) / t.size(1), 1);
}

// Whether query i may see key j, as far as positions decide it; undefined if it may see all. The queries are at the
// positions that follow `past` keys, or, with a list of the numbers of valid keys, at the last of those.
Tensor visible(const Call& c, const Tensor& q, const Tensor& k, int64_t past) {
  const int64_t left = c.integer("left_window_size", -1), right = c.integer("right_window_size", -1);
  const int64_t queries = q.size(2), keys = k.size(2);
  check(left >= -1 && right >= -1, "window sizes must be at least -1, got ", left, " and ", right);
  const TensorOptions options = TensorOptions(kLong).device(q.device());
  const Tensor j = arange(keys, options);
  Tensor out, offset;
  const auto restrict = [&](const Tensor& allowed) { out = out.defined() ? out.logical_and(allowed) : allowed; };
  if (c.has(6)) {
    check(c[6].dim() == 1 && c[6].size(0) == q.size(0), "nonpad_kv_seqlen must be [", q.size(0), "], got ", c[6]);
    const Tensor valid = c[6].to(kLong).view({-1, 1, 1, 1});
    restrict(j < valid);
    offset = valid - queries;
  }
  const bool causal = c.flag("is_causal") && (offset.defined() || past < keys - 1);  // else all keys precede a query
  if (!causal && left < 0 && right < 0) return out;
  Tensor ahead = j - arange(queries, options).unsqueeze(1);  // of the query, without the offset
  ahead = offset.defined() ? ahead - offset : ahead - past;
  if (causal) restrict(ahead <= 0);
  if (left >= 0) restrict(ahead >= -left);
  if (right >= 0) restrict(ahead <= right);
  return out;
}

/// attn_mask, or undefined: bool, or of the query's dtype, with all keys in its last dimension.
Tensor given_mask(const Call& c, const Tensor& q, const Tensor& k) {
  if (!c.has(3)) return {};
  Tensor mask = c[3].dtype() == kBool ? c[3] : c[3].to(q.scalar_type());
  check(mask.dim() >= 1 && mask.dim() <= 4 && mask.size(-1) <= k.size(2), "attn_mask does not fit ", k.size(2),
        " keys: ", mask);
  const int64_t missing = k.size(2) - mask.size(-1);
  if (missing > 0) mask = constant_pad_nd(mask, {0, missing}, mask.dtype() == kBool ? Scalar(false) : -INFINITY);
  return mask.dim() == 1 ? mask.unsqueeze(0) : mask;
}

Results attention(Call& c) {
  const bool rows = c[0].dim() == 3;
  const Tensor q = rows ? split_heads(c[0], c.integer("q_num_heads")) : c[0];
  Tensor k = rows ? split_heads(c[1], c.integer("kv_num_heads")) : c[1];
  Tensor v = rows ? split_heads(c[2], c.integer("kv_num_heads")) : c[2];
  check(c.has(4) == c.has(5), "past_key and past_value go together");
  check(!c.has(4) || !c.has(6), "past_key does not go with nonpad_kv_seqlen");
  int64_t past = 0;
  if (c.has(4)) {
    check(c[4].dim() == 4 && c[5].dim() == 4, "past_key and past_value must have 4 dimensions, got ", c[4], " and ",
          c[5]);
    past = c[4].size(2);
    k = cat({c[4], k}, 2);
    v = cat({c[5], v}, 2);
  }
  check_heads(q, k, v);
  const double scale = scale_of(c, q), cap = c.number("softcap", 0.0);
  const ScalarType type = q.scalar_type(), precision = precision_of(c, type);
  const auto done = [&](const Tensor& y, const Tensor& scores) {
    return Results::of({rows ? join_heads(y) : y, k, v, scores});
  };

  Tensor mask = given_mask(c, q, k);
  const bool fused = cap == 0 && !c.wants(3) && v.dtype() == type && (precision != kDouble || type == kDouble);
  const bool only_causal = c.flag("is_causal") && !mask.defined() && past == 0 && !c.has(6) &&
                           c.integer("left_window_size", -1) < 0 && c.integer("right_window_size", -1) < 0;
  if (fused && only_causal)
    return done(scaled_dot_product_attention(q, k, v, {}, 0, true, scale, q.size(1) != k.size(1)), {});
  if (const Tensor allowed = visible(c, q, k, past); allowed.defined()) {
    if (!mask.defined())
      mask = allowed;
    else if (mask.dtype() == kBool)
      mask = mask.logical_and(allowed);
    else
      mask = where(allowed, mask, -INFINITY);
  }
  if (fused) return done(scaled_dot_product_attention(q, k, v, mask, 0, false, scale, q.size(1) != k.size(1)), {});

  // One step after another. Half types are computed in float32.
  const int64_t mode = c.integer("qk_matmul_output_mode", 0);
  check(mode >= 0 && mode <= 3, "qk_matmul_output_mode must be from 0 to 3, got ", mode);
  Tensor scores = matmul(widened(q) * scale, shared_heads(widened(k), q).transpose(2, 3)), shown = scores;
  if (cap > 0) scores = tanh(scores / cap) * cap;
  if (mode == 1) shown = scores;
  Tensor hidden;  // queries that see no key
  if (mask.defined()) {
    const Tensor bias = widened(autograd::additive_mask(mask, scores));
    hidden = bias.amax(-1, true) == -INFINITY;
    if (mode == 2) shown = scores + bias;
    scores = scores + bias.masked_fill(hidden, 0);
  }
  Tensor weights = softmax(scores.to(precision == kDouble ? kDouble : scores.scalar_type()), -1);
  if (hidden.defined()) weights = weights.masked_fill(hidden, 0);
  if (mode == 3) shown = weights;
  const Tensor values = shared_heads(widened(v), q);
  return done(matmul(weights.to(values.scalar_type()), values).to(v.scalar_type()), shown.to(type));
}

Tensor flex_attention(Call& c) {
  const Tensor &q = c[0], &k = c[1], &v = c[2];
  check_heads(q, k, v);
  const double scale = scale_of(c, q);
  if (!c.has("score_mod") && !c.has("prob_mod") && !c.has("softmax_precision"))
    return scaled_dot_product_attention(q, k, v, {}, 0, false, scale, q.size(1) != k.size(1));
  const ScalarType precision = precision_of(c, q.dtype() == kDouble ? kDouble : kFloat);
  const auto modified = [&](const char* attribute, const Tensor& t) {
    if (!c.has(attribute)) return t;
    const std::vector<IValue> out = c.run(c.graph(attribute), {t});
    check(out.size() == 1 && out[0].isTensor() && out[0].toTensor().sizes() == t.sizes(), attribute,
          " must return one tensor of its input's shape, which is ", t);
    return out[0].toTensor();
  };
  Tensor t = matmul(q.to(precision), shared_heads(k, q).to(precision).transpose(2, 3)) * scale;
  t = modified("prob_mod", softmax(modified("score_mod", t), -1));
  return matmul(t, shared_heads(v, q).to(t.scalar_type())).to(v.scalar_type());
}

// S. Yang et al.: Gated Delta Networks, 2024. The state [B, heads, key, value] is updated position by position.
Results linear_attention(Call& c) {
  const std::string rule = c.text("update_rule", "gated_delta");
  const bool gated = rule == "gated" || rule == "gated_delta", delta = rule == "delta" || rule == "gated_delta";
  check(gated || delta || rule == "linear", "unknown update_rule '", rule, "'");
  check(gated == c.has(4) && delta == c.has(5), "decay or beta do not go with update_rule '", rule, "'");
  const int64_t q_heads = c.integer("q_num_heads"), heads = c.integer("kv_num_heads");
  const Tensor q = split_heads(widened(c[0]), q_heads), k = split_heads(widened(c[1]), heads);
  const Tensor v = split_heads(widened(c[2]), heads);
  check_heads(q, k, v);
  check(q.size(2) == k.size(2), "query and key have different lengths\n  query ", q, "\n  key   ", k);
  const int64_t batch = q.size(0), length = q.size(2), keys = q.size(3), values = v.size(3);
  Tensor state = c.has(3) ? widened(c[3]) : zeros({batch, heads, keys, values}, q.options().requires_grad(false));
  check(state.sizes() == IntArrayRef({batch, heads, keys, values}), "past_state must be [", batch, ", ", heads, ", ",
        keys, ", ", values, "], got ", state);
  Tensor decay, rate;
  if (gated) {
    check(c[4].dim() == 3 && (c[4].size(2) == heads || c[4].size(2) == heads * keys), "decay must be [", batch, ", ",
          length, ", ", heads, " or ", heads * keys, "], got ", c[4]);
    decay = split_heads(widened(c[4]), heads).exp().unsqueeze(-1);
  }
  if (delta) {
    check(c[5].dim() == 3 && (c[5].size(2) == heads || c[5].size(2) == 1), "beta must be [", batch, ", ", length, ", ",
          heads, " or 1], got ", c[5]);
    rate = widened(c[5]).transpose(1, 2).unsqueeze(-1);
  }
  double scale = c.number("scale", 0.0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(keys));
  // The heads of queries that share a state read it together: [B, heads, shared, key] times the state.
  const Tensor grouped = q.reshape({batch, heads, q_heads / heads, length, keys}) * scale;
  std::vector<Tensor> out;
  for (int64_t t = 0; t < length; ++t) {
    const Tensor key = k.narrow(2, t, 1);
    Tensor value = v.narrow(2, t, 1);
    if (gated) state = state * decay.select(2, t);
    if (delta) value = rate.narrow(2, t, 1) * (value - matmul(key, state));
    state = state + key.transpose(2, 3) * value;
    out.push_back(matmul(grouped.select(3, t), state));
  }
  const Tensor y = out.empty() ? zeros({batch, length, q_heads * values}, q.options().requires_grad(false))
                               : stack(out, 1).reshape({batch, length, q_heads * values});
  return Results::of({y.to(c[0].scalar_type()), state.to((c.has(3) ? c[3] : c[0]).scalar_type())});
}

Tensor rotary_embedding(Call& c) {
  const bool rows = c[0].dim() == 3;
  const Tensor x = rows ? split_heads(c[0], c.integer("num_heads")) : c[0];
  check(x.dim() == 4, "expected 3 or 4 dimensions, got ", c[0]);
  int64_t size = c.integer("rotary_embedding_dim", 0);
  if (size == 0) size = x.size(3);
  const Tensor y = rotate(x, size, c[1], c[2], c.optional(3), c.flag("interleaved"));
  return rows ? join_heads(y) : y;
}

Tensor swiglu(Call& c) {
  check(c[0].sizes() == c[1].sizes(), "the inputs have different shapes: ", c[0], " and ", c[1]);
  return swish(c[0], c.number("alpha", 1.0)) * c[1];
}

}  // namespace

Operators attention_operators() {
  return {
      {"Attention", attention},
      {"LinearAttention", linear_attention},
      {"RotaryEmbedding", rotary_embedding},
      {"SwiGLU", swiglu},
  };
}
Operators preview_operators() { return {{"FlexAttention", flex_attention}}; }

}  // namespace tandem::onnx
