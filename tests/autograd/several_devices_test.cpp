// Graphs on several devices: one thread per device, and the same bits as on a single device.
#include <doctest/doctest.h>

#include <atomic>
#include <set>
#include <thread>

#include "tandem/core/device_threads.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"

using namespace tandem;

namespace {

struct FourDevices {
  FourDevices() { cpu::set_device_count(4); }
  ~FourDevices() { cpu::set_device_count(1); }
};
Device cpu_device(int i) { return Device(kCPU, static_cast<DeviceIndex>(i)); }

// Every device computes with a copy of w; the results are combined on cpu:0.
Tensor spread(const Tensor& w, const Tensor& x, bool apart) {
  Tensor sum = zeros({});
  for (int i = 0; i < 4; ++i) {
    const Device device = apart ? cpu_device(i) : cpu_device(0);
    Tensor h = x.to(device).mul(i + 1);
    const Tensor there = w.to(device, w.dtype(), false, /*copy=*/true);  // one node in both cases
    for (int layer = 0; layer < 5; ++layer) h = tanh(h.matmul(there) + there.sum(0));
    sum = sum + h.sum().to(cpu_device(0));
  }
  return sum;
}

}  // namespace

TEST_CASE("gradients across devices have the same bits as on one device") {
  FourDevices four;
  manual_seed(3);
  const Tensor x = randn({17, 8});
  Tensor w = randn({8, 8}).requires_grad_(), v = w.detach().clone().requires_grad_();
  for (int round = 0; round < 20; ++round) {
    spread(w, x, /*apart=*/true).backward();
    spread(v, x, /*apart=*/false).backward();
    CHECK(testing::identical(w.grad(), v.grad()));
    w.mutable_grad().reset();
    v.mutable_grad().reset();
  }
  const auto g = autograd::grad({spread(w, x, true)}, {w}, {}, nullopt, /*create_graph=*/true)[0];
  const auto h = autograd::grad({spread(v, x, false)}, {v}, {}, nullopt, /*create_graph=*/true)[0];
  g.square().sum().backward();
  h.square().sum().backward();
  CHECK(testing::identical(w.grad(), v.grad()));
  w.mutable_grad().reset();
}

TEST_CASE("a hook runs on its device, on a separate thread") {
  FourDevices four;
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::set<int> devices;
  Tensor w = ones({4, 4}).requires_grad_(), sum = zeros({});
  for (int i = 0; i < 4; ++i) {
    Tensor there = w.to(cpu_device(i)).mul(2);
    there.register_hook([&](Tensor grad) {
      std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
      devices.insert(cpu::current_device());
      return grad;
    });
    sum = sum + there.sum().to(cpu_device(0));
  }
  sum.backward();
  CHECK(threads.size() == 4);
  CHECK(devices == std::set<int>{0, 1, 2, 3});
  CHECK(w.grad()[0][0].item<float>() == 8);
}

TEST_CASE("an error on one device ends the pass on all devices") {
  FourDevices four;
  Tensor w = ones({4}).requires_grad_(), sum = zeros({});
  for (int i = 0; i < 4; ++i) {
    Tensor there = w.to(cpu_device(i)).mul(2);
    if (i == 2) there.register_hook([](Tensor grad) -> Tensor { fail("hook of ", grad.device()); });
    sum = sum + there.exp().sum().to(cpu_device(0));
  }
  CHECK_THROWS_WITH(sum.backward(), "hook of cpu:2");
  spread(ones({8, 8}).requires_grad_(), ones({2, 8}), true).backward();  // the threads are still usable
}

TEST_CASE("a backward inside a hook of another device's backward") {
  FourDevices four;
  Tensor w = ones({8, 8}).requires_grad_(), inner = ones({8, 8}).requires_grad_(), sum = zeros({});
  for (int i = 0; i < 4; ++i) {
    Tensor there = w.to(cpu_device(i)).mul(2);
    there.register_hook([&](Tensor grad) {
      AutoGradMode recording(true);
      spread(inner, ones({2, 8}), true).backward();
      return grad;
    });
    sum = sum + there.sum().to(cpu_device(0));
  }
  sum.backward();
  CHECK(inner.grad().defined());
}

TEST_CASE("run_on_devices: modes are passed on, errors stay with their device") {
  FourDevices four;
  const std::vector<Device> devices{cpu_device(0), cpu_device(1), cpu_device(1), cpu_device(3)};
  std::atomic<int> right = 0;
  NoGradGuard no_grad;
  const auto errors = run_on_devices(devices, [&](std::size_t i) {
    right += !GradMode::is_enabled() && cpu::current_device() == devices[i].index();
    if (i == 2) fail("job ", i);
  });
  CHECK(right == 4);
  CHECK((!errors[0] && !errors[1] && errors[2] && !errors[3]));
  CHECK_THROWS_WITH(std::rethrow_exception(errors[2]), "job 2");
  CHECK(run_on_devices(ArrayRef<Device>(), [](std::size_t) {}).empty());
}

TEST_CASE("the gradient of a 0-dim tensor from another device returns to that device") {
  FourDevices four;
  Tensor x = ones({}, TensorOptions().device(cpu_device(3))).requires_grad_();
  Tensor y = ones({5}).requires_grad_();
  (x * y).sum().backward();
  CHECK(x.grad().device() == cpu_device(3));
  CHECK(x.grad().item<float>() == 5);
  CHECK(y.grad().device() == cpu_device(0));
}
