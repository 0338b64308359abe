// Options of Embedding and EmbeddingBag.
#pragma once
#include "tandem/core/arg.h"
#include "tandem/core/reduction.h"
#include "tandem/core/tensor.h"

namespace tandem {
namespace nn {

enum class Maximum : int8_t { kMax };
/// kSum, kMean or kMax.
struct EmbeddingBagMode {
  EmbeddingBagMode(Reduction reduction_) : reduction(reduction_) {}
  EmbeddingBagMode(Maximum) : max(true) {}
  Reduction reduction = kMean;
  bool max = false;
};

struct EmbeddingOptions {
  EmbeddingOptions(int64_t num_embeddings, int64_t embedding_dim)
      : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  TANDEM_ARG(int64_t, num_embeddings);
  TANDEM_ARG(int64_t, embedding_dim);
  /// This row is initialised to zero and receives no gradient.
  TANDEM_ARG(optional<int64_t>, padding_idx) = nullopt;
  /// forward() scales the rows it reads down to this norm of order norm_type.
  TANDEM_ARG(optional<double>, max_norm) = nullopt;
  TANDEM_ARG(double, norm_type) = 2.0;
  /// Divides a row's gradient by the number of times it was used.
  TANDEM_ARG(bool, scale_grad_by_freq) = false;
  /// Has no effect.
  TANDEM_ARG(bool, sparse) = false;
  /// Initial weight, [num_embeddings, embedding_dim].
  TANDEM_ARG(Tensor, _weight) = Tensor();
};

struct EmbeddingFromPretrainedOptions {
  /// The weight requires no gradient.
  TANDEM_ARG(bool, freeze) = true;
  TANDEM_ARG(optional<int64_t>, padding_idx) = nullopt;
  TANDEM_ARG(optional<double>, max_norm) = nullopt;
  TANDEM_ARG(double, norm_type) = 2.0;
  TANDEM_ARG(bool, scale_grad_by_freq) = false;
  TANDEM_ARG(bool, sparse) = false;
};

struct EmbeddingBagOptions {
  EmbeddingBagOptions(int64_t num_embeddings, int64_t embedding_dim)
      : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  TANDEM_ARG(int64_t, num_embeddings);
  TANDEM_ARG(int64_t, embedding_dim);
  TANDEM_ARG(optional<double>, max_norm) = nullopt;
  TANDEM_ARG(double, norm_type) = 2.0;
  TANDEM_ARG(bool, scale_grad_by_freq) = false;
  TANDEM_ARG(EmbeddingBagMode, mode) = kMean;
  TANDEM_ARG(bool, sparse) = false;
  TANDEM_ARG(Tensor, _weight) = Tensor();
  /// The last offset is the end of the last bag.
  TANDEM_ARG(bool, include_last_offset) = false;
  TANDEM_ARG(optional<int64_t>, padding_idx) = nullopt;
};

struct EmbeddingBagFromPretrainedOptions {
  TANDEM_ARG(bool, freeze) = true;
  TANDEM_ARG(optional<double>, max_norm) = nullopt;
  TANDEM_ARG(double, norm_type) = 2.0;
  TANDEM_ARG(bool, scale_grad_by_freq) = false;
  TANDEM_ARG(EmbeddingBagMode, mode) = kMean;
  TANDEM_ARG(bool, sparse) = false;
  TANDEM_ARG(bool, include_last_offset) = false;
  TANDEM_ARG(optional<int64_t>, padding_idx) = nullopt;
};

namespace functional {
struct EmbeddingFuncOptions {
  TANDEM_ARG(optional<int64_t>, padding_idx) = nullopt;
  TANDEM_ARG(optional<double>, max_norm) = nullopt;
  TANDEM_ARG(double, norm_type) = 2.0;
  TANDEM_ARG(bool, scale_grad_by_freq) = false;
  TANDEM_ARG(bool, sparse) = false;
};
struct EmbeddingBagFuncOptions {
  TANDEM_ARG(Tensor, offsets) = Tensor();
  TANDEM_ARG(optional<double>, max_norm) = nullopt;
  TANDEM_ARG(double, norm_type) = 2.0;
  TANDEM_ARG(bool, scale_grad_by_freq) = false;
  TANDEM_ARG(EmbeddingBagMode, mode) = kMean;
  TANDEM_ARG(bool, sparse) = false;
  TANDEM_ARG(Tensor, per_sample_weights) = Tensor();
  TANDEM_ARG(bool, include_last_offset) = false;
  TANDEM_ARG(optional<int64_t>, padding_idx) = nullopt;
};
}  // namespace functional

}  // namespace nn

inline constexpr nn::Maximum kMax = nn::Maximum::kMax;

}  // namespace tandem
