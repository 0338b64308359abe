// How many dimensions a tensor may have.
#pragma once

namespace tandem {
inline constexpr int kMaxDims = 12;
}  // namespace tandem
