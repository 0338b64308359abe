// Programs that declare names in LibTorch's namespaces, and c10's small types.
#include <c10/util/irange.h>
#include <doctest/doctest.h>
#include <torch/script.h>

// Their own modules and functions in torch and its parts.
namespace torch {
namespace nn {
struct ScaleImpl : Module {
  explicit ScaleImpl(double by) : by(by) {}
  Tensor forward(const Tensor& x) { return functional::relu(x) * by; }
  double by;
};
TORCH_MODULE(Scale);
namespace functional {
inline Tensor scaled_relu(const Tensor& x, double by) { return torch::relu(x) * by; }
}  // namespace functional
}  // namespace nn
inline Tensor twice(const Tensor& x) { return x + x; }
}  // namespace torch
namespace torch::data::datasets {
struct Counting : Dataset<Counting> {
  Example<> get(size_t i) override { return {full({2}, static_cast<double>(i)), tensor(static_cast<int64_t>(i))}; }
  optional<size_t> size() const override { return 5; }
};
}  // namespace torch::data::datasets
namespace at {
inline int64_t elements(const Tensor& x) { return x.numel(); }
}  // namespace at
namespace c10 {
inline bool is_even(int64_t n) { return n % 2 == 0; }
}  // namespace c10

TEST_CASE("a program adds to the namespaces") {
  const torch::Tensor x = torch::tensor({-1.0, 2.0});
  torch::nn::Scale scale(3.0);
  CHECK(scale->forward(x).equal(torch::tensor({0.0, 6.0})));
  CHECK(torch::nn::functional::scaled_relu(x, 2).equal(torch::tensor({0.0, 4.0})));
  CHECK(torch::twice(x).equal(x * 2));
  CHECK(at::elements(x) == 2);
  CHECK(c10::is_even(4));
  torch::nn::Sequential net(torch::nn::Linear(2, 2), torch::nn::Scale(2.0));
  CHECK(net->forward(torch::ones({1, 2})).sizes() == torch::IntArrayRef({1, 2}));
  auto set = torch::data::datasets::Counting().map(torch::data::transforms::Stack<>());
  auto loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(std::move(set), 2);
  int64_t sum = 0;
  for (auto& batch : *loader) sum += batch.target.sum().item<int64_t>();
  CHECK(sum == 10);
}

namespace user {
using namespace torch;
using namespace at;
using namespace c10;

Tensor norm_of(const nn::Linear& layer) { return nn::functional::relu(layer->weight).norm(); }
Tensor with_index(const Tensor& x) { return x.index({indexing::Slice(1, indexing::None)}); }
struct Net : nn::Module {
  Net() : fc(register_module("fc", nn::Linear(3, 1))) {}
  Tensor forward(Tensor x) { return sigmoid(fc->forward(x)); }
  nn::Linear fc;
};
}  // namespace user

TEST_CASE("all three namespaces at once are not ambiguous") {
  user::Net net;
  torch::optim::SGD sgd(net.parameters(), torch::optim::SGDOptions(0.1));
  CHECK(user::norm_of(net.fc).item<float>() >= 0);
  CHECK(user::with_index(torch::arange(3)).equal(torch::tensor({1, 2})));
  static_assert(std::is_same_v<at::Tensor, torch::Tensor> && std::is_same_v<c10::IntArrayRef, at::IntArrayRef>);
}

// std::optional and Tandem's are one type, and so are their nullopts.
namespace both {
using namespace std;
using namespace torch;
optional<int> nothing() { return nullopt; }
}  // namespace both
// Names that only Tandem has are free for programs.
namespace torch {
namespace optim {
struct CosineAnnealingLR {};
}  // namespace optim
namespace parallel {
inline int own() { return 1; }
}  // namespace parallel
namespace data {
struct Own : Dataset<Own> {
  Example<> get(size_t) override { return {zeros({1}), zeros({1})}; }
  optional<size_t> size() const override { return 1; }
};
}  // namespace data
}  // namespace torch

TEST_CASE("names of std and of the program") {
  CHECK(!both::nothing().has_value());
  CHECK(torch::parallel::own() == 1);
  CHECK(torch::data::Own().size() == 1);
}

TEST_CASE("irange counts as LibTorch's does") {
  std::vector<int64_t> counted;
  for (const auto i : c10::irange(3)) counted.push_back(i);
  for (const auto i : c10::irange(1, 3)) counted.push_back(10 * i);
  for (const auto i : c10::irange(2, 0)) counted.push_back(i);
  for (const auto i : c10::irange(-2)) counted.push_back(i);
  CHECK(counted == std::vector<int64_t>{0, 1, 2, 10, 20});
  for (const auto i : c10::irange(std::size_t{1})) static_assert(std::is_same_v<decltype(i), const std::size_t>);
}

TEST_CASE("errors are caught by kind") {
  CHECK_THROWS_AS(TORCH_CHECK_VALUE(1 > 2, "one is ", 1), c10::ValueError);
  CHECK_THROWS_AS(TORCH_CHECK_TYPE(1 > 2), c10::TypeError);
  CHECK_THROWS_AS(TORCH_CHECK_INDEX(1 > 2), c10::IndexError);
  CHECK_THROWS_AS(TORCH_CHECK_NOT_IMPLEMENTED(1 > 2), c10::NotImplementedError);
  CHECK_THROWS_AS(TORCH_CHECK_WITH(NotImplementedError, 1 > 2, "later"), torch::NotImplementedError);
  CHECK_THROWS_WITH_AS(TORCH_CHECK(1 > 2), "Expected 1 > 2 to be true", c10::Error);
  try {
    torch::ones({2}).index({3});
    CHECK(false);
  } catch (const c10::IndexError& error) {
    CHECK(std::string(error.what_without_backtrace()).find('3') != std::string::npos);
  }
}

template <class T>
double sum_of(const torch::Tensor& t) {
  double sum = 0;
  for (const auto i : c10::irange(t.numel())) sum += static_cast<double>(t.data_ptr<T>()[i]);
  return sum;
}

TEST_CASE("AT_DISPATCH calls with the element type of the dtype") {
  for (const auto dtype : {torch::kF32, torch::kF64, torch::kF16, torch::kI32, torch::kI64, torch::kU8}) {
    const auto t = torch::full({3}, 2, torch::dtype(dtype));
    CHECK(AT_DISPATCH_ALL_TYPES_AND(torch::kHalf, t.scalar_type(), "sum", [&] { return sum_of<scalar_t>(t); }) == 6);
  }
  const auto integers = torch::ones({3}, torch::kLong);
  CHECK(AT_DISPATCH_INDEX_TYPES(integers.scalar_type(), "sum", [&] { return sum_of<index_t>(integers); }) == 3);
  std::string text;
  try {
    AT_DISPATCH_FLOATING_TYPES(integers.scalar_type(), "my_kernel", [&] { text = "called"; });
  } catch (const c10::Error& error) {
    text = error.what();
  }
  CHECK(text == "\"my_kernel\" not implemented for 'Long'");
}

TEST_CASE("AT_DISPATCH over complex and given dtypes") {
  const auto size_of = [](torch::Dtype dtype) {
    return AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(at::ScalarType::Half, at::kBFloat16, at::kBool, dtype, "size", [] {
      return sizeof(scalar_t) * (c10::isComplexType(c10::CppTypeToScalarType<scalar_t>::value) ? 10 : 1);
    });
  };
  for (const auto dtype : {torch::kU8, torch::kI16, torch::kI32, torch::kI64, torch::kF16, torch::kBFloat16,
                           torch::kF32, torch::kF64, torch::kBool})
    CHECK(size_of(dtype) == c10::elementSize(dtype));
  CHECK(size_of(torch::kComplexFloat) == 80);
  CHECK(size_of(torch::kComplexDouble) == 160);
  const auto z = torch::full({2}, c10::complex<double>(1, 2), torch::kComplexDouble);
  AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(
      z.scalar_type(), "sum", [&] { CHECK(std::abs(z.data_ptr<scalar_t>()[1]) == doctest::Approx(std::sqrt(5))); });
  CHECK_THROWS_AS(AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, z.scalar_type(), "no", [] {}), c10::Error);
}

TEST_CASE("parallel_reduce adds the parts in their order, whatever the number of threads") {
  std::vector<float> values(100000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1.f / static_cast<float>(i + 1);
  const auto sum = [&](int64_t grain) {
    return at::parallel_reduce(
        int64_t{0}, static_cast<int64_t>(values.size()), grain, 0.f,
        [&](int64_t begin, int64_t end, float part) {
          for (; begin < end; ++begin) part += values[static_cast<std::size_t>(begin)];
          return part;
        },
        std::plus<float>());
  };
  const float two_threads = sum(1000);
  at::set_num_threads(1);
  CHECK(sum(1000) == two_threads);
  at::set_num_threads(2);
  CHECK(sum(1) == doctest::Approx(two_threads));
  CHECK(at::parallel_reduce(
            int64_t{3}, int64_t{3}, 1, -1, [](int64_t, int64_t, int) { return 5; }, std::plus<int>()) == -1);
  CHECK(at::divup(7, 2) == 4);
}

TEST_CASE("parallel_for with a beginning") {
  std::vector<int> seen(20);
  at::parallel_for(3, 17, 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
  });
  for (size_t i = 0; i < seen.size(); ++i) CHECK(seen[i] == (i >= 3 && i < 17 ? 1 : 0));
  at::parallel_for(5, 5, 1, [](int64_t, int64_t) { CHECK(false); });
}

TEST_CASE("optional lists, strings and numbers") {
  const c10::OptionalIntArrayRef none = c10::nullopt;
  CHECK(!none.has_value());
  const std::vector<int64_t> dims{2, 3};
  CHECK(c10::OptionalIntArrayRef(dims)->size() == 2);
  CHECK(c10::multiply_integers(dims) == 6);
  CHECK(c10::str("a", 1, 'b') == "a1b");
  const c10::string_view view = "abc";
  CHECK(view.size() == 3);
  CHECK(*std::make_unique<int>(3) == *torch::make_unique<int>(3));
  static_assert(TORCH_VERSION_MAJOR >= 2);
}

TEST_CASE("in-place methods are const") {
  torch::nn::Linear layer(2, 2);
  layer->forward(torch::ones({1, 2})).sum().backward();
  const torch::NoGradGuard guard;
  for (const auto& p : layer->parameters()) {
    p.fill_(1).mul_(3);
    p.grad().zero_();
  }
  const torch::Tensor x = layer->bias;
  x += 1;
  x *= x;
  torch::relu_(x);
  CHECK(layer->bias.equal(torch::full({2}, 16.0f)));
  CHECK(layer->weight.grad().sum().item<float>() == 0);
  CHECK(&x.add_(0) == &x);
}
