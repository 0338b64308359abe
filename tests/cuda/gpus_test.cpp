// Logical devices, and the errors when there are none.
#include "tandem/cuda/gpus.h"

#include <doctest/doctest.h>

#include <string>

#include "tandem/core/backend/backend.h"
#include "tandem/core/error.h"
#include "tandem/tests/cuda/skip.h"

using namespace tandem;

TEST_CASE("TANDEM_CUDA_DEVICES: a number of logical devices, or one per GPU") {
  CHECK(cuda_impl::logical_devices(nullptr, 3) == 3);
  CHECK(cuda_impl::logical_devices("", 2) == 2);
  CHECK(cuda_impl::logical_devices("2", 1) == 2);
  CHECK(cuda_impl::logical_devices("64", 1) == 64);
  for (const char* bad : {"0", "65", "-1", "2x", " 2", "two", "99999999999"}) {
    CAPTURE(bad);
    try {
      cuda_impl::logical_devices(bad, 1);
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find(std::string("TANDEM_CUDA_DEVICES=") + bad) == 0);
    }
  }
}

TEST_CASE("without a device every entry point says so") {
  if (device_count(kCUDA) > 0) return;
  CHECK(std::string(cuda_reason()).starts_with("no CUDA device: "));
  CHECK(cuda_backend() == nullptr);
  CHECK_THROWS_WITH_AS(resolve(Device("cuda:0")), doctest::Contains("no CUDA device"), Error);
}

TEST_CASE("a device that does not exist") {
  if (!has_devices(1)) return;
  const int count = device_count(kCUDA);
  CHECK_THROWS_WITH_AS(resolve(Device(kCUDA, static_cast<DeviceIndex>(count))), doctest::Contains("this process has"),
                       Error);
  CHECK_THROWS_AS(cuda_impl::gpu_of(count), Error);
  CHECK(cuda_impl::gpu_of(0).memory > 0);
}
