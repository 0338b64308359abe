// Tests that need several devices make logical ones of the CPU.
#pragma once
#include "tandem/tandem.h"

namespace tandem {
/// `count` logical CPU devices until it goes out of scope.
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
