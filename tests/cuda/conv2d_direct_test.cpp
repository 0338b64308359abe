// CUDA's own kernels for convolutions of few channels, against the CPU's.
#include <doctest/doctest.h>

#include "tandem/core/backend/conv.h"
#include "tandem/core/global_context.h"
#include "tandem/cuda/ops/conv2d_direct.h"
#include "tandem/cuda/ops/conv2d_kept.h"
#include "tandem/tests/cuda/on_device.h"
#include "tandem/tests/cuda/skip.h"
#ifdef TANDEM_CUDA_EMULATION
#include "tandem/tests/cuda/device_calls.h"
#endif

using namespace tandem;
using cuda_impl::ConvPass;

namespace {

struct Problem {
  int64_t images, channels, height, width, outs, kernel_h, kernel_w;
  Conv2dParameters p;

  std::vector<int64_t> input() const { return {images, channels, height, width}; }
  std::vector<int64_t> weight() const { return {outs, channels, kernel_h, kernel_w}; }
  std::vector<int64_t> output() const {
    return {images, outs, p.out_size(0, height, kernel_h), p.out_size(1, width, kernel_w)};
  }
};

const Device kDevice("cuda:0");

cuda_impl::ConvKey key_of(const Problem& q, ConvPass pass, ScalarType dtype, bool channels_last) {
  const Tensor x = empty_raw(q.input(), dtype, kDevice), w = empty_raw(q.weight(), dtype, kDevice),
               y = empty_raw(q.output(), dtype, kDevice);
  return cuda_impl::conv_key(pass, {x, w, y}, q.p, channels_last);
}

void check_pass(const Problem& q, ConvPass pass, ScalarType dtype, bool channels_last) {
  const cuda_impl::ConvKey key = key_of(q, pass, dtype, channels_last);
  REQUIRE(cuda_impl::has_direct(key));
  const auto numbers = [&](IntArrayRef sizes) { return randint(-3, 4, sizes).to(dtype); };  // whose sums are exact
  const Tensor x = numbers(q.input()), w = numbers(q.weight()), y = numbers(q.output());
  const Tensor bias = pass == ConvPass::kForward ? numbers({q.outs}) : Tensor();
  const auto there = [&](const Tensor& t) {
    return t.to(kDevice, t.scalar_type(), false, false,
                channels_last ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous);
  };
  const Tensor x_there = there(x), w_there = there(w), y_there = there(y);
  cuda_impl::Context& c = cuda_impl::context(kDevice);
  const Tensor workspace = empty_raw({static_cast<int64_t>(cuda_impl::direct_workspace(key))}, kByte, kDevice);
  cuda_impl::run_direct(c, key, {x_there, w_there, y_there}, workspace, bias.defined() ? bias.to(kDevice) : bias);
  const ConvKernels& here = backend(kCPU).conv;
  if (pass == ConvPass::kForward) here.forward(y, x, w, {bias}, q.p, nullptr);
  if (pass == ConvPass::kInput) here.backward_input(x, y, w, q.p);
  if (pass == ConvPass::kWeight) here.backward_weight(w, {}, y, x, q.p);
  const Tensor& expected = pass == ConvPass::kForward ? y : pass == ConvPass::kInput ? x : w;
  const Tensor& result = pass == ConvPass::kForward ? y_there : pass == ConvPass::kInput ? x_there : w_there;
  CHECK(testing::identical(result.to(kCPU).contiguous(), expected));
}

void check_problem(const Problem& q, std::initializer_list<ScalarType> dtypes = {kFloat}) {
  CAPTURE(q.outs);
  CAPTURE(q.kernel_w);
  CAPTURE(q.p.stride[0]);
  for (const ScalarType dtype : dtypes)
    for (const bool channels_last : {false, true}) {
      check_pass(q, ConvPass::kForward, dtype, channels_last);
      check_pass(q, ConvPass::kWeight, dtype, channels_last);
      if (q.p.stride == std::array<int64_t, 2>{1, 1}) check_pass(q, ConvPass::kInput, dtype, channels_last);
    }
}

}  // namespace

TEST_CASE("direct convolutions and their gradients, of every kernel, stride and layout") {
  if (!has_devices(1)) return;
  for (const int64_t kernel : {3, 4, 5, 6, 7})
    for (const int64_t stride : {1, 2})
      check_problem({2, 3, 11, 13, 10, kernel, kernel, {.stride = {stride, stride}, .padding = {1, kernel - 1}}});
  check_problem({3, 5, 9, 8, 7, 3, 4, {.stride = {2, 1}, .padding = {0, 2}}}, {kHalf, kBFloat16, kFloat});
  check_problem({1, 1, 3, 7, 1, 3, 7, {}});  // one element
}

TEST_CASE("direct convolutions that are cut along each axis") {
  if (!has_devices(1)) return;
  check_problem({3, 1, 28, 28, 6, 5, 5, {.padding = {2, 2}}});  // LeNet's
  check_problem({5, 6, 14, 14, 16, 5, 5, {}});
  check_problem({40, 2, 3, 3, 5, 3, 3, {}});                     // many images in a block
  check_problem({1, 64, 12, 9, 64, 3, 3, {.padding = {1, 1}}});  // channels in parts, channels of the output in tiles
  check_problem({1, 3, 150, 20, 4, 3, 3, {.padding = {1, 1}}});  // rows in tiles
  check_problem({1, 2, 6, 300, 33, 7, 7, {.padding = {3, 3}}});  // columns in tiles
}

TEST_CASE("numbers beside the windows of a direct convolution do not count") {
  if (!has_devices(1)) return;
  const Problem q{2, 3, 6, 6, 4, 3, 3, {.stride = {2, 2}}};
  Tensor x = randint(-3, 4, q.input()).to(kFloat);
  x.select(2, 5).fill_(NAN);
  x.select(3, 5).fill_(NAN);
  const Tensor w = empty_raw(q.weight(), kFloat, kDevice), y = ones(q.output(), TensorOptions(kDevice));
  const cuda_impl::ConvKey key = key_of(q, ConvPass::kWeight, kFloat, false);
  const Tensor workspace = empty_raw({static_cast<int64_t>(cuda_impl::direct_workspace(key))}, kByte, kDevice);
  cuda_impl::run_direct(cuda_impl::context(kDevice), key, {x.to(kDevice), w, y}, workspace, {});
  CHECK(w.isfinite().all().item<bool>());
}

TEST_CASE("what has no direct convolution") {
  if (!has_devices(1)) return;
  const Problem q{2, 4, 12, 12, 8, 3, 3, {}};
  const auto has = [](const Problem& of, ConvPass pass = ConvPass::kForward, ScalarType dtype = kFloat) {
    return cuda_impl::has_direct(key_of(of, pass, dtype, false));
  };
  CHECK(has(q));
  CHECK(has({2, 64, 12, 12, 64, 7, 7, {}}));
  CHECK_FALSE(has(q, ConvPass::kForward, kDouble));
  CHECK_FALSE(has({2, 65, 12, 12, 8, 3, 3, {}}));
  CHECK_FALSE(has({2, 4, 12, 12, 65, 3, 3, {}}));
  CHECK_FALSE(has({2, 4, 12, 12, 8, 2, 3, {}}));
  CHECK_FALSE(has({2, 4, 12, 12, 8, 3, 8, {}}));
  CHECK_FALSE(has({2, 4, 12, 12, 8, 3, 3, {.stride = {3, 1}}}));
  CHECK_FALSE(has({2, 4, 12, 12, 8, 3, 3, {.dilation = {1, 2}}}));
  CHECK_FALSE(has({2, 4, 12, 12, 8, 3, 3, {.padding = {3, 0}}}));
  CHECK(has({2, 4, 12, 12, 8, 3, 3, {.stride = {2, 1}}}, ConvPass::kWeight));
  CHECK_FALSE(has({2, 4, 12, 12, 8, 3, 3, {.stride = {2, 1}}}, ConvPass::kInput));
  CHECK_FALSE(has({1, 4, 3, 40000, 8, 3, 3, {}}, ConvPass::kWeight));  // a row has no room in shared memory
  CHECK_FALSE(cuda_impl::has_direct({.pass = ConvPass::kWeight,
                                     .input = {1, 1, 20000, 20000},
                                     .weight = {1, 1, 3, 3},
                                     .output = {1, 1, 19998, 19998}}));
}

#ifdef TANDEM_CUDA_EMULATION
TEST_CASE("a direct convolution that is a machine's choice adds the bias, in one launch") {
  if (!has_devices(1)) return;
  const Problem q{3, 4, 11, 9, 6, 3, 3, {}};
  const Tensor x = randn(q.input()), w = randn(q.weight()), bias = randn({q.outs}), y = randn(q.output());
  const Tensor x_there = on_device(x), w_there = on_device(w), bias_there = on_device(bias), y_there = on_device(y);
  globalContext().setBenchmarkCuDNN(true);
  const cuda_impl::ConvKey key = cuda_impl::conv_key(ConvPass::kForward, {x_there, w_there, y_there}, q.p, false);
  CHECK(key.benchmark);
  const cuda_impl::KeptEngine kept(cuda_impl::kept_engines_folder(), cuda_impl::context(kDevice).gpu(), key);
  REQUIRE(kept.keep("direct") == "direct");
  const Calls calls =
      calls_of([&] { backend(kCUDA).conv.forward(y_there, x_there, w_there, {bias_there}, q.p, nullptr); });
  globalContext().setBenchmarkCuDNN(false);
  CHECK(calls == Calls{0, 1});
  backend(kCPU).conv.forward(y, x, w, {bias}, q.p, nullptr);
  CHECK(testing::close(on_host(y_there), y, unless_strict(2e-5)));
}
#endif
