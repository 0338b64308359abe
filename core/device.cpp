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
  check(error == std::errc() && end == digits.data() + digits.size() && index >= 0 && index < 64,
        "invalid device \"", text, "\": expected an index from 0 to 63 after the colon");
  index_ = static_cast<DeviceIndex>(index);
}

std::string Device::str() const {
  std::string out = is_cpu() ? "cpu" : "cuda";
  if (has_index()) out += ":" + std::to_string(index_);
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
    fail("no device ", device, ": this process has ", count, device.is_cpu() ? " logical CPU" : " CUDA",
         " device", count == 1 ? "" : "s",
         device.is_cpu() ? " (set TANDEM_CPU_DEVICES, or call cpu::set_device_count)" : "");
  return device;
}

DeviceGuard::DeviceGuard(Device device)
    : previous_(device.type(), static_cast<DeviceIndex>(backend(device).runtime.current_device())) {
  device = resolve(device);
  if (device.index() != previous_.index()) backend(device).runtime.set_current_device(device.index());
}
DeviceGuard::~DeviceGuard() {
  try {
    backend(previous_).runtime.set_current_device(previous_.index());
  } catch (const Error&) {  // cpu::set_device_count removed it meanwhile; its next user gets the error
  }
}

}  // namespace tandem
