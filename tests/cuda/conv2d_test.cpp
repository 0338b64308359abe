// CUDA's convolutions against the CPU.
#include <doctest/doctest.h>

#include <filesystem>
#include <functional>
#include <future>
#include <thread>

#include "tandem/core/backend/capture.h"
#include "tandem/core/backend/conv.h"
#include "tandem/core/backend/linalg.h"
#include "tandem/core/global_context.h"
#include "tandem/cuda/ops/conv2d_kept.h"
#include "tandem/cuda/plan_key.h"
#include "tandem/tests/cuda/on_device.h"
#include "tandem/tests/cuda/skip.h"
#include "tandem/tests/environment.h"
#include "tandem/tests/temp_folder.h"
#ifdef TANDEM_CUDA_EMULATION
#include "tandem/tests/cuda/device_calls.h"
#endif

using namespace tandem;
using tandem::cuda_impl::ConvPass;

namespace {

using Inputs = std::vector<Tensor>;

// For the choices of this program, which asks for their folder once; none is there when it begins.
const test::TempFolder cache;
const test::Environment here("TANDEM_CACHE", cache.path());

void check_conv(const Conv2dParameters& p, int64_t channels, int64_t outs, int64_t kernel, ScalarType dtype) {
  CAPTURE(p.stride[0]);
  CAPTURE(p.padding[1]);
  CAPTURE(p.groups);
  const Tensor input = randn({3, channels, 9, 8}, dtype), weight = randn({outs, channels / p.groups, kernel, 2}, dtype);
  const Tensor g = randn({3, outs, p.out_size(0, 9, kernel), p.out_size(1, 8, 2)}, dtype), bias = randn({outs}, dtype);
  const double near = dtype == kFloat ? 2e-5 : 1e-12;
  for (const Tensor& b : {bias, Tensor()})
    nearly_same(empty(g.sizes(), dtype), {input, weight, b}, near,
                [&](const Backend& k, const Tensor& o, const Inputs& in) {
                  k.conv.forward(o, in[0], in[1], {in[2]}, p, nullptr);
                });
  nearly_same(empty(input.sizes(), dtype), {g, weight}, near,
              [&](const Backend& k, const Tensor& o, const Inputs& in) { k.conv.backward_input(o, in[0], in[1], p); });
  nearly_same(empty(weight.sizes(), dtype), {g, input}, near, [&](const Backend& k, const Tensor& o, const Inputs& in) {
    k.conv.backward_weight(o, {}, in[0], in[1], p);
  });
  nearly_same(empty({outs}, dtype), {g}, near,
              [&](const Backend& k, const Tensor& o, const Inputs& in) { k.conv.backward_bias(o, in[0]); });
  nearly_same(empty({outs}, dtype), {g, input}, near, [&](const Backend& k, const Tensor& o, const Inputs& in) {
    k.conv.backward_weight(empty_raw(weight.sizes(), dtype, o.device()), o, in[0], in[1], p);
  });
}

}  // namespace

TEST_CASE("convolutions and their gradients") {
  if (!has_devices(1)) return;
  for (const ScalarType dtype : {kFloat, kDouble}) {
    check_conv({}, 4, 6, 3, dtype);
    check_conv({.stride = {2, 3}, .padding = {1, 2}}, 4, 6, 3, dtype);
    check_conv({.padding = {2, 0}, .dilation = {2, 3}}, 4, 6, 3, dtype);
    check_conv({.groups = 2}, 4, 6, 3, dtype);
    check_conv({.stride = {1, 2}, .padding = {1, 1}, .groups = 4}, 4, 4, 3, dtype);
    check_conv({.stride = {2, 2}}, 1, 3, 1, dtype);
  }
}

TEST_CASE("convolutions chosen by timing, and with TF32") {
  if (!has_devices(1)) return;
  globalContext().setBenchmarkCuDNN(true);
  check_conv({.padding = {1, 1}}, 4, 6, 3, kFloat);
  globalContext().setBenchmarkCuDNN(false);
  globalContext().setAllowTF32CuDNN(true);
  const Tensor input = randn({2, 4, 9, 8}), weight = randn({5, 4, 3, 3});
  nearly_same(empty({2, 5, 7, 6}), {input, weight}, 3e-2, [](const Backend& b, const Tensor& o, const Inputs& in) {
    b.conv.forward(o, in[0], in[1], {}, {}, nullptr);
  });
  globalContext().setAllowTF32CuDNN(false);
}

TEST_CASE("convolution gradients are deterministic unless other algorithms are allowed") {
  if (!has_devices(1)) return;
  const Device device("cuda:0");
  const Tensor input = on_device(randn({6, 4, 12, 12})), weight = on_device(randn({8, 4, 3, 3}));
  const Tensor g = on_device(randn({6, 8, 10, 10}));
  const auto gradient = [&](ConvPass pass) {
    const Tensor out = empty_raw(pass == ConvPass::kInput ? input.sizes() : weight.sizes(), kFloat, device);
    if (pass == ConvPass::kInput)
      backend(device).conv.backward_input(out, g, weight, {});
    else
      backend(device).conv.backward_weight(out, {}, g, input, {});
    tandem::synchronize(device);
    return on_host(out);
  };
  for (const ConvPass pass : {ConvPass::kInput, ConvPass::kWeight}) {
    const Tensor first = gradient(pass);
    for (int again = 0; again < 3; ++again) CHECK(testing::identical(gradient(pass), first));
    globalContext().setDeterministicCuDNN(false);
    CHECK(testing::close(gradient(pass), first, 1e-4));
    globalContext().setDeterministicCuDNN(true);
    CHECK(testing::identical(gradient(pass), first));
  }
}

TEST_CASE("batches too large for cuDNN are split, and the gradients of the parts summed") {
  if (!has_devices(1)) return;
  constexpr int64_t images = 65535;
  const Tensor input = randn({images + 4, 1, 2, 1}, kDouble), weight = randn({2, 1, 2, 1}, kDouble);
  const Tensor g = randn({images + 4, 2, 1, 1}, kDouble), bias = randn({2}, kDouble);
  nearly_same(empty(g.sizes(), kDouble), {input, weight, bias}, 1e-12,
              [](const Backend& k, const Tensor& o, const Inputs& in) {
                k.conv.forward(o, in[0], in[1], {in[2]}, {}, nullptr);
              });
  nearly_same(empty(input.sizes(), kDouble), {g, weight}, 1e-12,
              [](const Backend& k, const Tensor& o, const Inputs& in) { k.conv.backward_input(o, in[0], in[1], {}); });
  nearly_same(
      empty(weight.sizes(), kDouble), {g, input}, 1e-9,
      [](const Backend& k, const Tensor& o, const Inputs& in) { k.conv.backward_weight(o, {}, in[0], in[1], {}); });
  nearly_same(empty({2}, kDouble), {g}, 1e-9,
              [](const Backend& k, const Tensor& o, const Inputs& in) { k.conv.backward_bias(o, in[0]); });
#ifdef TANDEM_CUDA_EMULATION
  const Tensor dw = on_device(weight), dy = on_device(g), x = on_device(input);
  CHECK(calls_of([&] { backend(kCUDA).conv.backward_weight(dw, {}, dy, x, {}); }).library == 2);
#endif
}

#ifdef TANDEM_CUDA_EMULATION
namespace {

void fail_first_engine(cudaError_t error) { cuda_emulation::fail_next("cudnnBackendExecute", error); }

// A convolution. The emulated cuDNN runs its first engine in one library call, the next in two, and has no memory for
// the workspace of the last.
struct Convolution {
  explicit Convolution(int64_t width) : input(randn({2, 3, 6, width})) {}
  uint64_t calls() const {
    const Tensor out = output("cuda:0"), expected = output("cpu:0");
    const uint64_t calls = calls_on(out);
    backend(kCPU).conv.forward(expected, input, weight, {}, {}, nullptr);
    CHECK(testing::close(on_host(out), expected, unless_strict(2e-5)));
    return calls;
  }
  uint64_t captured_calls() const { return calls_on(output("cuda:0"), /*captured=*/true); }
  /// Whether rejecting the first engine leaves none but the last.
  bool has_no_other() const {
    fail_first_engine(cudaErrorNotSupported);
    try {
      calls();
      return false;
    } catch (const OutOfMemoryError&) {
      return true;
    }
  }

 private:
  Tensor output(const char* device) const { return empty_raw({2, 4, 6, input.size(3)}, kFloat, Device(device)); }
  uint64_t calls_on(const Tensor& out, bool captured = false) const {
    const Tensor x = on_device(input), w = on_device(weight);
    const Capture capture(backend(kCUDA).capture, Device("cuda:0"));
    if (captured) capture.kernels().begin(capture.get(), false);
    const Calls calls = calls_of([&] { backend(kCUDA).conv.forward(out, x, w, {}, {}, nullptr); });
    if (captured) CHECK(capture.kernels().end(capture.get()).refusal == "");
    return calls.library;
  }
  Tensor input, weight = randn({4, 3, 1, 1});
};

}  // namespace

TEST_CASE("an engine that cuDNN rejects is dropped, one out of memory or under capture is not") {
  const Convolution refused(5), failed(6), captured(7);
  for (const Convolution* one : {&refused, &failed, &captured}) CHECK(one->calls() == 1);
  fail_first_engine(cudaErrorNotSupported);
  CHECK(refused.calls() == 2);
  CHECK(refused.calls() == 2);
  CHECK(refused.has_no_other());
  fail_first_engine(cudaErrorMemoryAllocation);
  CHECK(failed.calls() == 2);
  CHECK(failed.calls() == 1);
  fail_first_engine(cudaErrorNotSupported);
  CHECK(captured.captured_calls() == 2);
  CHECK(captured.calls() == 1);
}

TEST_CASE("an engine whose workspace does not fit gives way") {
  const Convolution one(10);
  CHECK(one.calls() == 1);
  const auto bytes = [](int64_t count) { return empty_raw({count}, kByte, Device("cuda:0")); };
  std::vector<Tensor> taken;
  Tensor room = bytes(int64_t{1} << 19);
  const auto take_all = [&](int64_t size) {
    for (;;) taken.push_back(bytes(size));
  };
  for (int shift = 29; shift >= 21; --shift) CHECK_THROWS_AS(take_all(int64_t{1} << shift), OutOfMemoryError);
  room = Tensor();
  CHECK(one.calls() == 2);
  taken.clear();
  CHECK(one.calls() == 1);
  backend(kCUDA).runtime.empty_cache(Device("cuda:0"));
}

TEST_CASE("engines are timed outside captures, once on a machine") {
  const Convolution captured(8), untimed(9);
  globalContext().setBenchmarkCuDNN(true);
  CHECK(captured.captured_calls() == 1);
  const uint64_t first = captured.calls(), again = captured.calls();
  CHECK(first == 4 * (1 + 2) + again);
  CHECK(again <= 2);
  std::vector<std::thread> threads;
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  const auto in_new_context = [&] {  // which has no plans: a thread that ends leaves its context to the next
    std::promise<uint64_t> calls;
    threads.emplace_back([&, ended] {
      calls.set_value(captured.calls());
      ended.wait();
    });
    return calls.get_future().get();
  };
  CHECK(in_new_context() == again);
  std::vector<std::string> files;
  for (const auto& file : std::filesystem::directory_iterator(cuda_impl::kept_engines_folder()))
    files.push_back(file.path());
  for (const std::string damage : {"", "cuDNN", "\n\n"}) {
    for (const std::string& file : files) test::write_file(file, damage);
    CHECK(in_new_context() == first);
    CHECK(in_new_context() <= 2);
  }
  end.set_value();
  for (std::thread& thread : threads) thread.join();
  cuda_emulation::fail_next("cudaEventCreate", cudaErrorUnknown);  // of the first engine
  CHECK(untimed.calls() == 4 * 2 + 2);
  CHECK(untimed.calls() == 2);
  globalContext().setBenchmarkCuDNN(false);
}

TEST_CASE("operands of half types are copied if their channels fill vectors; any operand may be unaligned") {
  const auto calls = [](ScalarType dtype, int64_t channels, int64_t offset, int64_t kernel = 2) {
    const auto tensor = [&](std::initializer_list<int64_t> sizes) {
      const Tensor all = randn({2048}, dtype);
      return alias(all, sizes, tandem::empty(sizes).strides(), offset);
    };
    const Tensor x = tensor({2, channels, 6, 5}), w = tensor({8, channels, kernel, kernel}),
                 y = tensor({2, 8, 7 - kernel, 6 - kernel});
    const Tensor here = on_host(y), there = on_device(y), x_there = on_device(x), w_there = on_device(w);
    backend(kCPU).conv.forward(here, x, w, {}, {}, nullptr);
    const Calls calls = calls_of([&] { backend(kCUDA).conv.forward(there, x_there, w_there, {}, {}, nullptr); });
    CHECK(testing::close(on_host(there), here, unless_strict(dtype == kFloat ? 2e-5 : 2e-2)));
    return calls;
  };
  for (const int64_t offset : {0, 1}) {
    CHECK(calls(kFloat, 8, offset) == Calls{1, 0});
    CHECK(calls(kHalf, 4, offset) == Calls{1, 0});
    CHECK(calls(kHalf, 8, offset) == Calls{1, 3});
    CHECK(calls(kBFloat16, 16, offset) == Calls{1, 3});
    CHECK(calls(kHalf, 8, offset, 1) == Calls{1, 2});  // the weight is as it should be
  }
}

TEST_CASE("products and convolutions launch nothing while a captured step's numbers are collected") {
  const Tensor a = on_device(randn({4, 4})), b = on_device(randn({4, 4})), bias = on_device(randn({4}));
  const Tensor images = on_device(randn({2, 4, 3, 3})), weight = on_device(randn({4, 4, 1, 1}));
  const auto out = [](IntArrayRef sizes) { return empty_raw(sizes, kFloat, Device("cuda:0")); };
  const Tensor product = out({4, 4}), convolved = out({2, 4, 3, 3}), gradient = out({4, 4, 1, 1});
  const Backend& k = backend(kCUDA);
  const std::vector<std::pair<const char*, std::function<void()>>> operations = {
      {"matmul", [&] { k.linalg.matmul(product, a, b, 0, 1); }},
      {"linear", [&] { k.linalg.linear(product, a, b, bias); }},
      {"conv2d", [&] { k.conv.forward(convolved, images, weight, {bias}, {}, nullptr); }},
      {"conv2d_backward_input", [&] { k.conv.backward_input(convolved, images, weight, {}); }},
      {"conv2d_backward_weight", [&] { k.conv.backward_weight(gradient, {}, images, images, {}); }},
  };
  for (const auto& [name, run] : operations) {
    const Capture capture(backend(kCUDA).capture, Device("cuda:0"));
    capture.kernels().begin_numbers(capture.get());
    CHECK(calls_of(run) == Calls{0, 0});
    CHECK(capture.kernels().end_numbers(capture.get()) == concat("launches ", name, " in an optimizer's step"));
  }
}
#endif

TEST_CASE("the first choice of an engine stays; a file that does not name the convolution is no choice") {
  const test::TempFolder folder;
  const cuda_impl::Gpu gpu{.name = "GPU", .multiprocessors = 8}, other{.name = "GPU", .multiprocessors = 9};
  const cuda_impl::ConvKey key{}, transposed{.pass = ConvPass::kInput};
  const cuda_impl::KeptEngine kept(folder.path(), gpu, key);
  CHECK(kept.find() == "");
  CHECK(kept.keep("engine 1") == "engine 1");
  CHECK(cuda_impl::KeptEngine(folder.path(), gpu, key).keep("engine 2") == "engine 1");
  CHECK(cuda_impl::KeptEngine(folder.path(), gpu, key).find() == "engine 1");
  CHECK(cuda_impl::KeptEngine(folder.path(), gpu, transposed).find() == "");
  CHECK(cuda_impl::KeptEngine(folder.path(), other, key).find() == "");
  REQUIRE(folder.entries() == 1);  // no temporary file is left
  const std::string file = std::filesystem::directory_iterator(folder.path())->path(), text = test::read_file(file);
  for (const std::size_t length : {std::size_t{0}, text.size() / 2, text.size() - 1}) {
    test::write_file(file, text.substr(0, length));
    CHECK(kept.find() == "");
  }
  test::write_file(file, std::string(1 << 20, 'x'));
  CHECK(kept.keep("engine 3") == "engine 3");
  CHECK(kept.find() == "engine 3");
  CHECK_THROWS_AS((void)cuda_impl::KeptEngine(folder / "none", gpu, key).keep("engine"), Error);
}

TEST_CASE("empty convolutions") {
  if (!has_devices(1)) return;
  const auto forward = [](const Backend& b, const Tensor& o, const Inputs& in) {
    b.conv.forward(o, in[0], in[1], {}, {}, nullptr);
  };
  same_bits(empty({0, 5, 7, 6}), {randn({0, 4, 9, 8}), randn({5, 4, 3, 3})}, forward);
}

TEST_CASE("convolutions take floating-point types only") {
  if (!has_devices(1)) return;
  const Device device("cuda:0");
  const auto integers = [&](IntArrayRef sizes) { return empty_raw(sizes, kLong, device); };
  CHECK_THROWS_WITH_AS(backend(device).conv.forward(integers({2, 5, 7, 6}), integers({2, 4, 9, 8}),
                                                    integers({5, 4, 3, 3}), {}, {}, nullptr),
                       doctest::Contains("conv2d"), Error);
}

TEST_CASE("convolutions of half types and their gradients, with few channels and with channels that fill vectors") {
  if (!has_devices(1)) return;
  const Conv2dParameters p{.stride = {2, 1}, .padding = {1, 0}, .groups = 2};
  for (const ScalarType dtype : {kHalf, kBFloat16})
    for (const int64_t channels : {6, 16}) {
      const Tensor input = randn({3, channels, 9, 8}).to(dtype), weight = randn({16, channels / 2, 3, 2}).to(dtype);
      const Tensor g = randn({3, 16, 5, 7}).to(dtype), bias = randn({16}).to(dtype);
      const double near = dtype == kHalf ? 5e-3 : 4e-2;
      nearly_same(empty(g.sizes(), dtype), {input, weight, bias}, near,
                  [&](const Backend& k, const Tensor& o, const Inputs& in) {
                    k.conv.forward(o, in[0], in[1], {in[2]}, p, nullptr);
                  });
      nearly_same(
          empty(input.sizes(), dtype), {g, weight}, near,
          [&](const Backend& k, const Tensor& o, const Inputs& in) { k.conv.backward_input(o, in[0], in[1], p); });
      nearly_same(
          empty(weight.sizes(), dtype), {g, input}, near,
          [&](const Backend& k, const Tensor& o, const Inputs& in) { k.conv.backward_weight(o, {}, in[0], in[1], p); });
    }
}

TEST_CASE("convolutions of half types are computed in float32 and rounded once") {
  if (!has_devices(1)) return;
  const Device device("cuda:0");
  for (const ScalarType dtype : {kHalf, kBFloat16}) {
    const Tensor images = randn({2, 4, 9, 8}).to(dtype), weight = randn({5, 4, 3, 3}).to(dtype);
    const Tensor rounded = empty({2, 5, 7, 6}, TensorOptions(dtype).device(device));
    const Tensor exact = empty({2, 5, 7, 6}, TensorOptions(kFloat).device(device));
    backend(device).conv.forward(rounded, images.to(device), weight.to(device), {}, {}, nullptr);
    backend(device).conv.forward(exact, images.to(kFloat).to(device), weight.to(kFloat).to(device), {}, {}, nullptr);
    // Not the same bits on a GPU, where the engines of the two dtypes add in different orders.
    CHECK(testing::close(rounded.to(kFloat), exact, dtype == kHalf ? 0x1p-11 : 0x1p-8));
  }
}
