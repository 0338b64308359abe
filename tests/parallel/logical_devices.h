// Logical CPU devices for tests that need several devices.
#pragma once
#include "tandem/tandem.h"

namespace tandem {
/// Sets up `count` logical CPU devices until the end of the scope.
struct LogicalDevices {
  explicit LogicalDevices(int count) : before(cpu::device_count()) { cpu::set_device_count(count); }
  ~LogicalDevices() { cpu::set_device_count(before); }
  int before;
};
inline Device cpu_device(int i) { return Device(kCPU, static_cast<DeviceIndex>(i)); }
/// cpu:0 … cpu:count-1
inline std::vector<Device> cpu_devices(int count) {
  std::vector<Device> out;
  for (int i = 0; i < count; ++i) out.push_back(cpu_device(i));
  return out;
}
}  // namespace tandem
