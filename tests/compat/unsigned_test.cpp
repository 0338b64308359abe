// Tensors of uint16, uint32 and uint64, which hold data. These cases also pass with LibTorch.
#include <torch/torch.h>
#undef CHECK  // LibTorch's
#include <doctest/doctest.h>

#include <limits>

namespace {

const torch::ScalarType kTypes[] = {torch::kUInt16, torch::kUInt32, torch::kUInt64};

}  // namespace

TEST_CASE("memory of unsigned integers is wrapped, read and converted") {
  uint16_t small[] = {1, 2, 65535};
  const auto a = torch::from_blob(small, {3}, torch::kUInt16);
  CHECK(a.element_size() == 2);
  CHECK(a.to(torch::kLong).equal(torch::tensor({1, 2, 65535})));
  CHECK(a.to(torch::kFloat)[2].item<float>() == 65535.0f);
  CHECK(a.to(torch::kInt)[2].item<int>() == 65535);
  CHECK(a.to(torch::kShort)[2].item<int16_t>() == -1);
  CHECK(a[2].item().toUInt16() == 65535);
  CHECK(a.accessor<uint16_t, 1>()[2] == 65535);
  CHECK(a.data_ptr<uint16_t>() == small);
  CHECK(c10::str(a) == "     1\n     2\n 65535\n[ CPUUInt16Type{3} ]");

  uint32_t middle[] = {7, 4294967295u};
  CHECK(torch::from_blob(middle, {2}, torch::kUInt32)
            .to(torch::kLong)
            .equal(torch::tensor({int64_t{7}, int64_t{4294967295}})));
  CHECK(torch::from_blob(middle, {2}, torch::kUInt32).to(torch::kDouble)[1].item<double>() == 4294967295.0);

  const uint64_t largest = std::numeric_limits<uint64_t>::max();
  uint64_t large[] = {largest, uint64_t{1} << 63, 5};
  const auto b = torch::from_blob(large, {3}, torch::kUInt64);
  CHECK(b[0].item().toUInt64() == largest);
  CHECK(b.to(torch::kDouble)[1].item<double>() == 0x1p63);
  CHECK(b.to(torch::kFloat)[1].item<float>() == 0x1p63f);
  CHECK(b.to(torch::kLong)[0].item<int64_t>() == -1);
  CHECK(b.to(torch::kUInt16)[0].item().toUInt16() == 65535);
  CHECK(b.to(torch::kBool).all().item<bool>());
  CHECK(b[0].item().toUInt64() == largest);
  CHECK(b[0].item<double>() == 0x1p64);
}

TEST_CASE("unsigned tensors are created, filled and converted to") {
  for (const auto type : kTypes) {
    CAPTURE(std::string(torch::toString(type)));
    CHECK(torch::zeros({2}, type).to(torch::kLong).equal(torch::zeros({2}, torch::kLong)));
    CHECK((torch::full({2}, 9, type).scalar_type() == type));
    CHECK(torch::tensor({1, 2, 3}, type).to(torch::kLong).equal(torch::tensor({1, 2, 3})));
    const auto x = torch::tensor({-1.0, 2.5, 300.0}).to(type);
    CHECK(x[0].item().toUInt64() == std::numeric_limits<uint64_t>::max() >> (64 - 8 * x.element_size()));
    CHECK(x[1].item<int>() == 2);
    CHECK(x[2].item<int>() == 300);
    CHECK(torch::ones({2}, torch::kBool).to(type).to(torch::kLong).equal(torch::ones({2}, torch::kLong)));
    CHECK(torch::ones({2}, torch::kHalf).to(type).to(torch::kHalf).equal(torch::ones({2}, torch::kHalf)));
    CHECK(x.clone().copy_(torch::tensor({4, 5, 6})).to(torch::kLong).equal(torch::tensor({4, 5, 6})));
    CHECK(x.t().contiguous().equal(x));
    CHECK(c10::isIntegralType(type, false));
    CHECK_FALSE(c10::isSignedType(type));
    CHECK(c10::isBarebonesUnsignedType(type));
  }
  CHECK(torch::tensor({-1}).to(torch::kUInt64)[0].item().toUInt64() == std::numeric_limits<uint64_t>::max());
  CHECK(torch::tensor({0x1p63}, torch::kDouble).to(torch::kUInt64)[0].item().toUInt64() == uint64_t{1} << 63);
  CHECK(std::string(torch::toString(torch::kUInt16)) == "UInt16");
  CHECK((torch::kU32 == torch::kUInt32));
  CHECK(static_cast<int>(torch::kUInt16) == 27);
  CHECK(static_cast<int>(torch::kUInt64) == 29);
}

TEST_CASE("unsigned tensors are indexed, joined and compared for equality") {
  using torch::indexing::Slice;
  for (const auto type : kTypes) {
    CAPTURE(std::string(torch::toString(type)));
    const auto x = torch::tensor({1, 2, 60000}, type);
    CHECK((x == 2).equal(torch::tensor({false, true, false})));
    CHECK((x != 60000).equal(torch::tensor({true, true, false})));
    CHECK((x == x.clone()).all().item<bool>());
    CHECK(torch::equal(x, x.clone()));
    CHECK_FALSE(torch::equal(x, torch::flip(x, {0})));
    CHECK(x.index({torch::tensor({0, 2})}).equal(torch::tensor({1, 60000}, type)));
    CHECK(x.index({x == 2}).equal(torch::tensor({2}, type)));
    CHECK(x.index({Slice(1, 3)}).equal(torch::tensor({2, 60000}, type)));
    CHECK(x.index_select(0, torch::tensor({1})).equal(torch::tensor({2}, type)));
    CHECK(x.gather(0, torch::tensor({2})).equal(torch::tensor({60000}, type)));
    CHECK(torch::cat({x, x}).size(0) == 6);
    CHECK(torch::where(x == 2, x, torch::zeros_like(x)).equal(torch::tensor({0, 2, 0}, type)));
    auto y = x.clone();
    y.index_put_({1}, 9);
    CHECK(y[1].item<int>() == 9);
    // They have no arithmetic with integers, and become floating point with floating point numbers.
    CHECK_THROWS_AS(x + x.to(torch::kLong), c10::Error);
    CHECK_THROWS_AS(x.lt(x), c10::Error);
    CHECK_THROWS_AS(-x, c10::Error);
    CHECK((x + 1.5)[0].item<float>() == 2.5f);
    CHECK((x.to(torch::kFloat) * x)[1].item<float>() == 4.0f);
  }
}
