// Channels-last tensors on a GPU: the layout of results, their bits or rounding against row-major ones, and that nothing
// is transposed.
#include <doctest/doctest.h>

#include "tandem/core/global_context.h"
#include "tandem/models/models.h"
#include "tandem/tests/cuda/on_device.h"
#include "tandem/tests/cuda/skip.h"
#ifdef TANDEM_CUDA_EMULATION
#include "tandem/tests/cuda/device_calls.h"
#endif

using namespace tandem;

namespace {

constexpr auto kLast = MemoryFormat::ChannelsLast;
using Tensors = std::vector<Tensor>;
using Function = std::function<Tensor(const Tensors&)>;

// The result, and the gradients of all inputs.
Tensors computed(const Function& f, const Tensors& inputs, MemoryFormat format) {
  Tensors leaves;
  for (const Tensor& t : inputs) {
    leaves.push_back(t.to(Device("cuda:0")));
    if (t.dim() == 4) leaves.back() = leaves.back().to(format);
    leaves.back() = leaves.back().detach().requires_grad_();
  }
  const Tensor out = f(leaves);
  CHECK(out.suggest_memory_format() == format);
  manual_seed(1);
  const Tensor g = randn(out.sizes(), kFloat).to(out.device(), out.dtype(), false, false, format);
  Tensors all = autograd::grad({out}, leaves, {g});
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].dim() == 4) CHECK(all[i].is_contiguous(format));
  all.insert(all.begin(), out.detach());
  return all;
}

// Whether both layouts have the same results: the same bits, or up to rounding.
void compare(const Function& f, const Tensors& inputs, double tolerance) {
  const Tensors rows = computed(f, inputs, MemoryFormat::Contiguous), last = computed(f, inputs, kLast);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i);
    if (tolerance == 0)
      CHECK(testing::identical(last[i], rows[i]));
    else
      CHECK(testing::close(last[i], rows[i], tolerance));
  }
}

double rounding(ScalarType type) { return type == kBFloat16 ? 0x1p-6 : type == kHalf ? 0x1p-9 : 1e-5; }

}  // namespace

TEST_CASE("channels-last pooling has the bits of row-major pooling") {
  if (!has_devices(1)) return;
  const std::vector<Function> pools = {
      [](const Tensors& x) { return max_pool2d(x[0], 2); },
      [](const Tensors& x) { return max_pool2d(x[0], 3, 2, 1); },
      [](const Tensors& x) { return max_pool2d(x[0], 3, 1, 1, 2, true); },
      [](const Tensors& x) { return avg_pool2d(x[0], 2); },
      [](const Tensors& x) { return avg_pool2d(x[0], 2, 2, 0, false, true, 3); },
      [](const Tensors& x) { return avg_pool2d(x[0], 3, 2, 1, true, false); },
      [](const Tensors& x) {
        return avg_pool2d(x[0], {3, 2}, {1, 2});
      },
      [](const Tensors& x) {
        return adaptive_avg_pool2d(x[0], {3, 2});
      },
      [](const Tensors& x) {
        return adaptive_avg_pool2d(x[0], {5, 4});
      },
  };
  for (const ScalarType type : {kFloat, kDouble, kHalf, kBFloat16})
    for (const int64_t channels : {3, 16})
      for (std::size_t k = 0; k < pools.size(); ++k) {
        CAPTURE(k);
        CAPTURE(channels);
        compare(pools[k], {randint(7, {2, channels, 9, 8}).to(type)}, 0);  // with ties
      }
  compare([](const Tensors& x) { return adaptive_avg_pool2d(x[0], 1); }, {randn({2, 16, 9, 8})}, 1e-6);
}

TEST_CASE("channels-last convolutions") {
  if (!has_devices(1)) return;
  const auto conv = [](int64_t groups) {
    return [groups](const Tensors& x) { return conv2d(x[0], x[1], x[2], {2, 1}, 1, 1, groups); };
  };
  const auto check = [&](ScalarType type, int64_t in, int64_t out, int64_t groups, double tolerance) {
    CAPTURE(in);
    compare(conv(groups),
            {randn({2, in, 9, 8}).to(type), randn({out, in / groups, 3, 3}).to(type), randn({out}).to(type)},
            tolerance);
  };
  for (const ScalarType type : {kHalf, kBFloat16}) {
    check(type, 16, 8, 1, 8 * rounding(type));
    check(type, 3, 8, 1, 8 * rounding(type));
    check(type, 16, 16, 16, 8 * rounding(type));
  }
  check(kFloat, 16, 8, 1, 0);  // row-major inside: tensor cores round
  check(kDouble, 16, 8, 1, 0);
  globalContext().setAllowTF32CuDNN(true);
  check(kFloat, 16, 8, 1, 0x1p-7);
  globalContext().setAllowTF32CuDNN(false);
}

TEST_CASE("a convolution is channels-last if its weight is") {
  if (!has_devices(1)) return;
  const Device gpu("cuda:0");
  const Tensor x = randn({2, 8, 5, 5}).to(gpu, kHalf), w = randn({8, 8, 3, 3}).to(gpu, kHalf);
  CHECK(conv2d(x, w.to(kLast)).is_contiguous(kLast));
  CHECK(conv2d(x.to(kLast), w).is_contiguous(kLast));
  CHECK(conv_transpose2d(x, w.to(kLast)).is_contiguous(kLast));
  CHECK(conv2d(x, w).is_contiguous());
}

TEST_CASE("channels-last batch normalisation") {
  if (!has_devices(1)) return;
  for (const ScalarType type : {kFloat, kBFloat16})
    for (const bool training : {true, false}) {
      const Function f = [&](const Tensors& x) {
        const TensorOptions options{x[0].device()};
        return batch_norm(x[0], x[1], x[2], zeros({16}, options), ones({16}, options), training);
      };
      compare(f, {randn({3, 16, 7, 5}).to(type), randn({16}), randn({16})}, 4 * rounding(type));
    }
}

TEST_CASE("a network trains channels-last as row-major") {
  if (!has_devices(1)) return;
  const Device gpu("cuda:0");
  const auto trained = [&](MemoryFormat format) {
    manual_seed(3);
    nn::Sequential net(nn::Conv2d(nn::Conv2dOptions(3, 8, 3).padding(1)), nn::BatchNorm2d(8), nn::ReLU(),
                       nn::MaxPool2d(2), nn::Conv2d(8, 16, 3), nn::ReLU(), nn::AdaptiveAvgPool2d(1), nn::Flatten(),
                       nn::Linear(16, 4));
    net->to(gpu);
    net->to(format);
    optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.1).momentum(0.9));
    const Tensor x = randn({4, 3, 12, 12}).to(gpu), y = randint(4, {4}, kLong).to(gpu);
    for (int i = 0; i < 3; ++i) {
      optimizer.zero_grad();
      cross_entropy_loss(net->forward(x), y).backward();
      for (const Tensor& p : net->parameters()) CHECK(p.grad().strides() == p.strides());
      optimizer.step();
    }
    Tensors all;
    for (const Tensor& p : net->parameters()) all.push_back(p.detach());
    return all;
  };
  const Tensors rows = trained(MemoryFormat::Contiguous), last = trained(kLast);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(last[i].suggest_memory_format() == (last[i].dim() == 4 ? kLast : MemoryFormat::Contiguous));
    CHECK(testing::close(last[i], rows[i], 1e-4));
  }
}

#ifdef TANDEM_CUDA_EMULATION
TEST_CASE("half convolutions take channels-last tensors as they are") {
  const Device gpu("cuda:0");
  for (const int64_t channels : {16, 3}) {
    const auto last = [&](IntArrayRef sizes) { return randn(sizes).to(gpu, kBFloat16).to(kLast).requires_grad_(); };
    const Tensor x = last({2, channels, 9, 8}), w = last({8, channels, 3, 3});
    Tensor out;
    const Calls forward = calls_of([&] { out = conv2d(x, w); });
    CHECK(forward.library == 1);
    CHECK(forward.kernels == 0);
    const Tensor g = ones_like(out);
    const Calls backward = calls_of([&] { autograd::grad({out}, {x, w}, {g}); });
    CHECK(backward.library == 2);
    CHECK(backward.kernels == 0);
  }
}

TEST_CASE("a channels-last convolution that cuDNN refuses runs row-major") {
  const NoGradGuard no_grad;
  const Device gpu("cuda:0");
  const Tensor x = randn({2, 3, 7, 6}).to(gpu, kHalf), w = randn({5, 3, 2, 2}).to(gpu, kHalf), rows = conv2d(x, w);
  cuda_emulation::fail_next("cudnnBackendFinalize", cudaErrorNotSupported);
  for (int i = 0; i < 2; ++i) {
    Tensor out;
    const Calls calls = calls_of([&] { out = conv2d(x.to(kLast), w.to(kLast)); });
    CHECK(calls.kernels == 5);  // both arguments, and what is transposed of them and of the result
    CHECK(out.is_contiguous(kLast));
    CHECK(testing::identical(out, rows));
  }
}

TEST_CASE("optimizers step channels-last parameters where they are") {
  const Device gpu("cuda:0");
  const auto steps = [&](MemoryFormat format) {
    const Tensor p = randn({8, 8, 3, 3}).to(gpu).to(format).requires_grad_();
    optim::Adam optimizer({p}, optim::AdamOptions(1e-3));
    (p * p).sum().backward();
    optimizer.step();
    return calls_of([&] { optimizer.step(); }).kernels;
  };
  CHECK(steps(kLast) == steps(MemoryFormat::Contiguous));
}
#endif
