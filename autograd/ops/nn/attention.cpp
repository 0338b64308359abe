// scaled_dot_product_attention. With P = softmax(S), the gradients are dV = Pᵀ G, dS = P (G Vᵀ - Σ G O),
// dQ = scale dS K, dK = scale dSᵀ Q.
#include "tandem/autograd/ops/nn/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/detail/half.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/nn/attention_mask.h"
#include "tandem/autograd/ops/nn/dropout.h"
#include "tandem/autograd/ops/nn/softmax.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/attention.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/random.h"
#include "tandem/core/reproducible.h"

namespace tandem {
namespace {
using namespace autograd;

constexpr const char* kName = "scaled_dot_product_attention";
constexpr double kHidden = -std::numeric_limits<double>::infinity();

// The softmax of the scores; rows that are hidden entirely are 0. mask: numbers or undefined.
Tensor weights(const Tensor& query, const Tensor& key, const Tensor& mask, double scale) {
  const Tensor products = matmul(query * scale, key.transpose(-2, -1));
  if (!mask.defined()) return softmax(products, -1);
  const Tensor scores = products + mask;
  const Tensor hidden = (scores.detach() == kHidden).all(-1, true);
  return softmax(scores.masked_fill(hidden, 0), -1).masked_fill(hidden, 0);
}

// `mask` as numbers, joined with the causal mask.
Tensor joined_mask(const Tensor& query, const Tensor& key, const Tensor& mask, optional<int64_t> before) {
  const Tensor numbers = additive_mask(mask, query);
  if (!before) return numbers;
  const Tensor causal = [&] {
    NoGradGuard no_grad;
    return full({query.size(-2), key.size(-2)}, kHidden, query.options()).triu(*before + 1);
  }();
  return numbers.defined() ? numbers + causal : causal;
}

Tensor shared_heads(const Tensor& t, const Tensor& query) {
  const int64_t times = query.size(-3) / t.size(-3);
  return times == 1 ? t : t.repeat_interleave(times, -3);
}

// An uninitialised tensor of these sizes [B, H, rows, columns] whose memory has the order of `like`'s dimensions.
Tensor empty_ordered(const Tensor& like, IntArrayRef sizes) {
  std::size_t order[3] = {0, 1, 2};
  std::stable_sort(order, order + 3, [&](std::size_t a, std::size_t b) {
    return like.stride(static_cast<int64_t>(a)) > like.stride(static_cast<int64_t>(b));
  });
  Dims strides(4, 1);
  int64_t step = sizes[3];
  for (int d = 2; d >= 0; --d) {
    strides[order[d]] = step;
    step *= std::max<int64_t>(1, sizes[order[d]]);
  }
  return alias(empty_raw(sizes, like.dtype(), like.device()), sizes, strides, 0);
}

Tensor unit_stride(const Tensor& t) {
  const bool rows = t.size(3) <= 1 || t.stride(3) == 1;
  return rows && (t.size(2) <= 1 || t.stride(2) >= t.size(3)) ? t : t.contiguous();
}

struct AttentionBackward final : Node {
  const char* label() const override { return "ScaledDotProductAttentionBackward"; }

  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor q = query.unpack(*this), k = key.unpack(*this), v = value.unpack(*this), o = output.unpack(*this);
    if (GradMode::is_enabled()) return composed(widened(g[0]), widened(q), widened(k), widened(v), out);
    const Tensor dq = empty_ordered(q, q.sizes()), dk = empty_ordered(k, k.sizes()), dv = empty_ordered(v, v.sizes());
    backend(q).attention.backward(dq, dk, dv, unit_stride(g[0]), q, k, v, o, rows.unpack(*this), mask.unpack(*this),
                                  rule);
    if (needs(0)) out[0] = dq;
    if (needs(1)) out[1] = dk;
    if (needs(2)) out[2] = dv;
  }
  void composed(const Tensor& g, const Tensor& q, const Tensor& k, const Tensor& v, std::span<Tensor> out) const {
    const Tensor all_k = shared_heads(k, q), all_v = shared_heads(v, q);
    const Tensor added = joined_mask(q, k, widened(mask.unpack(*this)), rule.causal ? optional(rule.before) : nullopt);
    const Tensor p = weights(q, all_k, added, rule.scale), factors = dropout_factors(p);
    const auto dropped = [&](const Tensor& t) { return factors.defined() ? t * factors : t; };
    const Tensor gp = dropped(matmul(g, all_v.transpose(-2, -1)));
    const Tensor ds = p * (gp - (p * gp).sum(IntArrayRef(-1), true)) * rule.scale;
    // Heads that share keys add their gradients.
    const auto of_group = [](const Tensor& t, const Tensor& like) {
      if (t.size(1) == like.size(1)) return t;
      return t.unflatten(1, {like.size(1), t.size(1) / like.size(1)}).sum(IntArrayRef(2));
    };
    if (needs(0)) out[0] = matmul(ds, all_k);
    if (needs(1)) out[1] = of_group(matmul(ds.transpose(-2, -1), q), k);
    if (needs(2)) out[2] = of_group(matmul(dropped(p).transpose(-2, -1), g), v);
  }
  Tensor dropout_factors(const Tensor& like) const {
    if (rule.dropout == 0) return {};
    NoGradGuard no_grad;
    const Tensor kept = empty_raw(like.sizes(), like.dtype(), like.device());
    backend(kept).random.fill.get<ops::Bernoulli>()(kept, rule.draw, {.a = 1 - rule.dropout});
    return kept.mul_(1 / (1 - rule.dropout));
  }
  TANDEM_SAVED(query, key, value, output, rows, mask);
  AttentionRule rule;
};

// All tensors have four dimensions.
Tensor blockwise(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                 const AttentionRule& rule) {
  const Tensor q = unit_stride(query), k = unit_stride(key), v = unit_stride(value);
  const Tensor out = empty_ordered(q, {q.size(0), q.size(1), q.size(2), v.size(3)});
  const Tensor rows = empty_raw({q.size(0), q.size(1), q.size(2), 2}, toOpMathType(q.dtype()), q.device());
  const Tensor added = mask.defined() ? mask.expand({q.size(0), q.size(1), q.size(2), k.size(2)}) : mask;
  backend(q).attention.forward(out, rows, q, k, v, added, rule);
  if (auto* node = record<AttentionBackward>(out, q, k, v)) {
    node->query.save(q);
    node->key.save(k);
    node->value.save(v);
    node->output.save_output(out);
    node->rows.save(rows);
    node->mask.save(added);
    node->rule = rule;
  }
  return out;
}

// Adds dimensions in front, to make four.
Tensor four(Tensor t) {
  while (t.defined() && t.dim() < 4) t = t.unsqueeze(0);
  return t;
}

bool block_attention_applies(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool dropout,
                             bool shared) {
  const int64_t dim = q.dim();
  if (!backend(q).attention.forward || dim > 4 || k.dim() != dim || v.dim() != dim || q.numel() == 0 ||
      k.numel() == 0 || v.numel() == 0 || !backend(q).attention.fits(q.dtype(), std::max(q.size(-1), v.size(-1))))
    return false;
  if (dropout && !q.is_cuda() && generator_mode() == GeneratorMode::kPyTorch) return false;
  for (int64_t d = 0; d < dim - 2; ++d)
    if (k.size(d) != v.size(d) || (q.size(d) != k.size(d) && !(shared && d == dim - 3))) return false;
  return !mask.defined() || (!mask.requires_grad() && mask.dim() <= dim);
}

void check_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                     double dropout_p) {
  check(query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2 && query.size(-1) == key.size(-1) &&
            key.size(-2) == value.size(-2),
        kName, ": expected query [..., L, E], key [..., S, E] and value [..., S, V]\n  query ", query, "\n  key   ",
        key, "\n  value ", value);
  check(query.is_floating_point(), kName, ": expected floating point, got ", query);
  check_alike(kName, "query", query, "key  ", key);
  check_alike(kName, "query", query, "value", value);
  check(dropout_p >= 0 && dropout_p <= 1, kName, ": dropout_p must be in [0, 1], got ", dropout_p);
  check(!mask.defined() || mask.dtype() == kBool || mask.dtype() == query.dtype(), kName,
        ": attn_mask must be bool or of the query's dtype\n  attn_mask ", mask, "\n  query     ", query);
  check(!mask.defined() || mask.device() == query.device(), kName, ": attn_mask is on another device\n  attn_mask ",
        mask, "\n  query     ", query);
}

void check_shared(const Tensor& t, const Tensor& query) {
  check(
      query.dim() >= 3 && t.dim() >= 3 && t.size(-3) > 0 && query.size(-3) % t.size(-3) == 0,
      "scaled_dot_product_attention: with enable_gqa the heads of query must be a multiple of those of key and value\n"
      "  query ",
      query, "\n  other ", t);
}

// Keys or values, of which one batch may serve all of the query's, with as many batches.
Tensor for_batches(const Tensor& t, const Tensor& query, bool shared) {
  Dims sizes(t.sizes());
  if (t.dim() != query.dim()) return t;
  for (int64_t d = 0; d < t.dim() - (shared ? 3 : 2); ++d)
    if (sizes[static_cast<std::size_t>(d)] == 1) sizes[static_cast<std::size_t>(d)] = query.size(d);
  return sizes == Dims(t.sizes()) ? t : t.expand(sizes);
}

// before: the number of queries in front of these, if they see earlier keys only.
Tensor attention(const Tensor& query, const Tensor& some_keys, const Tensor& some_values, const Tensor& mask,
                 double dropout_p, optional<int64_t> before, optional<double> scale, bool enable_gqa) {
  check_attention(query, some_keys, some_values, mask, dropout_p);
  if (enable_gqa) {
    check_shared(some_keys, query);
    check_shared(some_values, query);
  }
  const Tensor key = for_batches(some_keys, query, enable_gqa), value = for_batches(some_values, query, enable_gqa);
  if (before && *before >= key.size(-2) - 1) before = nullopt;  // the first query sees all keys
  AttentionRule rule{.scale = scale ? *scale : 1 / std::sqrt(static_cast<double>(query.size(-1))),
                     .causal = before.has_value(),
                     .before = before.value_or(0)};
  const bool dropped = dropout_p > 0 && dropout_p < 1;
  if (dropout_p < 1 && block_attention_applies(query, key, value, mask, dropped, enable_gqa)) {
    if (dropped) {
      rule.dropout = dropout_p;
      rule.draw = default_generator().next();
    }
    Tensor out = blockwise(four(query), four(key), four(value), four(mask), rule);
    while (out.dim() > query.dim()) out = out.squeeze(0);
    return out;
  }
  // On CUDA half types go to the tensor cores; softmax computes in float32.
  const bool as_given = query.is_cuda() && reproducible() != Reproducible::kStrict;
  const auto ready = [&](const Tensor& t) { return as_given ? t : widened(t); };
  const auto all = [&](const Tensor& t) { return ready(enable_gqa ? shared_heads(t, query) : t); };
  const Tensor p = weights(ready(query), all(key), ready(joined_mask(query, key, mask, before)), rule.scale);
  return matmul(dropout(p, dropout_p, true), all(value)).to(query.dtype());
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& attn_mask, double dropout_p, bool is_causal, optional<double> scale,
                                    bool enable_gqa) {
  if (const auto to = autocast::lower_precision(query))
    return scaled_dot_product_attention(to(query), to(key), to(value), to(attn_mask), dropout_p, is_causal, scale,
                                        enable_gqa);
  check(!is_causal || !attn_mask.defined(), kName, ": pass either attn_mask or is_causal");
  return attention(query, key, value, attn_mask, dropout_p, is_causal ? optional<int64_t>(0) : nullopt, scale,
                   enable_gqa);
}

Tensor autograd::causal_attention(const Tensor& query, const Tensor& key, const Tensor& value, int64_t before,
                                  const Tensor& mask) {
  if (const auto to = autocast::lower_precision(query))
    return causal_attention(to(query), to(key), to(value), before, to(mask));
  return attention(query, key, value, mask, 0, before, nullopt, false);
}

}  // namespace tandem
