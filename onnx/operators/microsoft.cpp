// Operators of com.microsoft, the domain of onnxruntime, whose optimizer writes them into language models. Definitions:
// https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md.
#include <algorithm>
#include <cmath>

#include "tandem/onnx/operators/attention.h"

namespace tandem::onnx {
namespace {

constexpr double kEpsilon = 1e-12;  // of norms, unless the attribute says another

void refuse(bool given, const char* what) { check(!given, "Tandem does not have its ", what); }

// x + bias, if there is one: a number for each element of the last dimension.
Tensor biased(const Call& c, const Tensor& x, std::size_t input) {
  if (!c.has(input)) return x;
  const Tensor& bias = c[input];
  check(bias.dim() == 1 && x.dim() > 0 && bias.size(0) == x.size(-1), "the bias ", bias, " does not fit ", x);
  return x + bias;
}

Tensor matrices(const Call& c, std::size_t input, const char* transposed, const char* batch) {
  Tensor t = c[input];
  if (t.dim() < 2) return t;
  if (c.flag(batch)) t = movedim(t, 0, -2);  // [rows, batch, columns] → [batch, rows, columns]
  return c.flag(transposed) ? t.transpose(-2, -1) : t;
}
Tensor fused_matmul(Call& c) {
  const Tensor y = matmul(matrices(c, 0, "transA", "transBatchA"), matrices(c, 1, "transB", "transBatchB"));
  const double alpha = c.number("alpha", 1.0);
  return alpha == 1 ? y : y * alpha;
}

// ---- norms

// `norm` of input + skip + bias.
template <class F>
Results skip_norm(Call& c, std::size_t bias, F norm) {
  const Tensor &x = c[0], sum = biased(c, x + c[1], bias);
  check(x.dim() >= 2 && sum.sizes() == x.sizes(), "skip does not fit the input\n  input ", x, "\n  skip  ", c[1]);
  refuse(c.wants(1) || c.wants(2), "outputs for training, mean and inv_std_var");
  return Results::of({norm(sum, IntArrayRef({x.size(-1)}), c.number("epsilon", kEpsilon)), Tensor(), Tensor(), sum});
}
Results skip_layer_norm(Call& c) {
  return skip_norm(c, 4, [&](const Tensor& x, IntArrayRef shape, double eps) {
    return layer_norm(x, shape, c[2], c.optional(3), eps);
  });
}
Results skip_rms_norm(Call& c) {
  return skip_norm(c, 3, [&](const Tensor& x, IntArrayRef shape, double eps) { return rms_norm(x, shape, c[2], eps); });
}

Results embed_layer_norm(Call& c) {
  const Tensor &ids = c[0], &positions = c[3];
  check(ids.dim() == 2 && positions.dim() == 2,
        "expected input_ids [batch, length] and a position_embedding of rows, got ", ids, " and ", positions);
  check(c.has(1) == c.has(4), "segment_ids and segment_embedding go together");
  const int64_t length = ids.size(1);
  check(c.has(8) || length <= positions.size(0), "there are ", positions.size(0), " positions, the input has ", length);
  Tensor sum = embedding(c[2], ids);
  sum = sum + (c.has(8) ? embedding(positions, c[8]) : positions.narrow(0, 0, length));
  if (c.has(1)) sum = sum + embedding(c[4], c[1]);
  check(sum.dim() == 3 && sum.size(0) == ids.size(0) && sum.size(1) == length,
        "segment_ids or position_ids do not fit ", ids);
  const Tensor y = layer_norm(sum, {sum.size(2)}, c[5], c[6], c.number("epsilon", kEpsilon));
  // How many elements of each row the mask has; none without a mask, as onnxruntime says.
  const Tensor count =
      c.has(7) ? (c[7] == 1).sum(1).to(kInt) : zeros({ids.size(0)}, TensorOptions(kInt).device(ids.device()));
  return Results::of({y, count, sum});
}

// ---- attention

// Which keys a mask of 0 and 1, or of lengths, shows: bool [B, 1, 1 or queries, keys]; undefined for all.
Tensor shown_keys(const Tensor& mask, int64_t queries, int64_t keys, int64_t batch) {
  if (!mask.defined() || (mask.dim() == 2 && mask.size(1) == 1)) return {};  // one column stands for no mask
  if (mask.dim() == 2 && mask.size(0) == batch && mask.size(1) == keys) return (mask > 0).view({batch, 1, 1, keys});
  if (mask.sizes() == IntArrayRef({batch, queries, keys})) return (mask > 0).unsqueeze(1);
  check(mask.dim() == 1 && (mask.size(0) == batch || mask.size(0) == 2 * batch), "Tandem takes masks [", batch, ", ",
        keys, "], [", batch, ", ", queries, ", ", keys, "], and lists of lengths [", batch, "] or of ends and starts [",
        2 * batch, "], got ", mask);
  const Tensor at = arange(keys, TensorOptions(kLong).device(mask.device()));
  const auto bound = [&](int64_t from) { return mask.narrow(0, from, batch).to(kLong).view({batch, 1, 1, 1}); };
  const Tensor shown = at < bound(0);
  return mask.size(0) == batch ? shown : shown.logical_and(at >= bound(batch));
}

// The output for queries that follow `past` keys, with a mask and what is added to the scores in two inputs.
Tensor attend(const Call& c, const Tensor& q, const Tensor& k, const Tensor& v, int64_t past, std::size_t mask_at,
              std::size_t added_at) {
  check_heads(q, k, v);
  const int64_t queries = q.size(2), keys = k.size(2);
  const double given = c.number("scale", 0.0);
  const double scale = given == 0 ? 1 / std::sqrt(static_cast<double>(q.size(3))) : given;
  const bool causal = c.flag("unidirectional");
  refuse(causal && keys != past + queries, "attribute unidirectional for keys of another sequence");
  Tensor mask = c.optional(added_at);
  check(!mask.defined() || (mask.dim() == 4 && mask.size(2) == queries && mask.size(3) == keys),
        "attention_bias must be [batch or 1, heads or 1, ", queries, ", ", keys, "], got ", mask);
  const Tensor shown = shown_keys(c.optional(mask_at), queries, keys, q.size(0));
  Tensor seen;  // by queries that see no later keys
  if (causal && (mask.defined() || shown.defined() || past > 0))
    seen = ones({queries, keys}, TensorOptions(kBool).device(q.device())).tril(past);
  if (shown.defined()) {
    // Not minus infinity: of keys that are all hidden, each counts. Half types lack float32's lowest number.
    const double lowest = q.dtype() == kHalf ? -65504 : -0x1.FEp127;
    const double filter = std::max(c.number("mask_filter_value", -10000.0), lowest);
    Tensor hidden = zeros(shown.sizes(), q.options().requires_grad(false)).masked_fill(shown.logical_not(), filter);
    if (seen.defined()) hidden = where(seen, hidden, lowest);
    mask = mask.defined() ? mask + hidden : hidden;
  } else if (seen.defined()) {
    mask = mask.defined() ? where(seen, mask, -INFINITY) : seen;
  }
  return join_heads(scaled_dot_product_attention(q, k, v, mask, 0, causal && !mask.defined(), scale));
}

// Keys or values [B, heads, length, size] after those of the past, which may be undefined.
Tensor after(const Tensor& past, const Tensor& t) {
  if (!past.defined()) return t;
  check(past.dim() == 4 && past.size(0) == t.size(0) && past.size(1) == t.size(1) && past.size(3) == t.size(3),
        "the past does not fit\n  past ", past, "\n  now  ", t);
  return cat({past, t}, 2);
}

// Of one tensor, whose queries, keys and values are one product.
Results attention(Call& c) {
  refuse(c.flag("do_rotary"), "attribute do_rotary");
  refuse(c.flag("past_present_share_buffer") || c.has(6), "attribute past_present_share_buffer");
  const Tensor &x = c[0], &weight = c[1];
  check(x.dim() == 3 && weight.dim() == 2, "expected an input [batch, length, size] and a matrix of weights, got ", x,
        " and ", weight);
  const int64_t columns = weight.size(1), heads = c.integer("num_heads");
  std::vector<int64_t> sizes = c.integers("qkv_hidden_sizes");
  if (sizes.empty()) sizes.assign(3, columns / 3);
  check(sizes.size() == 3 && sizes[0] == sizes[1] && sizes[0] >= 0 && sizes[0] <= columns / 2 &&
            sizes[2] == columns - 2 * sizes[0],
        "qkv_hidden_sizes does not fit the weights ", weight);
  const Tensor all = linear(x, weight.t(), c.optional(2));
  const auto part = [&](int64_t from, int64_t size) { return split_heads(all.narrow(2, from, size), heads); };
  const Tensor q = part(0, sizes[0]), past = c.optional(4);
  check(!past.defined() || (past.dim() == 5 && past.size(0) == 2), "past must be [2, batch, heads, length, size], got ",
        past);
  const auto past_of = [&](int64_t which) { return past.defined() ? past.select(0, which) : Tensor(); };
  const Tensor k = after(past_of(0), part(sizes[0], sizes[0])), v = after(past_of(1), part(2 * sizes[0], sizes[2]));
  const Tensor y = attend(c, q, k, v, past.defined() ? past.size(3) : 0, 3, 5);
  return Results::of({y, c.wants(1) ? stack({k, v}) : Tensor()});
}

// Of three tensors. Keys and values of another sequence may have their heads split already.
Results multi_head_attention(Call& c) {
  refuse(!c.has(1) || !c.has(2) || c[0].dim() != 3, "packed query, key and value");
  refuse(c.has(8), "input past_sequence_length");
  refuse(c.has(9), "input cache_indirection");
  refuse(c.wants(3), "output qk");
  check(c.has(6) == c.has(7), "past_key and past_value go together");
  const int64_t heads = c.integer("num_heads");
  Tensor rows[3] = {c[0], c[1], c[2]};
  const bool split = rows[1].dim() == 4;
  refuse(split && c.has(6), "input past_key with a key of 4 dimensions");
  if (c.has(3)) {
    const Tensor& bias = c[3];
    const int64_t hidden = rows[0].size(2), values = split ? hidden : rows[2].size(-1);
    check(bias.dim() == 1 && bias.size(0) == 2 * hidden + values, "the bias must have ", 2 * hidden + values,
          " elements, got ", bias);
    rows[0] = rows[0] + bias.narrow(0, 0, hidden);
    if (!split) {
      rows[1] = rows[1] + bias.narrow(0, hidden, hidden);
      rows[2] = rows[2] + bias.narrow(0, 2 * hidden, values);
    }
  }
  const Tensor q = split_heads(rows[0], heads);
  const Tensor k = after(c.optional(6), split ? rows[1] : split_heads(rows[1], heads));
  const Tensor v = after(c.optional(7), split ? rows[2] : split_heads(rows[2], heads));
  return Results::of({attend(c, q, k, v, c.has(6) ? c[6].size(2) : 0, 4, 5), k, v, Tensor()});
}

Tensor rotary_embedding(Call& c) {
  const Tensor &x = c[0], &cosines = c[2];
  refuse(c.flag("is_packed_batching"), "attribute is_packed_batching");
  refuse(c.number("scale", 1.0) != 1, "attribute scale");
  check((x.dim() == 3 || x.dim() == 4) && cosines.dim() == 2 && cosines.size(1) > 0,
        "expected 3 or 4 dimensions and a cache of rows, got ", x, " and ", cosines);
  int64_t heads = c.integer("num_heads", 0), size = c.integer("rotary_embedding_dim", 0);
  if (size == 0) size = 2 * cosines.size(1);
  if (heads == 0) heads = x.size(2) / size;
  const Tensor split = x.dim() == 3 ? split_heads(x, heads) : x;
  Tensor positions = c[1];
  if (positions.numel() == 1)  // of the first row
    positions = positions.reshape({1, 1}).to(kLong) + arange(split.size(2), TensorOptions(kLong).device(x.device()));
  const Tensor y = rotate(split, size, cosines, c[3], positions, c.flag("interleaved"));
  return x.dim() == 3 ? join_heads(y) : y;
}

}  // namespace

Operators microsoft_operators() {
  return {
      {"Attention", attention},
      {"BiasGelu", [](Call& c) { return gelu(biased(c, c[0], 1)); }},
      {"EmbedLayerNormalization", embed_layer_norm},
      {"FastGelu", [](Call& c) { return gelu(biased(c, c[0], 1), "tanh"); }},
      {"FusedMatMul", fused_matmul},
      {"Gelu", [](Call& c) { return gelu(c[0]); }},
      {"MultiHeadAttention", multi_head_attention},
      {"QuickGelu", [](Call& c) { return c[0] * sigmoid(c[0] * c.number("alpha", 1.702)); }},
      {"RotaryEmbedding", rotary_embedding},
      {"SkipLayerNormalization", skip_layer_norm},
      {"SkipSimplifiedLayerNormalization", skip_rms_norm},
      {"TransposeMatMul", fused_matmul},
  };
}

}  // namespace tandem::onnx
