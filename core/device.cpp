// Device strings and the current device.
#include "tandem/core/device.h"

#include <charconv>

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/runtime.h"

namespace tandem {

Device::Device(std::string_view text) {
  const auto colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  if (kind == "cpu")
    type_ = kCPU;
  else if (kind == "cuda")
    type_ = kCUDA;
  else
    fail("unknown device \"", text, "\": expected cpu, cpu:<index>, cuda or cuda:<index>",
         kind == "gpu" || kind == "CUDA" ? " (did you mean cuda?)"
         : kind == "CPU"                 ? " (did you mean cpu?)"
                                         : "");
  index_ = -1;
  if (colon == std::string_view::npos) return;
  const std::string_view digits = text.substr(colon + 1);
  int index = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  check(error == std::errc() && end == digits.data() + digits.size() && index >= 0 && index < 64, "invalid device \"",
        text, "\": expected an index from 0 to 63 after the colon");
  index_ = static_cast<DeviceIndex>(index);
}

std::string DeviceTypeName(DeviceType type, bool lower_case) {
  const auto choose = [&](const char* upper, const char* lower) { return lower_case ? lower : upper; };
  switch (type) {
    case DeviceType::CPU:
      return choose("CPU", "cpu");
    case DeviceType::CUDA:
      return choose("CUDA", "cuda");
    case DeviceType::HIP:
      return choose("HIP", "hip");
    case DeviceType::XLA:
      return choose("XLA", "xla");
    case DeviceType::Vulkan:
      return choose("VULKAN", "vulkan");
    case DeviceType::XPU:
      return choose("XPU", "xpu");
    case DeviceType::MPS:
      return choose("MPS", "mps");
    case DeviceType::Meta:
      return choose("META", "meta");
    case DeviceType::HPU:
      return choose("HPU", "hpu");
    case DeviceType::PrivateUse1:
      return choose("PRIVATEUSEONE", "privateuseone");
  }
  fail("unknown device type ", static_cast<int>(type));
}
void Device::no_such_type(DeviceType type) {
  throw NotImplementedError(
      concat("there are no tensors on devices of type ", DeviceTypeName(type, true), ": use cpu or cuda"));
}

std::string Device::str() const {
  std::string out = is_cpu() ? "cpu" : "cuda";
  const bool only_one = is_cpu() && index_ == 0 && device_count(kCPU) == 1;
  if (has_index() && !only_one) out += ":" + std::to_string(index_);
  return out;
}

int device_count(DeviceType type) {
  if (type == kCUDA && cuda_backend() == nullptr) return 0;
  return backend(type).runtime.device_count();
}

Device resolve(Device device) {
  const RuntimeKernels& runtime = backend(device).runtime;
  if (!device.has_index()) return Device(device.type(), static_cast<DeviceIndex>(runtime.current_device()));
  const int count = runtime.device_count();
  if (device.index() >= count)
    fail("no device ", device, ": this process has ", count, device.is_cpu() ? " logical CPU" : " CUDA", " device",
         count == 1 ? "" : "s", device.is_cpu() ? " (set TANDEM_CPU_DEVICES, or call cpu::set_device_count)" : "");
  return device;
}

DeviceGuard::DeviceGuard(Device device)
    : previous_(device.type(), static_cast<DeviceIndex>(backend(device).runtime.current_device())) {
  device = resolve(device);
  if (device.index() != previous_.index()) backend(device).runtime.set_current_device(device.index());
}
void DeviceGuard::set_index(DeviceIndex index) { reset_device(Device(previous_.type(), index)); }
void DeviceGuard::reset_device(Device device) {
  check(device.type() == previous_.type(), "DeviceGuard: expected another device of type ", previous_, ", got ",
        device);
  device = resolve(device);
  backend(device).runtime.set_current_device(device.index());
}
Device DeviceGuard::current_device() const { return resolve(Device(previous_.type())); }
DeviceGuard::~DeviceGuard() {
  try {
    backend(previous_).runtime.set_current_device(previous_.index());
  } catch (const Error&) {  // cpu::set_device_count removed it meanwhile; its next user gets the error
  }
}

}  // namespace tandem
