// Older and smaller interfaces of ATen and c10: backends, types, streams of containers, settings. These checks also pass
// with LibTorch, but for one that says so.
#include <ATen/core/Formatting.h>
#include <c10/core/Backend.h>
#include <torch/csrc/utils/tensor_flatten.h>
#include <torch/torch.h>
#undef CHECK  // LibTorch's
#include <doctest/doctest.h>

namespace {
template <class T>
std::string text_of(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}
}  // namespace

TEST_CASE("every device type can be named, only those with tensors make tensors") {
  const char* names[] = {"cpu",    "cuda",  "mkldnn", "opengl", "opencl", "ideep", "hip", "fpga", "maia", "xla",
                         "vulkan", "metal", "xpu",    "mps",    "meta",   "hpu",   "ve",  "lazy", "ipu",  "mtia"};
  for (int i = 0; i < 20; ++i) {
    if (names[i] == std::string("metal")) continue;  // a constant only, in LibTorch
    const torch::Device device(names[i]);
    CHECK(static_cast<int>(device.type()) == i);
    CHECK(text_of(device) == names[i]);
    CHECK(torch::Device(std::string(names[i]) + ":3").index() == 3);
    CHECK(c10::DeviceTypeName(device.type(), /*lower_case=*/true) == names[i]);
  }
  CHECK(torch::Device("mps:1").is_mps());
  CHECK(torch::Device("hip:123") == torch::Device(torch::DeviceType::HIP, 123));
  CHECK(c10::DeviceTypeName(torch::kPrivateUse1) == "PRIVATEUSEONE");
  for (const char* wrong : {"", "cud:1", "cuda:", "cpu::1", ":1", "3", "tpu:4"})
    CHECK_THROWS_AS(torch::Device{wrong}, c10::Error);
  CHECK_THROWS_AS(torch::Device{"cuda:128"}, c10::Error);  // not in LibTorch, which wraps it around
  CHECK_THROWS_AS(torch::ones({2}, torch::kMetal), c10::NotImplementedError);
  CHECK_THROWS_AS(torch::ones({2}).to(torch::kVE), c10::Error);
}

TEST_CASE("a device in braces") {
  const auto options = torch::TensorOptions({torch::kCUDA, 1});
  CHECK(options.device() == torch::Device("cuda:1"));
  CHECK(at::device({at::kCUDA, 1}).device() == torch::Device("cuda:1"));
  const auto x = torch::ones({2});
  CHECK(x.to({torch::kCPU, 0}).equal(x));
  CHECK(x.to({torch::kCPU, 0}, torch::kInt).dtype() == torch::kInt);
  CHECK(torch::zeros({2}, {torch::kCPU, 0}).device().is_cpu());
}

TEST_CASE("options hold any layout, tensors are strided") {
  const auto options = torch::dtype(torch::kByte).layout(torch::kSparse);
  CHECK(options.layout() == torch::kSparse);
  CHECK(options.is_sparse());
  CHECK(torch::TensorOptions().merge_in(options).layout_opt() == torch::kSparse);
  CHECK(text_of(torch::kSparseCsc) == "SparseCsc");
  CHECK(text_of(options).find("layout=Sparse, ") != std::string::npos);
}

TEST_CASE("backends and the types made of them") {
  const auto type = at::getDeprecatedTypeProperties(at::Backend::SparseCUDA, at::kByte);
  CHECK(type.options(5).device() == torch::Device("cuda:5"));
  CHECK(type.options().layout() == at::kSparse);
  CHECK(type.toString() == "SparseCUDAByteType");
  CHECK(type.is_sparse());
  CHECK(type.toBackend(at::Backend::CPU).toString() == "CPUByteType");
  CHECK(type.cpu().toScalarType(at::kInt) == at::CPU(at::kInt));
  CHECK(at::CUDA(at::kFloat).options().device().is_cuda());
  CHECK_THROWS_AS(type.options(c10::optional<at::Device>(at::kCPU)), c10::Error);
  CHECK(c10::backendToDeviceType(c10::Backend::SparseCsrMPS) == at::kMPS);
  CHECK(text_of(c10::Backend::PrivateUse1) == "PrivateUseOne");
  const auto x = torch::ones({2});
  CHECK(x.toBackend(c10::Backend::CPU).equal(x));
  CHECK(at::zeros({2}, at::CPU(at::kLong)).dtype() == at::kLong);
}

TEST_CASE("containers are printed") {
  CHECK(text_of(std::vector<float>{1, 2.5}) == "1 2.5");
  CHECK(text_of(std::vector<int64_t>{3, 4}) == "3 4");
  CHECK(text_of(std::vector<torch::Device>{torch::kCPU, torch::Device("cuda:1")}) == "cpu cuda:1");
  CHECK(text_of(std::map<std::string, std::string>{{"a", "b"}, {"c", "d"}}) == "(a, b) (c, d)");
  CHECK(text_of(std::set<int>{2, 1}) == "1 2");
  CHECK(text_of(std::vector<std::vector<int>>{{1, 2}, {3}}) == "1 2 3");
  CHECK(text_of(std::vector<int>(101, 7)).ends_with(" 7 7 ..."));
  const std::vector<torch::Tensor> tensors{torch::ones({2}), torch::zeros({1})};
  CHECK(text_of(tensors) == text_of(tensors[0]) + " " + text_of(tensors[1]));
}

TEST_CASE("print writes to a stream and returns it") {
  const auto x = torch::arange(12).view({3, 4});
  std::ostringstream out;
  at::print(out, x, 8) << "|end";
  CHECK(out.str().ends_with("[ CPULongType{3,4} ]|end"));
  CHECK(out.str().starts_with("Columns 1"));
}

TEST_CASE("small types and functions") {
  CHECK(std::is_same_v<at::scalar_value_type<c10::complex<float>>::type, float>);
  CHECK(std::is_same_v<at::scalar_value_type<int>::type, int>);
  const std::vector<int64_t> sizes{2, 3};
  CHECK(torch::ones(c10::IntArrayRef(sizes)).sizes() == sizes);
  const auto x = torch::ones({2}, torch::requires_grad());
  const auto leaf = torch::autograd::make_variable(x.tensor_data(), /*requires_grad=*/true);
  CHECK(leaf.is_leaf());
  CHECK(leaf.requires_grad());
  CHECK(leaf.data_ptr() == x.data_ptr());
  CHECK_FALSE(torch::autograd::make_variable(x).requires_grad());
  CHECK_FALSE(torch::autograd::make_variable({}).defined());
  CHECK(at::native::is_nonzero(torch::ones({1})));
}

TEST_CASE("half numbers are added in place, printed, and made from bits") {
  at::Half half = 1.5f;
  half += at::Half(2.f);
  half *= 2;
  half -= 1;
  half /= 4;
  CHECK(half == 1.5f);
  at::BFloat16 rounded = 256.f;
  rounded += 1;
  CHECK(rounded == 256.f);
  CHECK(c10::str(half, ' ', at::BFloat16(0x4049, at::BFloat16::from_bits())) == "1.5 3.14062");
  CHECK(at::Half(0x3c00, at::Half::from_bits()) == 1.f);
}

TEST_CASE("small functions of strings and optional values") {
  std::string text = "a-b-";
  CHECK(c10::ReplaceAll(text, "-", "->") == 2);
  CHECK(text == "a->b->");
  CHECK_THROWS_AS(c10::ReplaceAll(text, "", "x"), c10::Error);
  CHECK(c10::Join(", ", std::vector<int>{1, 2, 3}) == "1, 2, 3");
  CHECK(c10::starts_with(text, "a-"));
  CHECK_FALSE(c10::ends_with(text, 'b'));
  const std::variant<int, std::string> value = "x";
  CHECK(std::visit(c10::overloaded{[](int) { return 1; }, [](const std::string&) { return 2; }}, value) == 2);
  CHECK(c10::value_or_else(std::optional<int>(), [] { return 7; }) == 7);
  CHECK((c10::dtype_or_default(std::nullopt) == at::kFloat));
  CHECK(c10::get_channels_last_strides_2d({2, 3, 4, 5}) == std::vector<int64_t>{60, 1, 15, 3});
  CHECK(torch::equal_if_defined({}, {}));
  CHECK_FALSE(torch::equal_if_defined(torch::ones({1}), {}));
  CHECK(at::isSparse(at::Backend::SparseCUDA));
}

TEST_CASE("checked pointers") {
  static_assert(std::is_base_of_v<c10::Error, c10::OutOfMemoryError>);
  const int* null = nullptr;
  CHECK_THROWS_AS(TORCH_CHECK_NOTNULL(null), c10::Error);
  CHECK(*TORCH_CHECK_NOTNULL(std::make_unique<int>(3)) == 3);
}

TEST_CASE("the text of GELU's approximation, and an optional beta") {
  const std::string text = "tanh";
  const torch::nn::GELUOptions options = torch::nn::GELUOptions().approximate(text);
  CHECK(static_cast<std::string>(options.approximate()) == "tanh");
  CHECK_THROWS_AS(torch::nn::GELUOptions().approximate("tan"), c10::Error);
  const auto x = torch::tensor({3.f}), y = torch::tensor({0.f});
  CHECK(torch::nn::SmoothL1Loss(torch::nn::SmoothL1LossOptions().beta(std::nullopt))(x, y).item<float>() == 2.5f);
  CHECK(torch::nn::SmoothL1Loss(torch::nn::SmoothL1LossOptions().beta(2))(x, y).item<float>() == 2.f);
}

TEST_CASE("tensors are flattened into one and taken out again") {
  const std::vector<torch::Tensor> parts{torch::ones({2, 2}), torch::empty({0}), torch::zeros({3})};
  const auto flat = torch::utils::flatten_dense_tensors(parts);
  CHECK(flat.sizes() == torch::IntArrayRef{7});
  const auto back = torch::utils::unflatten_dense_tensors(flat, parts);
  REQUIRE(back.size() == 3);
  for (int i = 0; i < 3; ++i) CHECK(back[i].equal(parts[i]));
  CHECK(back[0].data_ptr() == flat.data_ptr());
  CHECK_FALSE(back[1].is_alias_of(flat));
  back[2].fill_(5);
  CHECK(flat[6].item<float>() == 5);
}

TEST_CASE("settings of the context are kept") {
  at::Context& context = at::globalContext();
  using Option = at::CuBLASReductionOption;
  CHECK(context.allowFP16ReductionCuBLAS() == Option::AllowReducedPrecisionWithSplitK);
  context.setAllowFP16ReductionCuBLAS(false);
  CHECK(context.allowFP16ReductionCuBLAS() == Option::DisallowReducedPrecisionAllowSplitK);
  context.setAllowFP16ReductionCuBLAS(false, false);
  CHECK(context.allowFP16ReductionCuBLAS() == Option::DisallowReducedPrecisionDisallowSplitK);
  CHECK_THROWS_AS(context.setAllowBF16ReductionCuBLAS(true, false), c10::Error);
  context.setAllowFP16ReductionCuBLAS(true);
  CHECK(context.userEnabledCuDNN());
  context.setUserEnabledCuDNN(false);
  CHECK_FALSE(context.userEnabledCuDNN());
  context.setUserEnabledCuDNN(true);
  context.setSDPUseFlash(false);
  CHECK_FALSE(context.userEnabledFlashSDP());
  CHECK(context.userEnabledMathSDP());
  context.setSDPUseFlash(true);
  context.setBenchmarkLimitCuDNN(3);
  CHECK(context.benchmarkLimitCuDNN() == 3);
  context.setBenchmarkLimitCuDNN(10);
  context.setFloat32MatmulPrecision("high");
  CHECK(context.allowTF32CuBLAS());
  context.setFloat32MatmulPrecision("highest");
  CHECK_FALSE(context.allowTF32CuBLAS());
}
