// embedding: rows of a weight matrix, selected by index.
#pragma once
#include <tuple>

#include "tandem/core/tensor.h"

namespace tandem {

/// Row weight[i] of a matrix [V, D] for every i of `indices` (int64 or int32); the result has the shape of indices
/// followed by D. Row padding_idx (negative: none) gets no gradient. With scale_grad_by_freq, a row's gradient is
/// divided by the number of times it was used. `sparse` has no effect. Throws IndexError on an index outside
/// 0 … V - 1.
Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding_idx = -1, bool scale_grad_by_freq = false,
                 bool sparse = false);

namespace detail {
/// The modes of embedding_bag, with LibTorch's numbers.
enum BagMode : int64_t { kBagSum = 0, kBagMean = 1, kBagMax = 2 };
}  // namespace detail

/// The rows of `indices` [N], combined bag by bag: bag b has the indices from offsets[b] up to the next offset, or to
/// the end. mode 0: their sum, weighted with per_sample_weights [N] if given; 1: their mean; 2: their maximum; 0 for an
/// empty bag. With include_last_offset, the last offset is the end of the last bag. Rows padding_idx do not count.
/// `sparse` has no effect. Returns the result [B, D], the bag of every index, the bags' sizes, and, for mode 2, the
/// indices of the maxima [B, D] (-1: none). mode 2 reads the offsets on the host.
std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag(const Tensor& weight, const Tensor& indices,
                                                         const Tensor& offsets, bool scale_grad_by_freq = false,
                                                         int64_t mode = 0, bool sparse = false,
                                                         const Tensor& per_sample_weights = {},
                                                         bool include_last_offset = false,
                                                         optional<int64_t> padding_idx = nullopt);
/// Scales the rows of `indices` down to a norm of at most max_norm. Not recorded in place; out of place, it throws
/// Error while recording, because it has no gradient.
Tensor embedding_renorm(const Tensor& self, const Tensor& indices, double max_norm, double norm_type);
Tensor& embedding_renorm_(const Tensor& self, const Tensor& indices, double max_norm, double norm_type);

}  // namespace tandem
