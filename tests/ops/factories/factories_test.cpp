// Factories: exact ranges, overflowing sizes, the caller's memory.
#include "tandem/autograd/ops/factories/factories.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/tests/ops/values.h"

using namespace tandem;
using namespace tandem::testing;

TEST_CASE("arange: a literal 0 is a number, not a device name") {
  CHECK(show(arange(-5, 0)) == "[5] -5 -4 -3 -2 -1");
  CHECK((arange(-5, 0).dtype() == kLong));
  CHECK(show(arange(0, 5, 2)) == "[3] 0 2 4");
  CHECK(show(arange(3, 0, -1)) == "[3] 3 2 1");
  CHECK(arange(0).numel() == 0);
  CHECK(arange(3, "cpu").numel() == 3);
  CHECK(arange(3, std::string("cpu:0")).numel() == 3);
}

TEST_CASE("arange of integers that double cannot represent") {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max(), kOdd = (int64_t{1} << 53) + 1;
  const Tensor top = arange(kMax - 3, kMax);
  REQUIRE(top.numel() == 3);
  for (int64_t i = 0; i < 3; ++i) CHECK(top.data_ptr<int64_t>()[i] == kMax - 3 + i);
  const Tensor odd = arange(kOdd, kOdd + 2);
  REQUIRE(odd.numel() == 2);
  CHECK(odd.data_ptr<int64_t>()[0] == kOdd);
  CHECK(odd.data_ptr<int64_t>()[1] == kOdd + 1);
  const Tensor down = arange(-kMax + 2, -kMax - 1, -2);
  REQUIRE(down.numel() == 2);
  CHECK(down.data_ptr<int64_t>()[1] == -kMax);
  CHECK_THROWS_WITH_AS(arange(-kMax, kMax), doctest::Contains("too many elements"), Error);
}

TEST_CASE("arange rejects steps of zero or of the wrong sign") {
  CHECK_THROWS_WITH_AS(arange(0, 1, 0), doctest::Contains("step must not be 0"), Error);
  CHECK_THROWS_WITH_AS(arange(0, 1, -1), doctest::Contains("inconsistent with the sign of step"), Error);
  CHECK_THROWS_WITH_AS(arange(0, INFINITY), doctest::Contains("unsupported range"), Error);
}

TEST_CASE("factories and views without memory reject element counts beyond 63 bits") {
  constexpr int64_t kBig = int64_t{1} << 40;
  CHECK_THROWS_AS(zeros({kBig, kBig}), Error);
  CHECK_THROWS_AS(empty({3, int64_t{1} << 62}), Error);
  CHECK_THROWS_AS(full({int64_t{1} << 32, int64_t{1} << 32}, 1), Error);
  CHECK_THROWS_AS(zeros({int64_t{1} << 60}), Error);  // the size in bytes overflows
  CHECK(empty({0, kBig, kBig}).numel() == 0);
  const Tensor one = ones({1});
  CHECK_THROWS_AS(one.expand({kBig, kBig}), Error);
  CHECK_THROWS_AS(one.expand({3, int64_t{1} << 62}), Error);
  CHECK_THROWS_AS(one.as_strided({int64_t{1} << 32, int64_t{1} << 32}, {0, 0}), Error);
  CHECK(one.expand({kBig}).numel() == kBig);
}

TEST_CASE("from_blob: any callable as deleter, called once, with the last reference") {
  float numbers[6] = {0, 1, 2, 3, 4, 5};
  int freed = 0;
  {
    const auto state = std::make_shared<int>(7);
    Tensor t = from_blob(numbers, {2, 3}, [&freed, state](void* data) {
      CHECK(static_cast<float*>(data)[5] == 5);
      freed += *state;
    });
    CHECK(state.use_count() == 2);
    Tensor row = t[1];
    t.reset();
    CHECK(show(row) == "[3] 3 4 5");
    CHECK(freed == 0);
  }
  CHECK(freed == 7);
  {
    auto own = std::make_unique<int>(3);  // a move-only callable
    Tensor t = from_blob(
        numbers, {2, 2}, {1, 2}, [&freed, own = std::move(own)](void*) { freed = *own; }, kFloat);
    CHECK(show(t) == "[2, 2] 0 2 1 3");
  }
  CHECK(freed == 3);
  static int called;
  called = 0;
  void (*function)(void*) = [](void*) { ++called; };
  from_blob(numbers, {6}, function).reset();
  CHECK(called == 1);
}

TEST_CASE("from_blob rejects invalid sizes and strides") {
  float numbers[4] = {};
  CHECK_THROWS_AS(from_blob(numbers, {-1}), Error);
  CHECK_THROWS_WITH_AS(from_blob(numbers, {2}, {-1}), doctest::Contains("negative strides"), Error);
  CHECK_THROWS_WITH_AS(from_blob(numbers, {2, 2}, {1}), doctest::Contains("2 sizes but 1 strides"), Error);
  CHECK_THROWS_AS(from_blob(numbers, {int64_t{1} << 40, int64_t{1} << 40}), Error);
  CHECK_THROWS_WITH_AS(from_blob(numbers, {int64_t{1} << 32, int64_t{1} << 30}, {int64_t{1} << 40, 1}),
                       doctest::Contains("address too many elements"), Error);
  const auto state = std::make_shared<int>(0);
  CHECK_THROWS_AS(from_blob(numbers, {2}, {-1}, [state](void*) { ++*state; }), Error);
  CHECK(*state == 0);
  CHECK(state.use_count() == 1);
  int freed = 0;
  CHECK(from_blob(nullptr, {0}, [&](void*) { ++freed; }).sum().item<float>() == 0);
  CHECK(freed == 1);
}
