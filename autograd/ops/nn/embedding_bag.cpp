// embedding_bag: rows of a weight matrix, combined bag by bag;
// composed of differentiable operations. embedding_renorm_.
#include <limits>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/nn/embedding.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/where.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/reduce/unique.h"
#include "tandem/autograd/ops/view/cat.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"

namespace tandem {
namespace {

constexpr double kLowest = -std::numeric_limits<double>::infinity();

// Which bag each of `count` indices belongs to. starts: the bags' first positions, [B].
Tensor bags_of(const Tensor& starts, int64_t count) {
  return bucketize(arange(count, starts.options()), starts.narrow(0, 1, starts.size(0) - 1), false, true);
}

// The largest of each bag's rows [N, D] in every column, and its position. Reads the offsets on the host.
struct Largest {
  Tensor values, positions;
};
Largest largest_rows(const Tensor& rows, const Tensor& starts, const Tensor& used) {
  const Tensor host = starts.to(Device(kCPU));
  const int64_t* at = host.data_ptr<int64_t>();
  const Tensor hidden = where(used.unsqueeze(1), rows, full({}, kLowest, rows.options()));
  const Tensor nothing = zeros({rows.size(1)}, rows.options());
  std::vector<Tensor> values, positions;
  for (int64_t b = 0; b < host.numel(); ++b) {
    const int64_t end = b + 1 < host.numel() ? at[b + 1] : rows.size(0);
    if (end <= at[b]) {
      values.push_back(nothing);
      positions.push_back(full({rows.size(1)}, -1, starts.options()));
      continue;
    }
    const auto [value, position] = hidden.narrow(0, at[b], end - at[b]).max(0);
    const Tensor any = used.narrow(0, at[b], end - at[b]).any();
    values.push_back(where(any, value, nothing));
    positions.push_back(where(any, position + at[b], full({}, -1, starts.options())));
  }
  return {stack(values), stack(positions)};
}

void check_bags(const Tensor& weight, const Tensor& indices, const Tensor& offsets, int64_t mode,
                const Tensor& per_sample_weights, bool include_last_offset) {
  const auto integers = [](const Tensor& t) { return t.dtype() == kLong || t.dtype() == kInt; };
  check(weight.dim() == 2 && indices.dim() == 1 && offsets.dim() == 1 && integers(indices) && integers(offsets),
        "embedding_bag: expected weight [V, D], integers indices [N] and offsets [B]\n  weight  ", weight,
        "\n  indices ", indices, "\n  offsets ", offsets);
  check(mode >= detail::kBagSum && mode <= detail::kBagMax,
        "embedding_bag: mode must be 0 (sum), 1 (mean) or 2 (max), got ", mode);
  check(!include_last_offset || offsets.size(0) >= 1, "embedding_bag: include_last_offset needs at least one offset");
  check(!per_sample_weights.defined() || (mode == detail::kBagSum && per_sample_weights.sizes() == indices.sizes() &&
                                          per_sample_weights.dtype() == weight.dtype()),
        "embedding_bag: per_sample_weights needs mode sum, the shape of indices and the weight's dtype\n  "
        "per_sample_weights ",
        per_sample_weights, "\n  indices ", indices);
  if (!offsets.device().is_cpu() || offsets.numel() == 0) return;
  check(offsets[0].item<int64_t>() == 0, "embedding_bag: offsets must begin with 0, got ", offsets[0].item<int64_t>());
  check(offsets[-1].item<int64_t>() <= indices.numel(), "embedding_bag: the last offset must not exceed the ",
        indices.numel(), " indices, got ", offsets[-1].item<int64_t>());
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag(const Tensor& weight, const Tensor& indices,
                                                         const Tensor& offsets, bool scale_grad_by_freq, int64_t mode,
                                                         bool sparse, const Tensor& per_sample_weights,
                                                         bool include_last_offset, optional<int64_t> padding_idx) {
  check_bags(weight, indices, offsets, mode, per_sample_weights, include_last_offset);
  const Tensor at = indices.to(kLong), all = offsets.to(kLong);
  const Tensor starts = include_last_offset ? all.narrow(0, 0, all.size(0) - 1) : all;
  const int64_t bags = starts.size(0), count = at.numel(),
                padding = padding_idx ? wrap_dim(*padding_idx, weight.size(0)) : -1;
  const Tensor used = at != padding;
  Tensor rows = embedding(weight, at, padding, scale_grad_by_freq, sparse);
  const Tensor bag = bags > 0 ? bags_of(starts, count) : zeros({0}, at.options());
  check(bags > 0 || count == 0, "embedding_bag: there are indices, but no bags");
  const Tensor size = zeros({bags}, at.options()).index_add(0, bag, used.to(kLong));
  if (mode == detail::kBagMax) {
    if (bags == 0)
      return {zeros({0, weight.size(1)}, weight.options()), bag, size, zeros({0, weight.size(1)}, at.options())};
    const Largest found = largest_rows(rows, starts, used);
    const Tensor place = found.positions.clamp_min(0).reshape({-1});
    const Tensor index = count > 0 ? at.index_select(0, place).view(found.positions.sizes()) : found.positions;
    return {found.values, bag, size, where(found.positions >= 0, index, full({}, -1, at.options()))};
  }
  if (per_sample_weights.defined()) rows = rows * per_sample_weights.unsqueeze(1);
  if (padding >= 0) rows = rows.masked_fill(used.logical_not().unsqueeze(1), 0);
  Tensor out = zeros({bags, weight.size(1)}, weight.options()).index_add(0, bag, rows);
  if (mode == detail::kBagMean) out = out / size.clamp_min(1).to(out.dtype()).unsqueeze(1);
  return {out, bag, size, zeros({0}, at.options())};
}

Tensor& embedding_renorm_(const Tensor& self, const Tensor& indices, double max_norm, double norm_type) {
  check(self.dim() == 2 && (indices.dtype() == kLong || indices.dtype() == kInt),
        "embedding_renorm_: expected a weight [V, D] and integers\n  self    ", self, "\n  indices ", indices);
  NoGradGuard no_grad;
  const autocast::detail::Off plain(self.device().type());
  const Tensor at = indices.to(kLong).reshape({-1}), rows = self.detach().index_select(0, at);
  const Tensor norm = rows.norm(norm_type, IntArrayRef(1), true);
  const Tensor factor = where(norm > max_norm, max_norm / (norm + 1e-7), ones({}, norm.options()));
  Tensor(self.detach()).index_copy_(0, at, rows * factor);  // equal indices write equal rows
  return detail::mutable_handle(self);
}
Tensor embedding_renorm(const Tensor& self, const Tensor& indices, double max_norm, double norm_type) {
  check(!autograd::recording(self), "embedding_renorm: has no gradient; detach self");
  const Tensor out = self.clone();
  embedding_renorm_(out, indices, max_norm, norm_type);
  return out;
}

}  // namespace tandem
