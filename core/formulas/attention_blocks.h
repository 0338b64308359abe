// How attention is cut into blocks of scores where its sums have the CPU's order.
#pragma once
#include <cstdint>

namespace tandem {

inline constexpr int64_t kQueryBlock = 128, kKeyBlock = 256;  ///< queries and keys of a block

}  // namespace tandem
