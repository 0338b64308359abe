// Storage, accessors, names and printing of tensors as programs written for LibTorch use them, and functions of the
// program's own with common names. These cases also pass with LibTorch.
#include <torch/torch.h>
#undef CHECK  // LibTorch's
#include <doctest/doctest.h>

// Found without a namespace, although the argument is a tensor of the library.
static int check(const torch::Tensor& t) { return static_cast<int>(t.dim()); }
static int fail(torch::Tensor t) { return static_cast<int>(t.dim()) + 10; }
static int fail(const std::string& text, const torch::Tensor& t) {
  return static_cast<int>(text.size()) + static_cast<int>(t.dim());
}
static torch::Tensor concat(torch::Tensor a, torch::Tensor b) { return torch::cat({a, b}); }
static std::string concat(const std::string& text, const torch::Tensor& t) { return text + std::to_string(t.dim()); }
static bool check_index(bool valid, const torch::Tensor&) { return valid; }

namespace {

template <class T>
std::string text_of(const T& value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

}  // namespace

TEST_CASE("a program's functions named check, fail and concat") {
  const auto x = torch::ones({2, 3});
  CHECK(check(x) == 2);
  CHECK(fail(x) == 12);
  CHECK(fail("four", x) == 6);
  CHECK(concat(x, x).size(0) == 4);
  CHECK(concat("d", x) == "d2");
  CHECK(check_index(true, x));
  CHECK(torch::concat({x, x}, 1).size(1) == 6);
  CHECK(relu(x).equal(x));  // LibTorch's functions are found, as there
}

TEST_CASE("m calls a function with the tensor") {
  const torch::Tensor x = torch::ones({2, 3});
  const auto total = [](const torch::Tensor& t, int64_t dim, double factor) { return t.sum(dim) * factor; };
  CHECK(x.m(total, 1, 2.0).equal(torch::full({2}, 6.0)));
}

TEST_CASE("storage") {
  auto x = torch::arange(6, torch::kFloat).view({2, 3});
  const auto y = x[1];
  CHECK(x.storage().nbytes() == 24);
  CHECK(x.storage().data() == x.data_ptr());
  CHECK(x.storage().data_ptr().get() == x.data_ptr<float>());
  CHECK(static_cast<const float*>(y.storage().data())[y.storage_offset()] == 3);
  static_cast<float*>(x.storage().data())[0] = 8;
  CHECK(x[0][0].item<float>() == 8);
  static_cast<float*>(x.storage().mutable_data())[0] = 9;
  CHECK(x[0][0].item<float>() == 9);
  CHECK(x.storage().device() == x.device());
  CHECK(x.storage().use_count() >= 2);
  CHECK(x.is_alias_of(y));
  CHECK(y.storage().is_alias_of(x.storage()));
  CHECK_FALSE(x.is_alias_of(x.clone()));
  CHECK(x.is_set_to(x.view({2, 3})));
  CHECK_FALSE(x.is_set_to(x.view({3, 2})));
  CHECK(x.unsafeGetTensorImpl() == torch::Tensor(x).unsafeGetTensorImpl());
  CHECK(x.use_count() == 1);
  torch::Tensor none;
  CHECK_FALSE(none.defined());
  CHECK(none.use_count() == 0);
  CHECK(x.const_data_ptr<float>() == x.mutable_data_ptr());
}

TEST_CASE("accessors") {
  auto x = torch::arange(6, torch::kInt).view({2, 3}).t();
  auto a = x.accessor<int, 2>();
  CHECK(a.size(0) == 3);
  CHECK(a[2][1] == 5);
  a[2][1] = 7;
  auto packed = x.packed_accessor64<int, 2>();
  CHECK(packed[2][1] == 7);
  packed[0][0] = 8;
  at::PackedTensorAccessor32<int, 2> small = x.packed_accessor32<int, 2>();
  CHECK(small[0][0] == 8);
  CHECK(small.size(1) == 2);
  CHECK(small.stride(0) == 1);
  torch::TensorAccessor<int, 1> row = a[0];
  CHECK(row.size(0) == 2);
  CHECK(row.stride(0) == 3);
  int sum = 0;
  for (int64_t i = 0; i < a.size(0); i++)
    for (int64_t j = 0; j < a[i].size(0); j++) sum += a[i][j];
  CHECK(sum == 8 + 1 + 2 + 3 + 4 + 7);
  CHECK_THROWS_AS((x.packed_accessor32<int, 3>()), c10::Error);
  CHECK_THROWS_AS((x.packed_accessor64<float, 2>()), c10::Error);
}

TEST_CASE("kinds of tensors") {
  const auto x = torch::rand({2, 3});
  CHECK(x.layout() == torch::kStrided);
  CHECK(x.toString() == "CPUFloatType");
  CHECK(x.type().toString() == "CPUFloatType");
  CHECK((x.type().scalarType() == torch::kFloat));
  CHECK(x.type() == torch::zeros({1}).type());
  CHECK(x.name() == "");
  CHECK_FALSE(x.is_conj());
  CHECK_FALSE(x.is_neg());
  CHECK_FALSE(x.is_sparse());
  CHECK(x.conj().is_same(x));
  CHECK(x.resolve_conj().resolve_neg().is_same(x));
  CHECK(x.numpy_T().sizes() == torch::IntArrayRef{3, 2});
  CHECK(torch::ones({2, 3, 4}).numpy_T().sizes() == torch::IntArrayRef{4, 3, 2});
  CHECK(torch::ones({2, 3, 4}).mH().sizes() == torch::IntArrayRef{2, 4, 3});
  CHECK(x.adjoint().equal(x.t()));
  CHECK_THROWS_AS(torch::ones({3}).adjoint(), c10::Error);
  CHECK_THROWS_AS(torch::ones({2, 3, 4}).matrix_H(), c10::Error);
}

TEST_CASE("printing") {
  CHECK(text_of(torch::tensor({1.5, -2., 0.}).to(torch::kDouble)) == " 1.5000\n-2.0000\n 0.0000\n[ CPUDoubleType{3} ]");
  CHECK(text_of(torch::tensor({1, 20})) == "  1\n 20\n[ CPULongType{2} ]");
  CHECK(text_of(torch::tensor({true, false})) == " 1\n 0\n[ CPUBoolType{2} ]");
  CHECK(text_of(torch::ones({1, 2}, torch::kHalf)) == " 1  1\n[ CPUHalfType{1,2} ]");
  CHECK(text_of(torch::ones({2}, torch::kByte)) == " 1\n 1\n[ CPUByteType{2} ]");
  CHECK(text_of(torch::Tensor()) == "[ Tensor (undefined) ]");
  CHECK(text_of(torch::scalar_tensor(3.5)) == "3.5\n[ CPUFloatType{} ]");
  CHECK(text_of(torch::empty({0})) == "[ CPUFloatType{0} ]");
  CHECK(text_of(torch::Device("cuda:1")) == "cuda:1");
  CHECK(text_of(torch::kCPU) == "cpu");
  CHECK(text_of(torch::kFloat) == "Float");
  CHECK(text_of(torch::ones(1).dtype()) == "float");
  CHECK(text_of(torch::kStrided) == "Strided");
  CHECK(text_of(at::MemoryFormat::ChannelsLast) == "ChannelsLast");
  CHECK(text_of(torch::ones({2, 3}).sizes()) == "[2, 3]");
  CHECK(text_of(torch::Scalar(2)) == "2");
}
