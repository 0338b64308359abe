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
#include "tandem/autograd/ops/nn/dropout.h"
#include "tandem/autograd/ops/nn/softmax.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/where.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/view/repeat.h"
#include "tandem/autograd/ops/view/tril.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/attention.h"
#include "tandem/core/backend/backend.h"

namespace tandem {
namespace {
using namespace autograd;

constexpr double kHidden = -std::numeric_limits<double>::infinity();

// What a bool mask adds to the scores, and what a causal one does.
Tensor additive(const Tensor& visible, const Tensor& query) {
  NoGradGuard no_grad;
  return zeros(visible.sizes(), query.options()).masked_fill(visible.logical_not(), kHidden);
}
Tensor causal_mask(const Tensor& query, const Tensor& key) {
  NoGradGuard no_grad;
  return full({query.size(-2), key.size(-2)}, kHidden, query.options()).triu(1);
}

// The softmax of the scores; rows that are hidden entirely are 0. mask: numbers or undefined.
Tensor weights(const Tensor& query, const Tensor& key, const Tensor& mask, double scale, bool causal) {
  Tensor scores = matmul(query * scale, key.transpose(-2, -1));
  if (causal) scores = scores + causal_mask(query, key);
  if (mask.defined()) scores = scores + mask;
  if (!mask.defined()) return softmax(scores, -1);  // every query sees the first key
  const Tensor hidden = (scores.detach() == kHidden).all(-1, true);
  return softmax(scores.masked_fill(hidden, 0), -1).masked_fill(hidden, 0);
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
    backend(q).attention.backward(dq, dk, dv, unit_stride(g[0]), q, k, v, o, lse.unpack(*this), mask.unpack(*this),
                                  scale, causal);
    if (needs(0)) out[0] = dq;
    if (needs(1)) out[1] = dk;
    if (needs(2)) out[2] = dv;
  }
  void composed(const Tensor& g, const Tensor& q, const Tensor& k, const Tensor& v, std::span<Tensor> out) const {
    const Tensor p = weights(q, k, widened(mask.unpack(*this)), scale, causal), gp = matmul(g, v.transpose(-2, -1));
    const Tensor ds = p * (gp - (p * gp).sum(IntArrayRef(-1), true)) * scale;
    if (needs(0)) out[0] = matmul(ds, k);
    if (needs(1)) out[1] = matmul(ds.transpose(-2, -1), q);
    if (needs(2)) out[2] = matmul(p.transpose(-2, -1), g);
  }
  void release() override {
    for (SavedTensor* t : {&query, &key, &value, &output, &lse, &mask}) t->release();
  }
  SavedTensor query, key, value, output, lse, mask;
  double scale = 1;
  bool causal = false;
};

// All tensors have four dimensions.
Tensor blockwise(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask, double scale,
                 bool causal) {
  const Tensor q = unit_stride(query), k = unit_stride(key), v = unit_stride(value);
  const Tensor out = empty_ordered(q, {q.size(0), q.size(1), q.size(2), v.size(3)});
  const Tensor lse = empty_raw({q.size(0), q.size(1), q.size(2)}, toOpMathType(q.dtype()), q.device());
  const Tensor added = mask.defined() ? mask.expand({q.size(0), q.size(1), q.size(2), k.size(2)}) : mask;
  backend(q).attention.forward(out, lse, q, k, v, added, scale, causal);
  if (auto* node = record<AttentionBackward>(out, q, k, v)) {
    node->query.save(q);
    node->key.save(k);
    node->value.save(v);
    node->output.save_output(out);
    node->lse.save(lse);
    node->mask.save(added);
    node->scale = scale;
    node->causal = causal;
  }
  return out;
}

// Adds dimensions in front or after the batch, to make four; the mask broadcasts.
Tensor four(Tensor t) {
  if (t.dim() == 3) return t.unsqueeze(1);
  while (t.dim() < 4) t = t.unsqueeze(0);
  return t;
}
Tensor four_of_mask(Tensor mask, int64_t dim) {
  if (!mask.defined()) return mask;
  while (mask.dim() < 2) mask = mask.unsqueeze(0);
  if (dim == 3 && mask.dim() == 3) return mask.unsqueeze(1);
  while (mask.dim() < 4) mask = mask.unsqueeze(0);
  return mask;
}

bool block_attention_applies(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
  const auto batch = [](const Tensor& t) { return t.sizes().slice(0, t.sizes().size() - 2); };
  return backend(q).attention.forward && q.dim() <= 4 && q.numel() > 0 && k.numel() > 0 && v.numel() > 0 &&
         q.dim() == k.dim() && q.dim() == v.dim() && IntArrayRef(batch(q)) == IntArrayRef(batch(k)) &&
         IntArrayRef(batch(q)) == IntArrayRef(batch(v)) &&
         (!mask.defined() || (!mask.requires_grad() && mask.dim() <= q.dim()));
}

void check_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask, double dropout_p,
                     bool causal) {
  constexpr const char* kName = "scaled_dot_product_attention";
  check(query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2 && query.size(-1) == key.size(-1) &&
            key.size(-2) == value.size(-2),
        kName, ": expected query [..., L, E], key [..., S, E] and value [..., S, V]\n  query ", query, "\n  key   ",
        key, "\n  value ", value);
  check(query.is_floating_point(), kName, ": expected floating point, got ", query);
  check_alike(kName, "query", query, "key  ", key);
  check_alike(kName, "query", query, "value", value);
  check(dropout_p >= 0 && dropout_p <= 1, kName, ": dropout_p must be in [0, 1], got ", dropout_p);
  check(!causal || !mask.defined(), kName, ": pass either attn_mask or is_causal");
  check(!mask.defined() || mask.dtype() == kBool || mask.dtype() == query.dtype(), kName,
        ": attn_mask must be bool or of the query's dtype\n  attn_mask ", mask, "\n  query     ", query);
  check(!mask.defined() || mask.device() == query.device(), kName, ": attn_mask is on another device\n  attn_mask ",
        mask, "\n  query     ", query);
}

Tensor shared_heads(const Tensor& t, const Tensor& query) {
  check(query.dim() >= 3 && t.dim() >= 3 && t.size(-3) > 0 && query.size(-3) % t.size(-3) == 0,
        "scaled_dot_product_attention: with enable_gqa the heads of query must be a multiple of those of key "
        "and "
        "value\n  query ",
        query, "\n  other ", t);
  const int64_t times = query.size(-3) / t.size(-3);
  return times == 1 ? t : t.repeat_interleave(times, -3);
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& attn_mask, double dropout_p, bool is_causal, optional<double> scale,
                                    bool enable_gqa) {
  if (const auto to = autocast::lower_precision(query))
    return scaled_dot_product_attention(to(query), to(key), to(value), to(attn_mask), dropout_p, is_causal, scale,
                                        enable_gqa);
  check_attention(query, key, value, attn_mask, dropout_p, is_causal);
  const Tensor k = enable_gqa ? shared_heads(key, query) : key, v = enable_gqa ? shared_heads(value, query) : value;
  const double factor = scale ? *scale : 1 / std::sqrt(static_cast<double>(query.size(-1)));
  const Tensor mask = attn_mask.defined() && attn_mask.dtype() == kBool ? additive(attn_mask, query) : attn_mask;
  if (dropout_p == 0 && block_attention_applies(query, k, v, mask)) {
    const Tensor out = blockwise(four(query), four(k), four(v), four_of_mask(mask, query.dim()), factor, is_causal);
    return query.dim() == 4 ? out : query.dim() == 3 ? out.squeeze(1) : out.squeeze(0).squeeze(0);
  }
  // On CUDA half types go to the tensor cores; softmax computes in float32.
  const auto ready = [&](const Tensor& t) { return query.is_cuda() ? t : widened(t); };
  const Tensor p = weights(ready(query), ready(k), ready(mask), factor, is_causal);
  return matmul(dropout(p, dropout_p, true), ready(v)).to(query.dtype());
}

}  // namespace tandem
