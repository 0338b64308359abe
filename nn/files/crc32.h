// CRC-32 as in gzip, faster than zlib's on CPUs with carry-less multiplication (PCLMULQDQ).
#pragma once
#include <cstddef>
#include <cstdint>

namespace tandem::serialize {

/// Extends `before`, the CRC of the preceding bytes, by `data`. The CRC of no bytes is 0.
uint32_t crc32(const void* data, std::size_t bytes, uint32_t before = 0);
/// CRC of a concatenation: `a` is the CRC of the first part, `b` that of the second, which has `bytes` bytes.
uint32_t joined_crc32(uint32_t a, uint32_t b, uint64_t bytes);

}  // namespace tandem::serialize
