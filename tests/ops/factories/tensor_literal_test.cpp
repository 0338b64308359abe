// tensor(...): nested braces, vectors, numbers, and their dtypes.
#include "tandem/autograd/ops/factories/tensor_literal.h"

#include <doctest/doctest.h>

using namespace tandem;

namespace {
template <class T>
bool holds(const Tensor& t, IntArrayRef sizes, const std::vector<T>& values) {
  if (t.sizes() != sizes || t.dtype() != scalar_type_of<T>) return false;
  return ArrayRef<T>(t.data_ptr<T>(), static_cast<std::size_t>(t.numel())) == ArrayRef<T>(values);
}
}  // namespace

TEST_CASE("numbers") {
  CHECK(holds<int64_t>(tensor(5), {}, {5}));
  CHECK(holds<float>(tensor(2.5), {}, {2.5f}));
  CHECK(tensor(true).item<bool>());
  CHECK(((tensor(true).dtype() == kBool)));
  CHECK(holds<double>(tensor(3, kDouble), {}, {3}));
  CHECK(holds<int64_t>(tensor(uint64_t{1} << 40), {}, {int64_t{1} << 40}));
  CHECK(holds<int64_t>(tensor(INT64_MIN), {}, {INT64_MIN}));
  CHECK(holds<uint8_t>(tensor(uint8_t{200}), {}, {200}));
  CHECK(holds<float>(scalar_tensor(3), {}, {3}));
  CHECK(holds<int64_t>(scalar_tensor(3.9, kLong), {}, {3}));
}

TEST_CASE("braces") {
  CHECK(holds<int64_t>(tensor({1, 2, 3}), {3}, {1, 2, 3}));
  CHECK(holds<int64_t>(tensor({{1, 2}, {3, 4}}), {2, 2}, {1, 2, 3, 4}));
  CHECK(holds<float>(tensor({{1.5, 2.0}}), {1, 2}, {1.5f, 2}));
  CHECK(holds<float>(tensor({{{1.0f}, {2.0f}}, {{3.0f}, {4.0f}}}), {2, 2, 1}, {1, 2, 3, 4}));
  CHECK(holds<int64_t>(tensor({{{{{{7}}}}}}), {1, 1, 1, 1, 1, 1}, {7}));
  CHECK(holds<float>(tensor({1, 2.5}), {2}, {1, 2.5f}));  // promotes
  CHECK(holds<int64_t>(tensor({true, 2}), {2}, {1, 2}));
  CHECK(((tensor({true, false}).dtype() == kBool)));
  CHECK(tensor({true, false}).sizes() == IntArrayRef{2});
  CHECK(holds<double>(tensor({{1, 2}, {3, 4}}, kDouble), {2, 2}, {1, 2, 3, 4}));
  CHECK(holds<int32_t>(tensor({1.9, -1.9}, kInt), {2}, {1, -1}));
}

TEST_CASE("empty lists") {
  CHECK(holds<float>(tensor({}), {0}, {}));
  CHECK(holds<float>(tensor({{}, {}}), {2, 0}, {}));
  CHECK(holds<float>(tensor(std::vector<float>{}), {0}, {}));
}

TEST_CASE("vectors") {
  CHECK(holds<int64_t>(tensor(std::vector<int>{1, 2}), {2}, {1, 2}));
  CHECK(holds<int64_t>(tensor(std::vector<int64_t>{1, INT64_MAX}), {2}, {1, INT64_MAX}));
  CHECK(holds<float>(tensor(std::vector<double>{0.5}), {1}, {0.5f}));
  CHECK(holds<double>(tensor(std::vector<float>{0.5f}, kDouble), {1}, {0.5}));
  CHECK(holds<int8_t>(tensor(std::vector<int8_t>{-3}), {1}, {-3}));
  const Tensor flags = tensor(std::vector<bool>{true, false, true});
  CHECK(flags.sizes() == IntArrayRef{3});
  CHECK(flags.data_ptr<bool>()[2]);
  const std::vector<int64_t> row{1, 2};
  CHECK(holds<int64_t>(tensor({row, row}), {2, 2}, {1, 2, 1, 2}));
}

TEST_CASE("options") {
  CHECK(tensor({1.0, 2.0}, requires_grad()).requires_grad());
  CHECK(tensor({1.0, 2.0}, dtype(kDouble).requires_grad(true)).is_leaf());
  CHECK(tensor({1, 2}, device(kCPU)).is_cpu());
  CHECK_THROWS_WITH_AS(tensor({1, 2}, requires_grad()), doctest::Contains("floating point"), Error);
  set_default_dtype(kDouble);
  CHECK(holds<double>(tensor({1.0, 2.0}), {2}, {1, 2}));
  set_default_dtype(kFloat);
}

TEST_CASE("ragged lists throw") {
  CHECK_THROWS_WITH_AS(tensor({{1, 2}, {3}}), doctest::Contains("Expected all sub-lists to have sizes: "), Error);
  CHECK_THROWS_WITH_AS(tensor({{1}, {2, 3}}),
                       doctest::Contains("sizes: 1 (e.g. {1}), but got sub-list {2, 3} with sizes: 2"), Error);
  CHECK_THROWS_WITH_AS(tensor({{1, 2}, 3}), doctest::Contains("sizes: 2 (e.g. {1, 2}), but got sub-list 3 with sizes:"),
                       Error);
  CHECK_THROWS_WITH_AS(tensor({1, {2, 3}}), doctest::Contains("sizes: (e.g. 1), but got sub-list {2, 3} with sizes: 2"),
                       Error);
  CHECK_THROWS_WITH_AS(tensor({{{1}, {2}}, {{3}, {4, 5}}}), doctest::Contains("Expected all sub-lists to have sizes: "),
                       Error);
}
