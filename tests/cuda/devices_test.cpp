// Logical devices: two threads with one each, and copies between them.
#include <doctest/doctest.h>

#include <thread>

#include "tandem/tandem.h"
#include "tandem/testing.h"
#include "tandem/tests/cuda/skip.h"

using namespace tandem;

namespace {

// Alternates captured and eager steps on its own device.
Tensor work(Device device, int rounds) {
  const DeviceGuard guard(device);
  const Generator random(static_cast<uint64_t>(3));
  const GeneratorGuard draws(random);
  const Tensor w = full({500}, 0.5f, TensorOptions(device)).requires_grad_();
  optim::Adam optimizer({w}, optim::AdamOptions(0.01));
  cuda::CapturedStep step(
      [&](const Tensor& x) {
        optimizer.zero_grad();
        const Tensor out = dropout(x * w, 0.4, true);
        out.backward(ones_like(out));
        optimizer.step();
      },
      {&optimizer});
  for (int i = 0; i < rounds; ++i) {
    const Tensor x = arange(500).to(kFloat).mul_(0.01 * i).to(device);
    step(x + 1);
    if (i % 5 == 0) static_cast<void>(w.detach().cpu());
  }
  return w.detach().cpu();
}

}  // namespace

TEST_CASE("two threads drive two devices") {
  if (!has_devices(2)) return;
  const Tensor expected = work(Device("cuda:0"), 30);
  for (int round = 0; round < 3; ++round) {
    Tensor results[2];
    std::thread other([&] { results[1] = work(Device("cuda:1"), 30); });
    results[0] = work(Device("cuda:0"), 30);
    other.join();
    CHECK(testing::identical(results[0], expected));
    CHECK(testing::identical(results[1], expected));
  }
}

TEST_CASE("copies between devices are ordered with both streams") {
  if (!has_devices(2)) return;
  const Device a("cuda:0"), b("cuda:1");
  const Tensor host = arange(3000).to(kFloat);
  Tensor x = host.to(a);
  for (int i = 0; i < 40; ++i) {
    Tensor y = (x + 1).to(b);  // the sum's memory is free again before the copy has run
    const Tensor noise = full({3000}, -7.0f, TensorOptions(a));
    y.add_(1);
    x = y.to(a);
    y.fill_(-3);  // after its copy
  }
  CHECK(testing::identical(x.cpu(), host + 80));
  Tensor there = zeros({3000}, TensorOptions(b));
  there.copy_(x, /*non_blocking=*/true);
  x.zero_();
  CHECK(testing::identical(there.cpu(), host + 80));
}
