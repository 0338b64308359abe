// Folding as in V. Gopal and others, "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
// Instruction", Intel 2009: replaces blocks by a shorter congruent polynomial. zlib does the rest.
#include "tandem/nn/files/crc32.h"

#include <zlib.h>

#ifdef __PCLMUL__
#include <immintrin.h>
#endif

namespace tandem::serialize {
namespace {

uint32_t by_zlib(uint32_t before, const unsigned char* data, std::size_t bytes) {
  return static_cast<uint32_t>(::crc32_z(before, data, bytes));
}

#ifdef __PCLMUL__
// x^(d+32) and x^(d-32) modulo the polynomial, reflected, for distances d of 16, 64 and 256 bytes.
__m128i factors(int distance) {
  if (distance == 16) return _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
  return distance == 64 ? _mm_set_epi64x(0x1c6e41596, 0x154442bd4) : _mm_set_epi64x(0x1322d1430, 0x11542778a);
}

// Moves x by the distance that the factors encode and adds it to `next`.
__m128i fold(__m128i x, __m128i factors, __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(x, factors, 0x00), high = _mm_clmulepi64_si128(x, factors, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

#if defined(__VPCLMULQDQ__) && defined(__AVX512F__)
constexpr std::size_t kLane = 64;
using Lane = __m512i;
Lane load(const unsigned char* from) { return _mm512_loadu_si512(from); }
Lane every(__m128i x) { return _mm512_broadcast_i32x4(x); }
Lane first(uint32_t x) { return _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(x))); }
Lane sum(Lane x, Lane y) { return _mm512_xor_si512(x, y); }
Lane fold(Lane x, Lane factors, Lane next) {
  const Lane low = _mm512_clmulepi64_epi128(x, factors, 0x00);
  return sum(sum(low, _mm512_clmulepi64_epi128(x, factors, 0x11)), next);
}
__m128i narrow(Lane x) {
  __m128i part[4];
  _mm512_storeu_si512(part, x);
  for (int i = 1; i < 4; ++i) part[i] = fold(part[i - 1], factors(16), part[i]);
  return part[3];
}
#else
constexpr std::size_t kLane = 16;
using Lane = __m128i;
Lane load(const unsigned char* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }
Lane every(__m128i x) { return x; }
Lane first(uint32_t x) { return _mm_cvtsi32_si128(static_cast<int>(x)); }
Lane sum(Lane x, Lane y) { return _mm_xor_si128(x, y); }
__m128i narrow(Lane x) { return x; }
#endif
constexpr std::size_t kBlock = 4 * kLane;

// Requires at least one block.
uint32_t by_folding(uint32_t before, const unsigned char* data, std::size_t bytes) {
  const Lane block = every(factors(kBlock)), lane = every(factors(kLane));
  Lane a = sum(load(data), first(~before));
  Lane b = load(data + kLane), c = load(data + 2 * kLane), d = load(data + 3 * kLane);
  std::size_t done = kBlock;
  for (; bytes - done >= kBlock; done += kBlock) {
    a = fold(a, block, load(data + done));
    b = fold(b, block, load(data + done + kLane));
    c = fold(c, block, load(data + done + 2 * kLane));
    d = fold(d, block, load(data + done + 3 * kLane));
  }
  const __m128i whole = narrow(fold(fold(fold(a, lane, b), lane, c), lane, d));
  unsigned char congruent[16];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(congruent), whole);
  // zlib complements its initial value: ~0 clears the register, since the first block includes `before`.
  return by_zlib(by_zlib(~0u, congruent, sizeof congruent), data + done, bytes - done);
}
#endif

}  // namespace

uint32_t crc32(const void* data, std::size_t bytes, uint32_t before) {
  if (bytes == 0) return before;
  const auto* from = static_cast<const unsigned char*>(data);
#ifdef __PCLMUL__
  if (bytes >= kBlock) return by_folding(before, from, bytes);
#endif
  return by_zlib(before, from, bytes);
}

uint32_t joined_crc32(uint32_t a, uint32_t b, uint64_t bytes) {
  return static_cast<uint32_t>(::crc32_combine(a, b, static_cast<z_off_t>(bytes)));
}

}  // namespace tandem::serialize
