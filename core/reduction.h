// How a loss reduces its terms.
#pragma once
#include <cstdint>

namespace tandem {

/// None: the terms themselves; Mean: their (weighted) mean; Sum: their sum; BatchMean: the sum divided by the
/// batch size, for kl_div only.
enum class Reduction : int8_t { None, Mean, Sum, BatchMean };
inline constexpr Reduction kNone = Reduction::None, kMean = Reduction::Mean, kSum = Reduction::Sum,
                           kBatchMean = Reduction::BatchMean;

}  // namespace tandem
