// Fused kernels of captured steps: the bits of eager steps, fewer kernels and bytes, and where a queue ends.
#include <doctest/doctest.h>

#include <functional>
#include <stdexcept>
#include <thread>

#include "tandem/cuda/fusion/kept_code.h"
#include "tandem/nn/captured_step.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"
#include "tandem/tests/cuda/skip.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;

namespace {

const Device kDevice("cuda:0");
using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(const Tensors&)>;

Tensors on_device(const Tensors& tensors) {
  Tensors moved;
  for (const Tensor& t : tensors) moved.push_back(t.to(kDevice));
  return moved;
}
Tensors halved(const Tensors& tensors) {
  Tensors other;
  for (const Tensor& t : tensors) other.push_back(t.is_floating_point() ? t.clone().mul_(0.5) : t);
  return other;
}
void check_same(const Tensors& got, const Tensors& expected) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO("output ", i);
    CHECK(testing::identical(got[i].cpu(), expected[i].cpu()));
  }
}

// Runs the function eagerly and captured on the same inputs; all outputs must have the same bits. `calls` wait in the
// queue, and become so many kernels.
FusionCounts check_fused(const Function& f, const Tensors& inputs, std::size_t calls, std::size_t kernels) {
  const Tensors x = on_device(inputs), other = halved(x), expected = f(x), of_other = f(other);
  cuda::CapturedStep step(f, {}, {.warm_up = 1});
  step(x);
  // What the first of these calls computes is in the memory of the second one.
  check_same(step(x), expected);
  CHECK(step.captured());
  check_same(step(other), of_other);
  CHECK(step.fused().calls == calls);
  CHECK(step.fused().kernels == kernels);
  CHECK(step.fused().bytes_after <= step.fused().bytes_before);
  return step.fused();
}

// Layer normalisation of rows of n elements, with calls before and after it.
void check_norm(ScalarType type, int64_t n) {
  INFO(type, ' ', n);
  const Tensor w = randn({n}).to(kDevice), b = randn({n}).to(kDevice), own = w.to(type);
  const auto norm = [&](const Tensor& x) {
    return layer_norm(x, {n}, type == kDouble ? own : w, type == kDouble ? Tensor() : b);
  };
  const Tensors inputs{randn({3, 7, n}).to(type), randn({3, 7, n}).to(type), randn({n}).to(type)};
  const ScalarType other = type == kFloat ? kBFloat16 : kFloat;
  const FusionCounts both = check_fused(
      [&](const Tensors& x) {
        const NoGradGuard no_grad;
        const Tensor sum = x[0] + x[1] * x[2];  // needed again, so it is written
        return Tensors{sum, norm(sum).relu().to(other) + 1};
      },
      inputs, 5, 0);
  CHECK(both.bytes_after < both.bytes_before);
  check_fused([&](const Tensors& x) { return Tensors{norm(x[0]).to(other)}; }, inputs, 1, 0);
  check_fused(
      [&](const Tensors& x) {
        return Tensors{norm(x[0].view({-1, n}) * 2).view({3, 7, n}) + x[2]};
      },
      inputs, 2, 0);
  check_fused(  // an in-place write to what the normalisation reads ends the queue
      [&](const Tensors& x) {
        const NoGradGuard no_grad;
        Tensor y = x[0] + 1, z = norm(y).mul_(2);
        y.add_(z);
        return Tensors{y, z};
      },
      inputs, 3, 1);
}

}  // namespace

TEST_CASE("a chain is one kernel that writes what is still held") {
  if (!has_devices(1)) return;
  const Function chain = [](const Tensors& x) { return Tensors{(x[0] * x[1] + 1).tanh().relu()}; };
  for (const ScalarType type : {kFloat, kDouble, kHalf, kBFloat16}) {
    const Tensor a = randn({7, 300}).to(type), b = randn({7, 300}).to(type);
    const FusionCounts counts = check_fused(chain, {a, b}, 4, 1);
    CHECK(counts.bytes_before == 9 * a.numel() * a.element_size());
    CHECK(counts.bytes_after == 3 * a.numel() * a.element_size());
    check_fused(chain, {a, b.slice(0, 0, 1)}, 4, 1);
    check_fused(chain, {a.t(), b.t()}, 4, 1);
    check_fused(chain, {a.slice(1, 1), b.slice(1, 1)}, 4, 1);
    check_fused(chain, {a.slice(1, 0, 300, 7), b.slice(1, 0, 300, 7)}, 4, 1);
  }
}

TEST_CASE("other dtypes, numbers, comparisons and choices") {
  if (!has_devices(1)) return;
  check_fused(
      [](const Tensors& x) {
        const Tensor y = where(x[0] > 0.5, x[1].to(kFloat), x[0]);
        return Tensors{y, y.to(kInt) * 3 + x[1], y.clamp(-1, 1), full_like(y, 2)};
      },
      {randn({65}), arange(65)}, 9, 1);
}

TEST_CASE("what is the same memory in another shape belongs to one kernel") {
  if (!has_devices(1)) return;
  check_fused(
      [](const Tensors& x) {
        const Tensor y = (x[0] * 2).view({4, 6, 5});
        const Tensor z = (y + x[1]).view({24, 5});  // a row for each of the four
        return Tensors{z.view({2, 2, 30}).neg(), z * x[2]};
      },
      {randn({24, 5}), randn({6, 5}), randn({5})}, 4, 1);
  check_fused(
      [](const Tensors& x) {
        return Tensors{(x[0] + 1).view({4, 3}) * x[1].t()};
      },
      {randn({3, 4}), randn({3, 4})}, 2, 1);
  // Other elements, and shapes of which neither is a part of the other.
  check_fused([](const Tensors& x) { return Tensors{(x[0] + 1).t() * x[1]}; }, {randn({3, 4}), randn({4, 3})}, 2, 2);
  check_fused(
      [](const Tensors& x) {
        return Tensors{(x[0] + x[1]).view({6, 4}) * x[2]};
      },
      {randn({4, 6}), randn({6}), randn({4})}, 2, 2);
}

TEST_CASE("in place, views and aliases") {
  if (!has_devices(1)) return;
  check_fused(
      [](const Tensors& x) {
        Tensor y = x[0] * 2;
        y.add_(1).mul_(y);
        y.slice(0, 0, 3).exp_();     // part of what waits
        const Tensor z = y.t() + y;  // other elements of what waits
        y.sub_(z);
        y.copy_(y.t().clone());
        return Tensors{y, z, y.sum(), y.neg(), y.view({36}), y.slice(1, 2, 4)};
      },
      {randn({6, 6})}, 9, 7);
}

TEST_CASE("memory of freed tensors is not used again before the queue ends") {
  if (!has_devices(1)) return;
  const FusionCounts counts = check_fused(
      [](const Tensors& x) {
        Tensor sum = x[0] - 1;
        for (int i = 0; i < 3; ++i) sum = sum + Tensor(x[0] * i).exp();  // all but the last sum is freed
        const Tensor other = empty_like(x[0]);                           // would lie where they were
        return Tensors{sum, other.fill_(3), x[0].sum()};
      },
      {randn({1000})}, 11, 1);
  CHECK(counts.bytes_after == 3 * 4000);
}

TEST_CASE("normalisation of batches waits for what follows it") {
  if (!has_devices(1)) return;
  const auto check_layers = [](ScalarType type, MemoryFormat format, bool affine, bool training) {
    nn::BatchNorm2d first(nn::BatchNorm2dOptions(6).affine(affine)), second(nn::BatchNorm2dOptions(6).affine(affine));
    for (nn::Module* layer : {static_cast<nn::Module*>(first.get()), static_cast<nn::Module*>(second.get())}) {
      layer->to(kDevice);
      layer->train(training);
      for (Tensor& p : layer->parameters()) p.detach().uniform_(0.5, 1.5);
    }
    check_fused(
        [&](const Tensors& x) {
          const NoGradGuard no_grad;
          if (training)
            for (Tensor b : {first->running_mean, second->running_mean}) b.zero_();
          const Tensor y = first->forward(x[0]);  // its statistics and the second one's do not end the queue
          return Tensors{relu(second->forward(x[1]) + y), first->running_mean.clone()};
        },
        {randn({3, 6, 4, 5}).to(type).contiguous(format), randn({3, 6, 4, 5}).to(type).contiguous(format)},
        training ? 7 : 5, training ? 3 : 2);
  };
  for (const ScalarType type : {kFloat, kHalf, kBFloat16})
    for (const MemoryFormat format : {MemoryFormat::Contiguous, MemoryFormat::ChannelsLast})
      check_layers(type, format, type != kHalf, type != kBFloat16);
}

TEST_CASE("a call that nothing follows is the kernel that it is eagerly") {
  if (!has_devices(1)) return;
  std::size_t calls = 0;
  const auto f = [&](const Tensors& x) {
    Tensors out;
    const auto alone = [&](const Tensor& y) {
      out.push_back(y);
      out.push_back(y.select(0, 0).argmax());  // reads it, so it waits no longer
    };
    alone(x[0].exp());
    alone(leaky_relu(x[0], 0.3));
    alone(x[0] - x[1]);
    alone(x[0].sub(x[1], 3));
    alone(2 / x[0]);
    alone((x[0] > x[1]).to(kFloat));
    alone(addcmul(x[0], x[1], x[2], 0.5));
    alone(lerp(x[0], x[1], x[2]));
    alone(where(x[3], x[0], x[1]));
    alone(x[0].to(kDouble));
    alone(full_like(x[0], 3));
    for (const bool affine : {true, false})
      alone(batch_norm(x[0], affine ? x[4] : Tensor(), affine ? x[5] : Tensor(), x[5], x[6], false, 0.1, 1e-3, false));
    const Tensor in = x[0].detach().requires_grad_(), y = in.tanh();
    alone(y.detach());
    alone(autograd::grad({y}, {in}, {x[1]})[0]);
    calls = out.size() / 2 + 1;  // a comparison and its conversion are two calls
    return out;
  };
  const Tensor x = randn({5, 6}), y = randn({5, 6});
  const Tensors inputs = on_device({x, y, rand({5, 6}), x > 0, randn({6}), randn({6}), rand({6}) + 0.5});
  f(inputs);
  check_fused(f, inputs, calls, calls - 1);
}

TEST_CASE("what waits with a normalisation goes on waiting if other kernels leave its memory alone") {
  if (!has_devices(1)) return;
  const Tensors inputs{randn({5, 6}), randn({6}).abs(), randn({6}).abs(), randn({5, 6, 2, 2}), randn({6, 6, 1, 1})};
  const auto step = [](auto between) {
    return [between](const Tensors& x) {
      const NoGradGuard no_grad;
      const Tensor weight = x[1].clone(), bias = x[2].clone();  // one kernel
      static_cast<void>(x[0].sum());                            // ends the queue
      const Tensor y = layer_norm(x[0], {6}, weight, bias);
      const Tensor other = between(x, y, weight, bias);
      return Tensors{y.relu(), other, weight, bias};
    };
  };
  const int64_t bytes = inputs[0].numel() * 4, of_clones = 2 * 2 * 6 * 4;
  // Reads what the normalisation reads.
  const FusionCounts apart = check_fused(
      step([](const Tensors& x, const Tensor&, const Tensor&, const Tensor& bias) { return conv2d(x[3], x[4], bias); }),
      inputs, 3, 1);
  CHECK(apart.bytes_after == of_clones + 2 * bytes);
  // Reads what it writes.
  const FusionCounts read = check_fused(step([](const Tensors& x, const Tensor& y, const Tensor&, const Tensor&) {
                                          return conv2d(y.view({5, 6, 1, 1}), x[4]);
                                        }),
                                        inputs, 3, 2);
  CHECK(read.bytes_after == of_clones + 4 * bytes);
  // Writes what it reads.
  check_fused(step([](const Tensors& x, const Tensor&, const Tensor& weight, const Tensor& bias) {
                return batch_norm(x[3], {}, {}, weight, bias, true, 0.5, 1e-3, false).argmax();
              }),
              inputs, 4, 3);
}

TEST_CASE("layer normalisation takes calls before and after it") {
  if (!has_devices(1)) return;
  for (const ScalarType type : {kFloat, kDouble}) check_norm(type, 24);
}

TEST_CASE("layer normalisation of half types takes calls before and after it") {
  if (!has_devices(1)) return;
  for (const ScalarType type : {kHalf, kBFloat16}) check_norm(type, 24);
}

TEST_CASE("layer normalisation of long or odd rows takes calls before and after it") {
  if (!has_devices(1)) return;
  check_norm(kFloat, 2100);   // a block has a row
  check_norm(kBFloat16, 12);  // no whole vectors
}

TEST_CASE("gradients of normalisations take calls before and after them") {
  if (!has_devices(1)) return;
  for (const ScalarType type : {kFloat, kBFloat16}) {
    INFO(type);
    const Tensor w = randn({24}).to(kDevice).requires_grad_(), b = randn({24}).to(kDevice).requires_grad_();
    check_fused(
        [&](const Tensors& x) {
          const Tensor in = x[0].detach().requires_grad_();
          const Tensor y = (layer_norm(in * 2, {24}, w, b) * x[1]).tanh() + in;
          return autograd::grad({y}, {in, w, b}, {x[2]});
        },
        {randn({5, 24}).to(type), randn({5, 24}).to(type), randn({5, 24}).to(type)}, 8, 0);
    for (const MemoryFormat format : {MemoryFormat::Contiguous, MemoryFormat::ChannelsLast})
      for (const int64_t width : {4, 3}) {
        const Tensor scale = randn({6}).to(kDevice).requires_grad_();
        const Tensors inputs{randn({3, 6, 4, width}).to(type).contiguous(format),
                             randn({3, 6, 4, width}).to(type).contiguous(format)};
        check_fused(
            [&](const Tensors& x) {
              const Tensor in = x[0].detach().requires_grad_();
              const Tensor y = batch_norm(in, scale, {}, {}, {}, true, 0.1, 1e-5, false).relu();
              return autograd::grad({y}, {in, scale}, {x[1]});
            },
            inputs, 3, 0);  // forward and backward are one kernel: nothing comes between them
      }
  }
}

TEST_CASE("one of the gradients of a normalisation's parameters") {
  if (!has_devices(1)) return;
  const Tensor w = randn({24}).to(kDevice), b = randn({24}).to(kDevice);
  for (const bool of_weight : {true, false})
    check_fused(
        [&](const Tensors& x) {
          const Tensor in = x[0].detach().requires_grad_(), leaf = (of_weight ? w : b).detach().requires_grad_();
          const Tensor y = layer_norm(in, {24}, of_weight ? leaf : w, of_weight ? b : leaf) * x[1];
          static_cast<void>(y.detach().sum());  // ends the queue, else the gradient of the product would join it
          return autograd::grad({y}, {in, leaf}, {x[2]});
        },
        {randn({5, 24}), randn({5, 24}), randn({5, 24})}, 2, 0);
}

TEST_CASE("a gradient of constant statistics has no sums to wait for") {
  if (!has_devices(1)) return;
  check_fused(
      [](const Tensors& x) {
        const Tensor in = x[0].detach().requires_grad_();
        const Tensor y = batch_norm(in, {}, {}, x[1], x[2], false, 0.1, 1e-3, false);
        return Tensors{y.detach(), autograd::grad({y}, {in}, {x[0]})[0]};
      },
      {randn({5, 6}), randn({6}), rand({6}) + 0.5}, 3, 2);  // copies of the statistics are one kernel
}

TEST_CASE("gradients of gradients inside of a step") {
  if (!has_devices(1)) return;
  const Tensors inputs{randn({5, 4}), randn({4, 3})};
  check_fused(
      [](const Tensors& x) {
        const Tensor w = x[1].clone().requires_grad_(), in = x[0].clone().requires_grad_();
        const Tensor slope = autograd::grad({(matmul(in, w).tanh() * 2).exp().sum()}, {in}, {}, true, true)[0];
        ((slope * slope).sum() + slope.sum()).backward();
        return Tensors{w.grad(), in.grad(), slope.detach()};
      },
      inputs, 31, 10);
}

TEST_CASE("autocast regions") {
  if (!has_devices(1)) return;
  nn::Linear linear(8, 8);
  linear->to(kDevice, kBFloat16);  // else the order in which its parameters are cast would be the compiler's choice
  check_fused(
      [&](const Tensors& x) {
        const NoGradGuard no_grad;
        Tensor y = x[0] * 3;
        {
          const autocast::AutocastGuard mixed(kCUDA, kBFloat16);
          y = gelu(linear->forward(y)) + 1;
        }
        return Tensors{y, y.to(kFloat) + x[0]};
      },
      {randn({4, 8})}, 6, 2);
}

TEST_CASE("what waits runs before another stream or an event takes over") {
  if (!has_devices(1)) return;
  const Stream side(kDevice);
  Event forked(kCUDA), joined(kCUDA);
  check_fused(
      [&](const Tensors& x) {
        const Tensor y = x[0] * 2;
        forked.record(Stream::current(kDevice));
        forked.wait(side);
        Tensor z;
        {
          const StreamGuard guard(side);
          z = y + 1;
        }
        joined.record(side);
        joined.wait(Stream::current(kDevice));
        return Tensors{z * 3, y};
      },
      {randn({100})}, 3, 3);
}

TEST_CASE("an exception ends the recording, and later calls are recorded") {
  if (!has_devices(1)) return;
  bool throws = false;
  cuda::CapturedStep step(
      [&](const Tensors& x) {
        const Tensor y = (x[0] + 1) * 2;
        if (throws) throw std::runtime_error("on purpose");
        return Tensors{y};
      },
      {}, {.warm_up = 1});
  const Tensors x = on_device({randn({9})});
  const Tensor expected = (x[0] + 1) * 2;
  step(x);
  throws = true;
  CHECK_THROWS_WITH_AS(step(x), "on purpose", std::runtime_error);
  CHECK(testing::identical(((x[0] + 1) * 2).cpu(), expected.cpu()));  // nothing waits any more
  throws = false;
  for (int i = 0; i < 3; ++i) check_same(step(x), {expected});
}

TEST_CASE("without fusion every call is a kernel") {
  if (!has_devices(1)) return;
  cuda::CapturedStep step([](const Tensors& x) { return Tensors{(x[0] + 1) * 2}; }, {}, {.warm_up = 1, .fuse = false});
  const Tensors x = on_device({randn({9})});
  step(x);
  check_same(step(x), {(x[0] + 1) * 2});
  CHECK(step.captured());
  CHECK(step.fused().calls == 0);
}

TEST_CASE("two threads record at once") {
  if (!has_devices(1)) return;
  const auto run = [](int64_t size, Tensor& got, Tensor& expected) {
    const Stream stream(kDevice);
    const StreamGuard own(stream);
    const Tensors x = on_device({arange(size).to(kFloat)});
    const Function f = [size](const Tensors& in) {
      Tensor y = in[0];
      for (int64_t i = 0; i < size; ++i) y = (y * 0.5 + i).sin();
      return Tensors{y + y.sum()};
    };
    cuda::CapturedStep step(f, {}, {.warm_up = 1});
    for (int i = 0; i < 3; ++i) got = step(x)[0];
    CHECK(step.captured());
    CHECK(step.fused().calls == static_cast<std::size_t>(3 * size + 1));
    expected = f(x)[0].cpu();
    got = got.cpu();
  };
  Tensor got[2], expected[2];
  std::thread other([&] { run(5, got[1], expected[1]); });
  run(4, got[0], expected[0]);
  other.join();
  for (int i = 0; i < 2; ++i) CHECK(testing::identical(got[i], expected[i]));
}

TEST_CASE("compiled kernels are kept in files") {
  const test::TempFolder folder;
  using cuda_impl::KeptCode;
  const KeptCode one(folder.path(), "key of one\n"), two(folder.path(), "key of two\n");
  const std::string code("code\0with\n a zero", 17);
  CHECK(one.find() == "");
  one.keep(code);
  CHECK(one.find() == code);
  CHECK(two.find() == "");
  two.keep("second");
  CHECK(KeptCode(folder.path(), "key of one\n").find() == code);
  CHECK(folder.entries() == 2);
  SUBCASE("a damaged file is none") {
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      std::string text = test::read_file(entry.path());
      text.back() ^= 1;
      test::write_file(entry.path(), text);
    }
    CHECK(one.find() == "");
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
      std::filesystem::resize_file(entry.path(), 14);
    CHECK(one.find() == "");
    one.keep(code);
    CHECK(one.find() == code);
  }
  SUBCASE("what was not found for longest is removed") {
    const auto hour_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
      std::filesystem::last_write_time(entry.path(), hour_ago);
    CHECK(one.find() == code);
    const KeptCode three(folder.path(), "key of three\n");
    three.keep(std::string(100, 'x'), 200);
    CHECK(two.find() == "");
    CHECK(one.find() == code);
    CHECK(three.find() != "");
  }
  SUBCASE("a folder that cannot be written") {
    const KeptCode nowhere(folder / "missing", "key\n"), none("", "key\n");
    for (const KeptCode& kept : {nowhere, none}) {
      kept.keep(code);
      CHECK(kept.find() == "");
    }
  }
}
