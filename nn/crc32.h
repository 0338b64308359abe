// CRC-32 as in gzip, faster than zlib's where the processor multiplies polynomials (PCLMULQDQ).
#pragma once
#include <cstddef>
#include <cstdint>

namespace tandem::serialize {

/// The sum of what `before` is the sum of, followed by `data`. Of nothing it is 0.
uint32_t crc32(const void* data, std::size_t bytes, uint32_t before = 0);
/// The sum of what `a` is the sum of, followed by `bytes` bytes whose own sum is `b`.
uint32_t joined_crc32(uint32_t a, uint32_t b, uint64_t bytes);

}  // namespace tandem::serialize
