// Copies between the host and devices, streams, events, pinned memory.
#include <doctest/doctest.h>

#include <cstdlib>
#include <functional>

#include "tandem/cuda/context.h"
#include "tandem/cuda/gpu_memory.h"
#include "tandem/nn/captured_step.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"
#include "tandem/tests/cuda/skip.h"
#ifdef TANDEM_CUDA_EMULATION
#include "tandem/tests/cuda_emulation/emulation.h"
#endif

using namespace tandem;

namespace {
Tensor numbers(int64_t n, float first = 0) { return arange(first, first + static_cast<float>(n)); }
}  // namespace

TEST_CASE("to a device and back") {
  if (!has_devices(1)) return;
  for (const int64_t n : {0, 1, 7, 1000, 100003}) {
    const Tensor x = numbers(n), there = x.to(Device("cuda:0"));
    CHECK(there.device() == Device("cuda:0"));
    CHECK(testing::identical(there.cpu(), x));
  }
  const Tensor t = numbers(12).view({3, 4}).t();
  CHECK(testing::identical(t.to(Device("cuda:0")).cpu(), t.contiguous()));
}

TEST_CASE("pinned memory: a non-blocking copy still gets the right bytes") {
  if (!has_devices(1)) return;
  Tensor there;
  {
    const Tensor pinned = numbers(5000).pin_memory();
    CHECK(pinned.is_pinned());
    there = pinned.to(Device("cuda:0"), /*non_blocking=*/true);
  }  // the block is free for the next request except that the copy still uses it
  Tensor other = full({5000}, -1.0f).pin_memory();
  CHECK(testing::identical(there.cpu(), numbers(5000)));
}

TEST_CASE("pinned memory is found by each of its bytes") {
  if (!has_devices(1)) return;
  using namespace cuda_impl;
  for (const std::size_t bytes : {0, 1, 1000}) {
    auto* const data = static_cast<char*>(allocate_pinned(bytes));
    auto* const next = static_cast<char*>(allocate_pinned(bytes));
    REQUIRE(data != nullptr);
    CHECK(next != data);
    const StreamId stream = context(Device("cuda:0")).stream();
    const std::size_t size = std::max<std::size_t>(1, bytes);
    for (char* const block : {data, next}) {
      for (const std::size_t place : {std::size_t{0}, size / 2, size - 1}) CHECK(pinned_used_by(block + place, stream));
      CHECK_FALSE(pinned_used_by(block + size, stream));
    }
    free_pinned(data);
    CHECK_FALSE(pinned_used_by(data, stream));
    CHECK(pinned_used_by(next, stream));
    free_pinned(next);
  }
  CHECK(empty({0}).pin_memory().numel() == 0);
}

TEST_CASE("a workspace stays as long as the stream does") {
  if (!has_devices(1)) return;
  cuda_impl::Context& c = cuda_impl::context(Device("cuda:0"));
  void* const first = c.workspace();
  CHECK(c.workspace() == first);
  const Stream side(Device("cuda:0"));
  const StreamGuard guard(side);
  static_cast<void>(c.stream());
  void* const second = c.workspace();
  CHECK(second != first);  // the other stream may still use it
  CHECK(c.workspace() == second);
}

TEST_CASE("between devices") {
  if (!has_devices(2)) return;
  const Tensor a = numbers(4097).to(Device("cuda:0"));
  for (int round = 0; round < 20; ++round) {
    Tensor b = (a + round).to(Device("cuda:1"));  // the sum's memory is free again before the copy has run
    Tensor c = (b * 2).to(Device("cuda:0"));
    CHECK(testing::identical(c.cpu(), (numbers(4097) + round) * 2));
  }
}

TEST_CASE("an event may be recorded on other devices than before") {
  if (!has_devices(2)) return;
  const Device devices[] = {Device("cuda:0"), Device("cuda:1")};
  Event event(kCUDA);
  for (const std::size_t i : {0, 1, 1, 0, 1}) {
    const Tensor x = numbers(1000).to(devices[i]) * 2;
    event.record(Stream::current(devices[i]));
    event.wait(Stream::current(devices[1 - i]));
    const Tensor y = x.to(devices[1 - i]);
    event.synchronize();
    CHECK(testing::identical(y.cpu(), numbers(1000) * 2));
  }
}

TEST_CASE("streams and events order work") {
  if (!has_devices(1)) return;
  const Device device("cuda:0");
  const Tensor x = numbers(1000).to(device);
  Stream side(device);
  Event ready(kCUDA), done(kCUDA);
  Tensor y = x + 1;
  ready.record(Stream::current(device));
  ready.wait(side);
  Tensor z;
  {
    StreamGuard guard(side);
    z = y * 2;
  }
  done.record(side);
  done.wait(Stream::current(device));
  CHECK(testing::identical((z + 1).cpu(), (numbers(1000) + 1) * 2 + 1));
  done.synchronize();
  CHECK(ready.elapsed_ms(done) >= 0);
  synchronize(device);
}

TEST_CASE("a stream that reuses a destroyed one's handle inherits no work") {
  if (!has_devices(1)) return;
  const Device device("cuda:0");
  for (int round = 0; round < 20; ++round) {
    const Tensor a = full({1000}, round, TensorOptions(device));
    Tensor b;
    {
      const Stream stream(device);
      Event ready(kCUDA);
      ready.record(Stream::current(device));
      ready.wait(stream);
      const StreamGuard guard(stream);
      b = a * 2 + 1;  // its memory belongs to the stream, which may still be working when it is destroyed
    }
    const Stream next(device);
    const StreamGuard guard(next);
    const Tensor c = full({1000}, -1.0, TensorOptions(device));
    synchronize(device);
    CHECK(b.cpu().max().item<float>() == 2.0f * static_cast<float>(round) + 1);
    CHECK(c.cpu().min().item<float>() == -1);
  }
}

#ifdef TANDEM_CUDA_EMULATION
TEST_CASE("TANDEM_CUDA_SYNC waits for every kernel and every call of a library, nothing else does") {
  const char* const value = std::getenv("TANDEM_CUDA_SYNC");
  const bool waits = value != nullptr && std::string(value) != "0";
  const Device device("cuda:0");
  const Tensor x = randn({40, 50}, TensorOptions(device)), w = randn({60, 50}, TensorOptions(device)),
               bias = randn({60}, TensorOptions(device)), image = randn({2, 3, 9, 9}, TensorOptions(device)),
               weight = randn({4, 3, 2, 2}, TensorOptions(device));
  cuda::CapturedStep step([](const Tensor& t) { return t * 2; }, {}, {.warm_up = 1});
  for (int i = 0; i < 3; ++i) step(x);
  const std::function<void()> all[] = {
      [&] { x.exp(); },     [&] { matmul(x, w.t()); },       [&] { linear(x, w, bias); },
      [&] { fft_rfft(x); }, [&] { fft_irfft(fft_rfft(x)); }, [&] { conv2d(image, weight); },
      [&] { step(x); }};
  for (const auto& one : all) {
    one();  // makes its plan
    synchronize(device);
    const auto before = cuda_emulation::counters();
    one();
    const auto after = cuda_emulation::counters();
    const uint64_t works = after.launches - before.launches + after.library_calls - before.library_calls +
                           after.graph_launches - before.graph_launches;
    CHECK(works > 0);
    CHECK(after.syncs - before.syncs == (waits ? works : 0));
  }
}
#endif
