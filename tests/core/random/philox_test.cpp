// Philox against published vectors, and the functions behind the distributions against the C library.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tandem/core/formulas/random_ops.h"

using namespace tandem;

namespace {
void check_block(const PhiloxBlock& block, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  CHECK(block.word[0] == a);
  CHECK(block.word[1] == b);
  CHECK(block.word[2] == c);
  CHECK(block.word[3] == d);
}
}  // namespace

// From kat_vectors of Random123: philox4x32, 10 rounds. Counter words 0 and 1 are the block, 2 and 3 the
// offset.
TEST_CASE("Philox4x32-10: known answers") {
  check_block(philox(0, 0, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
  check_block(philox(~0ull, ~0ull, ~0ull), 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd);
  check_block(philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88), 0xd16cfe09, 0x94fdcceb, 0x5001e420,
              0x24126ea1);
}

TEST_CASE("uniform numbers have 24 and 53 bits and stay below 1") {
  CHECK(uniform_float(~0u) == 1 - 0x1p-24f);
  CHECK(uniform_float(0x100) == 0x1p-24f);
  CHECK(uniform_double(~0u, ~0u) == 1 - 0x1p-53);
  CHECK(uniform_double(0, 1u << 11) == 0x1p-53);
}

TEST_CASE("logarithm") {
  CHECK(random_math::log(1.0f) == 0);
  CHECK(random_math::log(1.0) == 0);
  double worst_float = 0, worst_double = 0;
  for (uint32_t i = 0; i < 200000; ++i) {
    const uint32_t word = i * 21475u + 7;
    const float x = ops::detail::open_uniform(word);
    const double exact = std::log(static_cast<double>(x));
    worst_float = std::max(worst_float, std::abs(random_math::log(x) - exact) / std::abs(exact));
    const double y = ops::detail::open_uniform(uint64_t{word} << 32 | (word * 77u));
    const long double exact_y = std::log(static_cast<long double>(y));
    worst_double = std::max(worst_double, static_cast<double>(std::abs((random_math::log(y) - exact_y) / exact_y)));
  }
  for (int e = 0; e <= 53; ++e) {
    const double x = std::ldexp(1.0, -e), near = std::nextafter(x, 0.0);
    CHECK(random_math::log(x) == doctest::Approx(std::log(x)).epsilon(1e-15));
    CHECK(random_math::log(near) == doctest::Approx(std::log(near)).epsilon(4e-16));
  }
  CHECK(worst_float < 2.5e-7);
  CHECK(worst_double < 5e-16);
}

TEST_CASE("sine and cosine of a fraction of a turn") {
  double worst_float = 0, worst_double = 0;
  for (uint64_t i = 0; i < 200000; ++i) {
    const uint64_t turn = i * 0x9E3779B97F4A7C15u;
    const auto word = static_cast<uint32_t>(turn >> 32);
    const double angle = 2 * M_PI * word / 4294967296.0;
    const auto a = random_math::sincos_turn(word);
    worst_float = std::max({worst_float, std::abs(a.sin - std::sin(angle)), std::abs(a.cos - std::cos(angle))});
    const long double exact = 2 * M_PIl * static_cast<long double>(turn) / 18446744073709551616.0L;
    const auto b = random_math::sincos_turn(turn);
    worst_double = std::max({worst_double, static_cast<double>(std::abs(b.sin - std::sin(exact))),
                             static_cast<double>(std::abs(b.cos - std::cos(exact)))});
  }
  CHECK(worst_float < 1.8e-7);
  CHECK(worst_double < 4e-16);
  const auto quarter = random_math::sincos_turn(uint32_t{1} << 30);
  CHECK(quarter.sin == 1);
  CHECK(quarter.cos == 0);
}

TEST_CASE("high word of a product") {
  CHECK(math::multiply_high(~0ull, ~0ull) == ~0ull - 1);
  CHECK(math::multiply_high(1ull << 63, 6) == 3);
  CHECK(math::multiply_high(0x123456789abcdef0, 0xfedcba9876543210) == 0x121fa00ad77d7422);
}

TEST_CASE("wide integers: the product of 128 and 64 bits carries") {
  RandomParameters p{.base = INT64_MIN, .range = ~0ull};  // all int64 values except the largest
  int64_t out = 0;
  ops::RandomWideInteger::apply(PhiloxBlock{{~0u, ~0u, ~0u, ~0u}}, p, &out);
  CHECK(out == INT64_MAX - 1);
  ops::RandomWideInteger::apply(PhiloxBlock{{0, 0, ~0u, ~0u}}, p, &out);
  CHECK(out == INT64_MIN);
  p.range = 0;
  ops::RandomWideInteger::apply(PhiloxBlock{{~0u, ~0u, 0, 0}}, p, &out);
  CHECK(out == INT64_MAX);
}
