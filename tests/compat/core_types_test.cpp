// c10's small types as programs written for LibTorch use them: errors and checks, arrays, numbers, guards. These cases
// also pass with LibTorch.
#include <ATen/AccumulateType.h>
#include <ATen/OpMathType.h>
#include <ATen/TensorUtils.h>
#include <c10/core/DeviceGuard.h>
#include <c10/util/DimVector.h>
#include <c10/util/Logging.h>
#include <c10/util/SmallVector.h>
#include <c10/util/complex.h>
#include <torch/torch.h>
#undef CHECK  // LibTorch's
#include <doctest/doctest.h>

#include <numeric>

namespace {

template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const c10::Error& e) {
    CHECK(std::string(e.what()).find(e.what_without_backtrace()) == 0);
    return e.msg();
  }
  return "nothing thrown";
}

int64_t product(torch::IntArrayRef sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<int64_t>());
}

}  // namespace

TEST_CASE("errors") {
  CHECK(message_of([] {
          TORCH_CHECK(1 > 2, "sizes ", torch::zeros({2, 3}).sizes(), " on ", torch::kCPU);
        }) == "sizes [2, 3] on cpu");
  CHECK_THROWS_AS(throw c10::Error({__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, "text"), std::exception);
  CHECK(message_of([] { throw c10::Error("text", nullptr); }) == "text");
  CHECK_THROWS_AS(C10_THROW_ERROR(ValueError, "bad"), c10::ValueError);
  CHECK_THROWS_AS(TORCH_CHECK_INDEX(false, "index ", 3), c10::IndexError);
  CHECK_THROWS_AS(TORCH_CHECK_TYPE(false, "type"), c10::TypeError);
  CHECK_THROWS_AS(TORCH_INTERNAL_ASSERT(false, "internal"), c10::Error);
  TORCH_INTERNAL_ASSERT_DEBUG_ONLY(true, "fine");
  try {
    torch::ones({2, 3}).mm(torch::ones({2, 3}));
    FAIL("mm did not throw");
  } catch (const c10::Error& e) {
    CHECK(!e.msg().empty());
  }
}

TEST_CASE("comparing checks take a text") {
  const auto x = torch::ones({2, 3});
  TORCH_CHECK_EQ(x.size(0), 2) << "not evaluated";
  if (x.dim() == 2)
    TORCH_CHECK_NE(x.size(0), x.size(1));
  else
    FAIL("two dimensions");
  const std::string text = message_of([&] {
    TORCH_CHECK_EQ(x.size(0), x.size(1)) << "sizes of "
                                         << "x";
  });
  CHECK(text.find("x.size(0) == x.size(1) (2 vs. 3)") != std::string::npos);
  CHECK(text.find("sizes of x") != std::string::npos);
  CHECK_THROWS(TORCH_CHECK_LT(3, 3));
  CHECK_THROWS(TORCH_CHECK_GT(3, 3) << "equal");
  TORCH_CHECK_LE(3, 3);
  TORCH_CHECK_GE(3, 3);
  int evaluated = 0;
  const auto next = [&] { return ++evaluated; };
  TORCH_CHECK_EQ(next(), 1) << next();
  CHECK(evaluated == 1);
}

TEST_CASE("array references") {
  const std::vector<int64_t> sizes{2, 3, 4};
  const torch::IntArrayRef a(sizes);
  CHECK(a.slice(1).vec() == std::vector<int64_t>{3, 4});
  CHECK(a.slice(0, 2).equals({2, 3}));
  CHECK(a.front() + a.back() + a.at(1) == 9);
  CHECK(*a.rbegin() == 4);
  CHECK(std::vector<int64_t>(a.rbegin(), a.rend()) == std::vector<int64_t>{4, 3, 2});
  CHECK(a.allMatch([](int64_t n) { return n > 1; }));
  CHECK_THROWS(a.at(3));
  CHECK(product(a) == 24);
  const int64_t array[] = {5, 6};
  CHECK(product(array) == 30);
  CHECK(product(at::makeArrayRef(sizes)) == 24);
  std::ostringstream text;
  text << a << c10::ArrayRef<double>{0.5, 1.} << torch::zeros({2, 1}).sizes();
  CHECK(text.str() == "[2, 3, 4][0.5, 1][2, 1]");
  CHECK(torch::zeros({2, 3, 4}).sizes() == sizes);
  CHECK(torch::zeros({2, 3, 4}).sizes().slice(1) == torch::IntArrayRef({3, 4}));
}

TEST_CASE("small vectors") {
  c10::SmallVector<int64_t, 4> v{2, 3};
  v.push_back(4);
  v.insert(v.begin(), 1);
  v.emplace_back(5);
  v.append({6, 7});
  v.pop_back();
  CHECK(product(v) == 720);
  CHECK(torch::zeros(v).dim() == 6);
  v.erase(v.begin());
  v.resize(2);
  CHECK(torch::zeros(v).sizes() == torch::IntArrayRef{2, 3});
  at::DimVector dims(torch::zeros({4, 5}).sizes());
  dims.resize(3, 7);
  CHECK(torch::empty(dims).size(2) == 7);
  const at::DimVector copy = dims;
  CHECK(copy == dims);
  CHECK(at::DimVector(3, 1) == at::DimVector{1, 1, 1});
  c10::SmallVector<std::string, 1> words{"a", "b"};
  std::swap(words[0], words[1]);
  CHECK(words.front() + words.back() == "ba");
}

TEST_CASE("an optional tensor is asked whether it has a value, not what the tensor's elements are") {
  std::optional<torch::Tensor> none, some = torch::zeros({2});
  static_assert(std::is_same_v<decltype(!none), bool>);
  static_assert(std::is_same_v<decltype(none == std::nullopt), bool>);
  static_assert(std::is_same_v<decltype(std::nullopt != some), bool>);
  CHECK(!none);
  CHECK_FALSE(!some);
  CHECK(bool(none == c10::nullopt));
  CHECK(bool(some != c10::nullopt));
  CHECK((some && !none));
  CHECK(none.value_or(*some).numel() == 2);
}

// Which types convert to which, conversions.cpp shows.
TEST_CASE("what is converted keeps its value") {
  using Sizes = torch::ExpandingArrayWithOptionalElem<2>;
  CHECK(**Sizes(torch::IntArrayRef{4, 5})->begin() == 4);
  CHECK(*Sizes(std::array<int64_t, 2>{4, 5})->at(1) == 5);
  CHECK(*Sizes(c10::optional<int64_t>(6))->at(1) == 6);
  CHECK_FALSE(Sizes({4, c10::nullopt})->at(1).has_value());
  CHECK_THROWS_AS(Sizes(torch::IntArrayRef{1, 2, 3}), c10::Error);
  const auto x = torch::arange(6);
  CHECK(x.index({torch::indexing::Slice(c10::optional<int>(2), x.size(0), 3.0)}).size(0) == 2);
  const bool stored = x.storage();
  CHECK(stored);
  CHECK(!torch::Storage());
  CHECK(torch::TensorOptions(std::string("cpu")).device() == torch::Device("cpu"));
}

TEST_CASE("optional values, text and complex numbers") {
  c10::optional<int64_t> none = c10::nullopt;
  CHECK(none.value_or(3) == 3);
  CHECK(c10::make_optional(4.5).has_value());
  c10::optional<std::string> built(std::in_place, 3, 'x');
  CHECK(*built == "xxx");
  const auto sum_of = [](at::OptionalIntArrayRef dim) { return dim.has_value() ? dim->size() : 0; };
  CHECK(sum_of(c10::nullopt) == 0);
  CHECK(sum_of(torch::IntArrayRef{0, 1}) == 2);
  CHECK(sum_of({0, 1, 2}) == 3);
  CHECK(sum_of(std::vector<int64_t>{4}) == 1);
  CHECK(torch::ones({2, 3}).var(at::OptionalIntArrayRef({0, 1}), torch::Scalar(1)).item<float>() == 0);
  c10::string_view view = "abc";
  CHECK(view.substr(1) == "bc");
  const c10::complex<double> z(3, 4), i(0, 1);
  CHECK(std::abs(z) == 5);
  CHECK((z * i).real() == -4);
  CHECK((z + 1.).imag() == 4);
  CHECK(std::conj(z) == c10::complex<double>(3, -4));
  using namespace c10::complex_literals;
  CHECK(2_if == c10::complex<float>(0, 2));
  CHECK(0.5_id == c10::complex<double>(0, 0.5));
  const torch::Tensor t = torch::full({2}, z, at::ScalarType::ComplexDouble);
  CHECK(t.data_ptr<c10::complex<double>>()[1] == z);
  CHECK(t[0].item<c10::complex<double>>() == z);
  CHECK(t.is_complex());
  CHECK(std::is_same_v<at::acc_type<float, false>, double>);
  CHECK(std::is_same_v<at::acc_type<float, true>, float>);
  CHECK(std::is_same_v<at::opmath_type<at::Half>, float>);
}

TEST_CASE("scalars") {
  const torch::Scalar integer = 3, real = 2.5, flag = true;
  CHECK(integer.toInt() + real.toDouble() == 5.5);
  CHECK(flag.isBoolean());
  CHECK_FALSE(integer.isComplex());
  CHECK(integer.equal(3));
  CHECK(real.equal(2.5));
  CHECK_FALSE(flag.equal(1));
  CHECK(flag.equal(true));
  CHECK(integer.toByte() == 3);
  CHECK(real.toHalf() == 2.5f);
  CHECK((real.type() == torch::kDouble));
  std::ostringstream text;
  text << integer << ' ' << real << ' ' << flag << ' ' << torch::Scalar(2.0);
  CHECK(text.str() == "3 2.5 true 2");
}

TEST_CASE("guards and the context") {
  torch::manual_seed(5);
  CHECK(at::globalContext().defaultGenerator(at::kCPU).current_seed() == 5);
  CHECK(at::globalContext().hasCUDA() == at::hasCUDA());
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
  CHECK(at::globalContext().deterministicAlgorithms());
  at::globalContext().setDeterministicAlgorithms(false, false);
  const auto x = torch::ones({2}, torch::requires_grad());
  {
    at::NoGradGuard no_grad;
    CHECK_FALSE((x * 2).requires_grad());
    at::AutoGradMode grad(true);
    CHECK((x * 2).requires_grad());
  }
  {
    c10::InferenceMode guard;
    CHECK(torch::ones({1}).is_inference());
  }
  c10::DeviceGuard on(x.device());
  c10::OptionalDeviceGuard maybe(at::device_of(x));
  const c10::OptionalDeviceGuard without;
  CHECK(maybe.original_device().has_value());
  CHECK_FALSE(without.original_device().has_value());
}

TEST_CASE("named arguments and their checks") {
  const auto a = torch::ones({2, 3}), b = torch::ones({3, 2});
  const at::TensorArg first{a, "a", 1}, second{b, "b", 2};
  at::checkDim("f", first, 2);
  at::checkSameDim("f", first, second);
  at::checkAllDefined("f", {first, second});
  at::checkSameType("f", first, second);
  at::checkScalarType("f", first, torch::kFloat);
  at::checkContiguous("f", first);
  at::checkSize("f", first, 1, 3);
  const std::string text = message_of([&] { at::checkSameSize("f", first, second); });
  CHECK(text.find("argument #1 'a'") != std::string::npos);
  CHECK_THROWS(at::checkNumel("f", first, 7));
  CHECK_THROWS(at::checkDimRange("f", first, 3, 5));
}
