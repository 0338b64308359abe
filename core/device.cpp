// Device strings and the current device.
#include "tandem/core/device.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/runtime.h"

namespace tandem {

namespace {
constexpr struct {
  std::string_view upper, lower;
} type_names[] = {{"CPU", "cpu"},       {"CUDA", "cuda"},     {"MKLDNN", "mkldnn"},
                  {"OPENGL", "opengl"}, {"OPENCL", "opencl"}, {"IDEEP", "ideep"},
                  {"HIP", "hip"},       {"FPGA", "fpga"},     {"MAIA", "maia"},
                  {"XLA", "xla"},       {"VULKAN", "vulkan"}, {"METAL", "metal"},
                  {"XPU", "xpu"},       {"MPS", "mps"},       {"META", "meta"},
                  {"HPU", "hpu"},       {"VE", "ve"},         {"LAZY", "lazy"},
                  {"IPU", "ipu"},       {"MTIA", "mtia"},     {"PRIVATEUSEONE", "privateuseone"}};
static_assert(std::size(type_names) == static_cast<std::size_t>(DeviceType::COMPILE_TIME_MAX_DEVICE_TYPES));
}  // namespace

Device::Device(const std::string& text) {
  const auto colon = text.find(':');
  const std::string_view kind = std::string_view(text).substr(0, colon);
  const auto found =
      std::find_if(std::begin(type_names), std::end(type_names), [&](const auto& name) { return name.lower == kind; });
  if (found == std::end(type_names))
    fail("unknown device \"", text, "\": expected cpu, cpu:<index>, cuda or cuda:<index>",
         kind == "gpu" || kind == "CUDA" ? " (did you mean cuda?)"
         : kind == "CPU"                 ? " (did you mean cpu?)"
                                         : "");
  type_ = static_cast<DeviceType>(found - std::begin(type_names));
  index_ = -1;
  if (colon == std::string::npos) return;
  const std::string_view digits = std::string_view(text).substr(colon + 1);
  const int last = type_ == kCPU ? 63 : INT8_MAX;
  int index = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  check(error == std::errc() && end == digits.data() + digits.size() && index >= 0 && index <= last,
        "invalid device \"", text, "\": expected an index from 0 to ", last, " after the colon");
  index_ = static_cast<DeviceIndex>(index);
}

std::string DeviceTypeName(DeviceType type, bool lower_case) {
  const auto number = static_cast<std::size_t>(type);
  check(number < std::size(type_names), "unknown device type ", static_cast<int>(type));
  return std::string(lower_case ? type_names[number].lower : type_names[number].upper);
}
void no_tensors_on(DeviceType type) {
  throw NotImplementedError(
      concat("there are no tensors on devices of type ", DeviceTypeName(type, true), ": use cpu or cuda"));
}

std::string Device::str() const {
  std::string out = DeviceTypeName(type_, true);
  const bool only_one = is_cpu() && index_ == 0 && device_count(kCPU) == 1;
  if (has_index() && !only_one) out += ":" + std::to_string(index_);
  return out;
}

int device_count(DeviceType type) {
  if (type != kCPU && (type != kCUDA || cuda_backend() == nullptr)) return 0;
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
