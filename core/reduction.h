// How a loss reduces its terms.
#pragma once
#include "tandem/core/error.h"

namespace tandem {

/// kNone: the terms themselves; kMean: their (weighted) mean; kSum: their sum; kBatchMean: the sum divided by the
/// batch size, for kl_div only.
enum class ReductionKind : int8_t { kNone, kMean, kSum, kBatchMean };

/// An argument of losses. LibTorch's functions take it as a number, so it converts from and to int64_t.
class Reduction {
 public:
  static const Reduction None, Mean, Sum, BatchMean;
  constexpr Reduction(ReductionKind kind = ReductionKind::kNone) : kind_(kind) {}
  /// Throws Error unless `number` is one of ReductionKind.
  Reduction(int64_t number) : kind_(static_cast<ReductionKind>(number)) {
    check(number >= 0 && number <= 3, number, " is not a reduction: expected 0 (none), 1 (mean) or 2 (sum)");
  }
  constexpr ReductionKind kind() const { return kind_; }
  constexpr operator int64_t() const { return static_cast<int64_t>(kind_); }
  friend constexpr bool operator==(Reduction, Reduction) = default;

 private:
  ReductionKind kind_;
};
inline constexpr Reduction Reduction::None{ReductionKind::kNone}, Reduction::Mean{ReductionKind::kMean},
    Reduction::Sum{ReductionKind::kSum}, Reduction::BatchMean{ReductionKind::kBatchMean};
inline constexpr Reduction kNone = Reduction::None, kMean = Reduction::Mean, kSum = Reduction::Sum,
                           kBatchMean = Reduction::BatchMean;

}  // namespace tandem
