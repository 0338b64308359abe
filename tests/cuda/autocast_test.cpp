// Weights under autocast on CUDA: after the first region they are converted together, with the same results.
#include <doctest/doctest.h>

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/copy.h"
#include "tandem/core/backend/runtime.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"
#include "tandem/tests/cuda/skip.h"
#include "tandem/tests/cuda/tolerance.h"
#ifdef TANDEM_CUDA_EMULATION
#include "tandem/tests/cuda/device_calls.h"
#endif

using namespace tandem;
using testing::identical;

namespace {

const Device kDevice("cuda:0");
constexpr int kLayers = 5;

struct Layers {
  Layers() {
    manual_seed(4);
    for (int i = 0; i < kLayers; ++i) weights.push_back(randn({12 + i, 13 + i}).to(kDevice).requires_grad_());
  }
  Tensor forward(const Tensor& x, std::size_t first, std::size_t last) const {
    Tensor h = x;
    for (std::size_t i = first; i < last; ++i) h = mm(h, weights[i]).tanh();
    return h;
  }
  // The gradients of a step with autocast through a part of the layers; undefined for the others.
  std::vector<Tensor> step(std::size_t first = 0, std::size_t last = kLayers, bool cache = true) const {
    for (const Tensor& w : weights) w.mutable_grad().reset();
    Tensor loss;
    {
      const autocast::AutocastGuard mixed(kCUDA, kBFloat16, true, cache);
      loss = forward(ones({6, 12 + static_cast<int64_t>(first)}, TensorOptions(kDevice)), first, last).sum();
    }
    loss.backward();
    std::vector<Tensor> grads;
    for (const Tensor& w : weights) grads.push_back(w.grad());
    return grads;
  }
  std::vector<Tensor> weights;
};

void check_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CAPTURE(i);
    REQUIRE(a[i].defined() == b[i].defined());
    if (a[i].defined()) CHECK(identical(a[i].cpu(), b[i].cpu()));
  }
}

}  // namespace

TEST_CASE("all conversions between float32 and half types in few launches") {
  if (!has_devices(1)) return;
  for (const ScalarType half : {kHalf, kBFloat16})
    for (const bool narrows : {true, false}) {
      const ScalarType from = narrows ? kFloat : half, to = narrows ? half : kFloat;
      std::vector<Tensor> in, out;
      for (int64_t i = 0; i < 100; ++i) {  // more than one launch takes, of all sizes and alignments
        const Tensor room = (randn({i * i * 3 + 9}) * 100).to(from).to(kDevice);
        in.push_back(room.narrow(0, i % 9, room.numel() - i % 9));
        out.push_back(empty_raw(in.back().sizes(), to, kDevice));
      }
      backend(kCUDA).copy.copy_all(out, in);
      for (std::size_t i = 0; i < in.size(); ++i) CHECK(identical(out[i].cpu(), in[i].cpu().to(to)));
    }
}

TEST_CASE("weights that are converted together have the gradients of those that are not") {
  if (!has_devices(1)) return;
  const Layers net;
  const auto expected = net.step(0, kLayers, false);
  for (int i = 0; i < 3; ++i) check_same(net.step(), expected);
  // Others are used, fewer, and all again.
  const Layers other;
  for (int i = 0; i < 2; ++i) {
    check_same(net.step(1, 4), other.step(1, 4, false));
    check_same(net.step(0, 2), other.step(0, 2, false));
    check_same(net.step(), expected);
  }
}

TEST_CASE("a weight that changes within a region is converted again") {
  if (!has_devices(1)) return;
  const Layers net;
  net.step();
  const Tensor x = ones({6, 12}, TensorOptions(kDevice));
  const autocast::AutocastGuard mixed(kCUDA, kBFloat16);
  const Tensor h = mm(x, net.weights[0]);  // converts all
  {
    NoGradGuard no_grad;
    net.weights[1].mul_(2);
  }
  CHECK(identical(mm(h, net.weights[1]).cpu(), mm(h, net.weights[1].detach().to(kBFloat16)).cpu()));
  // Another dtype, and no autocast, in an inner region.
  {
    const autocast::AutocastGuard inner(kCUDA, kHalf);
    CHECK((mm(x, net.weights[0]).dtype() == kHalf));
  }
  {
    const autocast::AutocastGuard without(kCUDA, kBFloat16, false);
    CHECK((mm(x, net.weights[0]).dtype() == kFloat));
  }
  CHECK(identical(mm(x, net.weights[0]).cpu(), h.cpu()));
}

TEST_CASE("weights that were converted together are freed alone") {
  if (!has_devices(1)) return;
  Layers net;
  net.step();
  net.step();
  for (const Tensor& w : net.weights) w.mutable_grad().reset();
  tandem::synchronize(kDevice);
  const int64_t before = cuda::memory_allocated(0);
  net.weights[3] = Tensor();
  CHECK(cuda::memory_allocated(0) < before);
  net.weights.resize(3);
  const int64_t left = cuda::memory_allocated(0);
  const Layers other;
  const Tensor x = ones({6, 12}, TensorOptions(kDevice));
  const auto outer = cuda::memory_allocated(0);
  {
    const autocast::AutocastGuard mixed(kCUDA, kBFloat16);
    CHECK(identical(net.forward(x, 0, 3).cpu(), other.forward(x, 0, 3).cpu()));
  }
  CHECK(cuda::memory_allocated(0) == outer);
  CHECK(left < before);
}

TEST_CASE("second derivatives through weights that are converted together") {
  if (!has_devices(1)) return;
  const Layers net;
  const auto second = [&](bool cache) {
    Tensor loss;
    {
      const autocast::AutocastGuard mixed(kCUDA, kBFloat16, true, cache);
      loss = net.forward(ones({6, 12}, TensorOptions(kDevice)), 0, kLayers).sum();
    }
    const auto first = autograd::grad({loss}, net.weights, {}, nullopt, /*create_graph=*/true);
    return autograd::grad({first[1].square().sum() + first[4].sum()}, net.weights);
  };
  const auto expected = second(false);
  for (int i = 0; i < 3; ++i) check_same(second(true), expected);
}

TEST_CASE("a captured step with weights that are converted together") {
  if (!has_devices(1)) return;
  const Layers eager, recorded;
  optim::SGD one(eager.weights, optim::SGDOptions(0.1)), two(recorded.weights, optim::SGDOptions(0.1));
  const auto run = [](const Layers& net, optim::Optimizer& optimizer, const Tensor& x) {
    optimizer.zero_grad();
    Tensor loss;
    {
      const autocast::AutocastGuard mixed(kCUDA, kBFloat16);
      loss = net.forward(x, 0, kLayers).sum();
    }
    loss.backward();
    optimizer.step();
    return loss.detach();
  };
  cuda::CapturedStep step([&](const Tensor& x) { return run(recorded, two, x); }, {&two});
  for (int i = 0; i < 8; ++i) {
    const Tensor x = full({6, 12}, 0.1 * i, TensorOptions(kDevice));
    const Tensor expected = run(eager, one, x);
    CHECK(identical(step(x)[0].cpu(), expected.cpu()));
  }
  CHECK(step.captured());
  check_same(recorded.weights, eager.weights);
}

#ifdef TANDEM_CUDA_EMULATION
TEST_CASE("weights are converted by one kernel, and their gradients, unless a hook waits for one") {
  const Layers net;
  const auto kernels = [&] { return calls_of([&] { net.step(); }).kernels; };
  const uint64_t alone = kernels(), together = kernels();
  CHECK(together == alone - 2 * (kLayers - 1));
  CHECK(kernels() == together);
  int called = 0;
  const unsigned handle = net.weights[2].register_post_accumulate_grad_hook([&](const Tensor&) { ++called; });
  CHECK(kernels() == together + 2);
  CHECK(called == 1);
  net.weights[2].remove_hook(handle);
  CHECK(kernels() == together);
}

TEST_CASE("the gradient of a transposed weight is not transposed") {
  const Tensor x = randn({9, 5}), g = randn({9, 7}), w = randn({5, 7});
  const auto gradient = [&](const Device& device, const Tensor& weight, bool transposed) {
    const Tensor leaf = weight.clone().to(device).requires_grad_(), input = x.to(device), grad = g.to(device);
    Calls calls{};
    const auto step = [&] { linear(input, transposed ? leaf.t() : leaf).backward(grad); };
    device.is_cuda() ? static_cast<void>(calls = calls_of(step)) : step();
    return std::pair(leaf.grad().cpu(), calls);
  };
  const auto here = gradient(kCPU, w, true), there = gradient(kDevice, w, true),
             plain = gradient(kDevice, w.t().contiguous(), false);
  std::string why;
  CHECK_MESSAGE(testing::close(there.first, here.first, unless_strict(1e-5), &why), why);
  CHECK(there.second == plain.second);
}
#endif
