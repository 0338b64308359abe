// Copies between the host and devices, streams, events, pinned memory.
#include <doctest/doctest.h>

#include "tandem/tandem.h"
#include "tandem/testing.h"
#include "tandem/tests/cuda/skip.h"

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

TEST_CASE("between devices") {
  if (!has_devices(2)) return;
  const Tensor a = numbers(4097).to(Device("cuda:0"));
  for (int round = 0; round < 20; ++round) {
    Tensor b = (a + round).to(Device("cuda:1"));  // the sum's memory is free again before the copy has run
    Tensor c = (b * 2).to(Device("cuda:0"));
    CHECK(testing::identical(c.cpu(), (numbers(4097) + round) * 2));
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
