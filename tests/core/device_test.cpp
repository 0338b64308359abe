// Devices: their names, what is wrong with a name or an index, and the current device.
#include "tandem/core/device.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "tandem/core/backend/backend.h"
#include "tandem/core/logical_devices.h"
#include "tandem/core/stream.h"
#include "tandem/core/tensor.h"
#include "tandem/core/threads/parallel_for.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using test::error_of;

namespace {

// Restores the number of logical CPU devices.
struct CpuDevices {
  explicit CpuDevices(int count) { cpu::set_device_count(count); }
  ~CpuDevices() { cpu::set_device_count(before); }
  int before = cpu::device_count();
};

}  // namespace

TEST_CASE("device names: a type and perhaps an index") {
  const struct {
    const char* text;
    DeviceType type;
    int index;
  } cases[] = {{"cpu", kCPU, -1},    {"cpu:0", kCPU, 0},       {"cpu:63", kCPU, 63}, {"cuda", kCUDA, -1},
               {"cuda:7", kCUDA, 7}, {"cuda:127", kCUDA, 127}, {"meta", kMeta, -1},  {"mps:3", kMPS, 3}};
  const CpuDevices two(2);
  for (const auto& c : cases) {
    INFO(std::string(c.text));
    const Device device{std::string(c.text)};
    CHECK((device.type() == c.type));
    CHECK(device.index() == c.index);
    CHECK(device.has_index() == (c.index >= 0));
    CHECK(device.str() == c.text);
  }
  cpu::set_device_count(1);
  CHECK(Device("cpu:0").str() == "cpu");
  CHECK(Device("cpu:1").str() == "cpu:1");
  CHECK(Device("cuda:0").str() == "cuda:0");
  CHECK(DeviceTypeName(kCPU) == "CPU");
  CHECK(DeviceTypeName(kCUDA, true) == "cuda");
  CHECK(DeviceTypeName(DeviceType::PrivateUse1) == "PRIVATEUSEONE");
  CHECK(error_of([] { DeviceTypeName(DeviceType::COMPILE_TIME_MAX_DEVICE_TYPES); }) == "unknown device type 21");
  CHECK(error_of([] { DeviceTypeName(static_cast<DeviceType>(-1)); }) == "unknown device type -1");
}

TEST_CASE("wrong device names") {
  for (const char* text :
       {"cpu:", "cpu:x", "cpu:1x", "cpu:1:", "cpu:-1", "cpu:+1", "cpu: 1", "cpu:64", "cpu:9999999999"})
    CHECK(error_of([&] { Device{std::string(text)}; }) ==
          concat("invalid device \"", text, "\": expected an index from 0 to 63 after the colon"));
  for (const char* text : {"cuda:", "cuda:0x", "cuda:128"})
    CHECK(error_of([&] { Device{std::string(text)}; }) ==
          concat("invalid device \"", text, "\": expected an index from 0 to 127 after the colon"));
  const std::pair<const char*, const char*> unknown[] = {{"", ""},
                                                         {":0", ""},
                                                         {"cpux", ""},
                                                         {"cpu 0", ""},
                                                         {"cp", ""},
                                                         {"gpu", " (did you mean cuda?)"},
                                                         {"gpu:1", " (did you mean cuda?)"},
                                                         {"CUDA", " (did you mean cuda?)"},
                                                         {"CPU:0", " (did you mean cpu?)"}};
  for (const auto& [text, hint] : unknown)
    CHECK(error_of([&t = text] { Device{std::string(t)}; }) ==
          concat("unknown device \"", text, "\": expected cpu, cpu:<index>, cuda or cuda:<index>", hint));
}

TEST_CASE("devices that do not exist, and numbers of devices that cannot be") {
  const char* help = " (set TANDEM_CPU_DEVICES, or call cpu::set_device_count)";
  const CpuDevices one(1);
  CHECK(error_of([] { resolve(Device("cpu:1")); }) ==
        concat("no device cpu:1: this process has 1 logical CPU device", help));
  CHECK((resolve(Device("cpu")) == Device("cpu:0")));
  cpu::set_device_count(3);
  CHECK((resolve(Device("cpu:2")) == Device("cpu:2")));
  CHECK(error_of([] { resolve(Device("cpu:3")); }) ==
        concat("no device cpu:3: this process has 3 logical CPU devices", help));
  CHECK(device_count(kCPU) == 3);
  CHECK(device_count(kMPS) == 0);
  const auto wanted_gpus = [] {
    const char* value = std::getenv("TANDEM_CUDA_DEVICES");
    return std::string(value == nullptr ? "" : value);
  };
  const std::string before = wanted_gpus();
  for (const int count : {-1, 0, 65}) {
    CHECK(error_of([&] { set_logical_devices(kCPU, count); }) ==
          concat("cpu::set_device_count: expected 1 to 64, got ", count));
    CHECK(error_of([&] { set_logical_devices(kCUDA, count); }) ==
          concat("set_logical_devices: expected 1 to 64, got ", count));
  }
  CHECK(wanted_gpus() == before);
  set_logical_devices(kCPU, 64);
  CHECK(device_count(kCPU) == 64);
  for (const int count : {-1, 0, 4097})
    CHECK(error_of([&] { set_num_threads(count); }) == concat("set_num_threads: expected 1 to 4096, got ", count));
}

TEST_CASE("a tensor's memory is recorded with streams of its own device") {
  const CpuDevices two(2);
  const Tensor x = empty_raw({2}, kFloat, Device("cpu:0"));
  x.record_stream(Stream(Device("cpu:0")));
  CHECK(error_of([&] { x.record_stream(Stream(Device("cpu:1"))); }) ==
        "record_stream: the stream is on cpu:1, the tensor is [2] float32 cpu:0");
}

TEST_CASE("device guards restore the current device") {
  const CpuDevices three(3);
  const auto current = [] { return cpu::current_device(); };
  {
    DeviceGuard guard(Device("cpu:2"));
    CHECK(current() == 2);
    CHECK((guard.current_device() == Device("cpu:2")));
    {
      const DeviceGuard same(Device("cpu:2"));
      CHECK(current() == 2);
    }
    CHECK(current() == 2);
    guard.set_index(1);
    CHECK(current() == 1);
    guard.reset_device(Device("cpu:0"));
    CHECK(current() == 0);
    CHECK(error_of([&] { guard.reset_device(Device("cuda:0")); }) ==
          "DeviceGuard: expected another device of type cpu:0, got cuda:0");
    CHECK(error_of([&] { guard.set_index(3); }).starts_with("no device cpu:3"));
    CHECK(current() == 0);
    guard.set_index(2);
  }
  CHECK(current() == 0);
  cpu::set_current_device(2);
  {
    const DeviceGuard guard(Device("cpu:0"));
    cpu::set_device_count(1);  // the device before is gone
  }
  CHECK(current() == 0);
  CHECK(error_of([] { cpu::set_current_device(1); }).starts_with("cpu:1: this process has 1 logical CPU device(s)"));
  CHECK(error_of([] { cpu::set_current_device(-1); }).starts_with("cpu:-1: this process has 1"));
}
