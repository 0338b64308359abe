// Scalar: conversions follow C++ casts, and throw if an integer type cannot hold the value.
#include "tandem/core/scalar.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tandem/core/error.h"

using namespace tandem;

TEST_CASE("conversions to integers truncate, and reject values that do not fit") {
  CHECK(Scalar(1.9).toInt() == 1);
  CHECK(Scalar(-1.9).toLong() == -1);
  CHECK(Scalar(int64_t{1} << 40).toLong() == int64_t{1} << 40);
  CHECK(Scalar(-0x1p63).toLong() == std::numeric_limits<int64_t>::min());
  CHECK_THROWS_WITH_AS(Scalar(int64_t{1} << 40).toInt(),
                       "value cannot be converted to type int without overflow: 1099511627776", Error);
  CHECK_THROWS_WITH_AS(Scalar(1e20).toInt(), doctest::Contains("value cannot be converted to type int without"), Error);
  CHECK_THROWS_WITH_AS(Scalar(0x1p63).toLong(), doctest::Contains("value cannot be converted to type long int without"),
                       Error);
  CHECK_THROWS_WITH_AS(Scalar(std::nan("")).toLong(),
                       doctest::Contains("value cannot be converted to type long int without"), Error);
  CHECK_THROWS_WITH_AS(Scalar(-129).to<int8_t>(), doctest::Contains("converted to type signed char without overflow"),
                       Error);
}

TEST_CASE("uint8 wraps negative numbers as in PyTorch; bool and floats accept everything") {
  CHECK(Scalar(-1).to<uint8_t>() == 255);
  CHECK(Scalar(255).to<uint8_t>() == 255);
  CHECK_THROWS_AS(Scalar(256).to<uint8_t>(), Error);
  CHECK_THROWS_AS(Scalar(-256).to<uint8_t>(), Error);
  CHECK(Scalar(1e300).toBool());
  CHECK(std::isinf(Scalar(1e300).toFloat()));
  CHECK(Scalar(int64_t{-3}).toDouble() == -3);
}

TEST_CASE("integers beyond int64 stay what they are") {
  const uint64_t largest = std::numeric_limits<uint64_t>::max();
  const Scalar big = largest;
  CHECK(big.toUInt64() == largest);
  CHECK(big.toDouble() == 0x1p64);
  CHECK((big.type() == kUInt64));
  CHECK(big.isIntegral(false));
  CHECK(big.equal(largest));
  CHECK_FALSE(big.equal(-1));
  CHECK_FALSE(Scalar(-1).equal(largest));
  CHECK((-big).toDouble() == -0x1p64);
  CHECK(big.toBool());
  CHECK_THROWS_WITH_AS(big.toLong(),
                       "value cannot be converted to type long int without overflow: 18446744073709551615", Error);
  CHECK(Scalar(-1).toUInt64() == largest);
  CHECK_THROWS_AS(Scalar(-2.5).toUInt64(), Error);
  CHECK_THROWS_AS(Scalar(-1.0).toUInt16(), Error);
  CHECK(Scalar(0x1p63).toUInt64() == uint64_t{1} << 63);
  CHECK_THROWS_AS(Scalar(0x1p64).toUInt64(), Error);
  CHECK_THROWS_AS(Scalar(std::nan("")).toUInt64(), Error);
  CHECK((Scalar(uint64_t{5}).type() == kLong));
  CHECK(Scalar(-1).toUInt16() == 65535);
  CHECK_THROWS_AS(Scalar(65536).toUInt16(), Error);
}
