// Options, devices, dtypes and memory formats as programs written for LibTorch use them. These cases also pass with
// LibTorch.
#include <ATen/OpMathType.h>
#include <ATen/autocast_mode.h>
#include <torch/torch.h>
#undef CHECK  // LibTorch's
#include <doctest/doctest.h>

TEST_CASE("devices as text, numbers and constants") {
  torch::Tensor x = torch::ones({2, 3});
  const std::string name = "cpu";
  const char* letters = "cpu";
  CHECK(x.to("cpu").device().is_cpu());
  CHECK(x.to(name).is_cpu());
  CHECK(x.to(letters, /*non_blocking=*/true).is_cpu());
  CHECK((x.to(torch::Device("cpu"), torch::kHalf).scalar_type() == at::kHalf));
  CHECK(x.to(torch::kCPU, /*non_blocking=*/false, /*copy=*/true).data_ptr() != x.data_ptr());
  CHECK(x.to(x.options().dtype(torch::kLong)).dtype() == torch::kLong);
  torch::Device device = torch::kCPU;
  if (torch::cuda::is_available()) device = torch::Device(torch::kCUDA, 0);
  if (torch::mps::is_available()) device = torch::Device(torch::kMPS);
  CHECK(device.type() != torch::kXLA);
  CHECK_FALSE(device.is_mps());
  CHECK(torch::zeros({1}, torch::Device("cpu")).device().str().substr(0, 3) == "cpu");
  std::unordered_map<torch::Device, int> seen{{torch::Device("cuda:1"), 1}};
  CHECK(seen.count(torch::Device(torch::kCUDA, 1)) == 1);
  CHECK(c10::DeviceTypeName(torch::kCUDA, /*lower_case=*/true) == "cuda");
}

TEST_CASE("tensor options are set and read one by one") {
  const auto gpu = torch::TensorOptions().layout(torch::kStrided).device(torch::kCUDA, 1);
  CHECK(gpu.device_index() == 1);
  CHECK(gpu.layout() == torch::kStrided);
  CHECK(gpu.has_layout());
  CHECK_FALSE(gpu.has_dtype());
  CHECK(torch::TensorOptions().device_index(2).device() == torch::Device("cuda:2"));
  CHECK(torch::device_index(1).device().is_cuda());
  CHECK(torch::TensorOptions(torch::kCUDA, 1).device().index() == 1);
  const auto both = torch::dtype(torch::kInt).merge_in(torch::requires_grad().pinned_memory(true));
  CHECK(both.dtype() == torch::kInt);
  CHECK(both.requires_grad());
  CHECK(both.pinned_memory_opt() == true);
  CHECK(both.memory_format_opt() == c10::nullopt);
  CHECK(torch::memory_format(at::MemoryFormat::ChannelsLast).memory_format_opt() == at::MemoryFormat::ChannelsLast);
  CHECK(torch::dtype<int64_t>().dtype() == torch::kLong);
  CHECK(torch::TensorOptions().requires_grad(c10::nullopt).has_requires_grad() == false);
  const auto options = torch::ones(2, torch::kDouble).options();
  CHECK(options.dtype_opt().value() == torch::kDouble);
  CHECK(options.layout_opt() == at::kStrided);
  std::ostringstream text;
  text << torch::dtype(torch::kLong).layout(torch::kStrided).requires_grad(true);
  CHECK(text.str() ==
        "TensorOptions(dtype=long int, device=cpu (default), layout=Strided, requires_grad=true, "
        "pinned_memory=false (default), memory_format=(nullopt))");
}

TEST_CASE("dtype() describes the element type") {
  const auto x = torch::zeros({2}, torch::kHalf);
  CHECK(x.dtype() == torch::kFloat16);
  CHECK(x.dtype() == torch::ones({1}, torch::kHalf).dtype());
  CHECK(x.dtype().itemsize() == 2);
  CHECK(x.dtype().name() == c10::string_view("c10::Half"));
  CHECK(torch::ones(1).dtype().name() == c10::string_view("float"));
  CHECK((x.dtype().toScalarType() == torch::kHalf));
  CHECK(x.dtype().Match<at::Half>());
  CHECK((torch::typeMetaToScalarType(x.dtype()) == torch::kHalf));
  CHECK((torch::typeMetaToScalarType(torch::get_default_dtype()) == torch::kFloat));
  CHECK(c10::scalarTypeToTypeMeta(torch::kInt) == caffe2::TypeMeta::Make<int>());
  CHECK((torch::ones({2}, x.dtype()).scalar_type() == torch::kHalf));
  CHECK((torch::ones({2}).to(x.dtype()).scalar_type() == torch::kHalf));
  CHECK(torch::ones({2}, torch::dtype(x.dtype())).dtype() == x.dtype());
  CHECK(torch::ones({2}).toType(torch::typeMetaToScalarType(x.dtype())).dtype() == x.dtype());
  CHECK((torch::get_default_dtype() == torch::kFloat));
  switch (x.scalar_type()) {
    case torch::kHalf:
      break;
    default:
      FAIL("not half");
  }
  CHECK(std::string(c10::toString(torch::kLong)) == "Long");
  CHECK(c10::elementSize(torch::kDouble) == 8);
  CHECK(c10::isIntegralType(torch::kBool, /*includeBool=*/true));
  CHECK_FALSE(c10::isIntegralType(torch::kBool, /*includeBool=*/false));
  CHECK(c10::isFloatingType(torch::kBFloat16));
  CHECK_FALSE(at::isComplexType(torch::kFloat));
  CHECK((at::toOpMathType(torch::kHalf) == torch::kFloat));
  CHECK((c10::promoteTypes(torch::kInt, torch::kFloat) == torch::kFloat));
  CHECK_FALSE(c10::canCast(torch::kFloat, torch::kLong));
  CHECK(c10::canCast(torch::kLong, torch::kHalf));
  CHECK_FALSE(c10::canCast(torch::kLong, torch::kBool));
}

TEST_CASE("memory formats") {
  const auto x = torch::arange(2 * 3 * 4 * 5).view({2, 3, 4, 5});
  CHECK(x.is_contiguous(torch::MemoryFormat::Contiguous));
  CHECK_FALSE(x.is_contiguous(torch::MemoryFormat::ChannelsLast));
  CHECK(x.contiguous(torch::MemoryFormat::Contiguous).is_same(x));
  const auto last = x.contiguous(at::MemoryFormat::ChannelsLast);
  CHECK(last.strides() == torch::IntArrayRef{60, 1, 15, 3});
  CHECK(last.is_contiguous(at::MemoryFormat::ChannelsLast));
  CHECK_FALSE(last.is_contiguous());
  CHECK(torch::equal(last, x));
  CHECK(last.suggest_memory_format() == at::MemoryFormat::ChannelsLast);
  CHECK(x.suggest_memory_format() == at::MemoryFormat::Contiguous);
  CHECK(last.contiguous(at::MemoryFormat::ChannelsLast).is_same(last));
  CHECK(last.contiguous().is_contiguous());
  CHECK(x.clone(at::MemoryFormat::ChannelsLast).strides() == last.strides());
  CHECK(last.clone(at::MemoryFormat::Contiguous).is_contiguous());
  CHECK(x.to(torch::kFloat, false, false, at::MemoryFormat::ChannelsLast).strides() == last.strides());
  CHECK(x.to(x.options().dtype(torch::kInt), false, true, at::MemoryFormat::ChannelsLast).stride(1) == 1);
  CHECK(x.to(x.device(), torch::kInt, false, false, at::MemoryFormat::Contiguous).stride(3) == 1);
  CHECK(x.to(x, false, true, at::MemoryFormat::ChannelsLast).stride(1) == 1);
  CHECK(torch::empty({2, 3, 4, 5}, torch::kInt, at::MemoryFormat::ChannelsLast).strides() == last.strides());
  CHECK(torch::empty({2, 3, 4, 5}, torch::memory_format(at::MemoryFormat::ChannelsLast)).stride(1) == 1);
  CHECK(torch::zeros_like(x, x.options(), at::MemoryFormat::ChannelsLast).strides() == last.strides());
  CHECK(torch::empty_like(x, at::MemoryFormat::ChannelsLast).stride(1) == 1);
  const auto deep = torch::zeros({1, 2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast3d);
  CHECK(deep.strides() == torch::IntArrayRef{120, 1, 40, 10, 2});
  CHECK(deep.suggest_memory_format() == at::MemoryFormat::ChannelsLast3d);
  CHECK(torch::zeros({4, 1, 1, 1}).suggest_memory_format() == at::MemoryFormat::Contiguous);
  CHECK(torch::zeros({2, 0, 3, 3}).suggest_memory_format() == at::MemoryFormat::Contiguous);
  CHECK_THROWS_AS(torch::zeros({2, 3}).contiguous(at::MemoryFormat::ChannelsLast), c10::Error);
  CHECK_THROWS_AS(last.contiguous(at::MemoryFormat::Preserve), c10::Error);
}

TEST_CASE("channels last has gradients of both orders") {
  const auto x = torch::rand({1, 2, 2, 3}, torch::dtype(torch::kDouble).requires_grad(true));
  const auto y = x.clone(at::MemoryFormat::ChannelsLast);
  const auto g = torch::autograd::grad({(y * y * y).sum()}, {x}, {}, true, true)[0];
  CHECK(torch::allclose(g, 3 * x * x));
  CHECK(torch::allclose(torch::autograd::grad({g.sum()}, {x})[0], 6 * x));
}

TEST_CASE("reductions as numbers, and arguments for libraries") {
  const auto scores = torch::log_softmax(torch::arange(6.).view({2, 3}), 1);
  const auto target = torch::tensor({0, 2});
  const int64_t mean = at::Reduction::Mean;
  const auto loss = torch::nll_loss(scores, target, {}, at::Reduction::Mean);
  CHECK(torch::nll_loss(scores, target, {}, mean).equal(loss));
  CHECK(torch::nll_loss(scores, target, {}, 1, -100).equal(loss));
  CHECK(torch::nll_loss(scores, target, c10::nullopt, at::Reduction::None).sizes() == torch::IntArrayRef{2});
  CHECK(torch::mse_loss(scores, scores, at::Reduction::Sum).item<float>() == 0);
  CHECK_THROWS_AS(at::mse_loss(scores, scores, 17), c10::Error);
  const auto x = torch::rand({2, 4, 3});
  const auto w = torch::ones({4}), b = torch::zeros({4});
  CHECK(torch::batch_norm(x, w, b, b, w, false, 0.1, 1e-5, true).sizes() == x.sizes());
  CHECK(torch::batch_norm(x, {}, {}, {}, {}, true, 0.1, 1e-5, torch::globalContext().userEnabledCuDNN()).defined());
  CHECK(torch::instance_norm(x, w, b, {}, {}, true, 0.1, 1e-5, false).defined());
  CHECK(torch::group_norm(x, 2, w, b, 1e-5, true).defined());
  CHECK(torch::layer_norm(x, {3}, {}, {}, 1e-5, true).defined());
}

TEST_CASE("autocast is switched by functions") {
  const torch::Tensor a = torch::randn({2, 3}), b = torch::randn({3, 2}).requires_grad_();
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::increment_nesting();
  CHECK(at::autocast::is_autocast_enabled(at::kCPU));
  CHECK((at::autocast::get_autocast_dtype(at::kCPU) == at::kBFloat16));
  const torch::Tensor product = torch::mm(a, b);
  CHECK((product.scalar_type() == torch::kBFloat16));
  CHECK((at::autocast::cached_cast(at::kBFloat16, a, at::kCPU).scalar_type() == torch::kBFloat16));
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, false);
  product.sum().backward();
  CHECK((b.grad().scalar_type() == torch::kFloat));
  CHECK((torch::mm(a, b).scalar_type() == torch::kFloat));
}
