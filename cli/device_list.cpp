// A logical CPU device is a share of the cores. The tool owns its process, so it may create as many as a
// command asks for.
#include "tandem/cli/device_list.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "tandem/cli/draw/terminal.h"
#include "tandem/cli/options.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/runtime.h"
#include "tandem/core/base/suggest.h"
#include "tandem/core/threads/parallel_for.h"
#include "tandem/datasets/job_queue.h"

namespace tandem::cli {
namespace {

Device parsed(const std::string& name) {
  try {
    return Device(name);
  } catch (const Error& error) {
    const std::vector<std::string> known{"cpu", "cpu:0", "cuda", "cuda:0"};
    const bool misspelt = name.find("cpu") == std::string::npos && name.find("cuda") == std::string::npos;
    const std::string text = error.what();
    throw UsageError(text +
                     (misspelt && text.find("did you mean") == std::string::npos ? did_you_mean(name, known) : ""));
  }
}

bool count_is_fixed() {
  const char* text = std::getenv("TANDEM_CPU_DEVICES");
  return text != nullptr && *text != '\0';
}

// "available: cpu:0", "available: cuda:0 to cuda:3"
std::string those_present(DeviceType type) {
  const int count = device_count(type);
  const auto name = [type](int i) { return name_of(Device(type, static_cast<DeviceIndex>(i))); };
  if (count == 1) return "available: " + name(0);
  return concat("available: ", name(0), count == 2 ? " and " : " to ", name(count - 1));
}

Device present(Device device) try { return resolve(device); } catch (const Error& error) {
  require(device_count(device.type()) != 0, error.what());  // the message gives the reason
  const int wanted = device.index() + 1;
  refuse("no device ", device, "; ", those_present(device.type()),
         device.is_cpu() ? concat(" (TANDEM_CPU_DEVICES=", wanted, " makes ", wanted, ")") : "");
}

void make_cpu_devices(const std::vector<Device>& wanted) {
  int most = 0;
  for (const Device& device : wanted)
    if (device.is_cpu()) most = std::max(most, device.index() + 1);
  if (most > cpu::device_count() && !count_is_fixed()) cpu::set_device_count(most);
}

}  // namespace

Device use_device(const std::string& name) {
  return use_devices("--device", name.empty() ? std::vector<std::string>{} : std::vector<std::string>{name}).front();
}

std::string name_of(Device device) {
  return concat(DeviceTypeName(device.type(), true), ":", static_cast<int>(device.index()));
}

std::string names_of(const std::vector<Device>& devices) {
  std::string out;
  for (const Device& device : devices) out += (out.empty() ? "" : ",") + name_of(device);
  return out;
}

std::string short_names_of(const std::vector<Device>& devices) {
  bool in_a_row = devices.size() > 3;
  for (std::size_t i = 1; i < devices.size(); ++i)
    in_a_row &=
        devices[i].type() == devices[0].type() && devices[i].index() == devices[0].index() + static_cast<int>(i);
  return in_a_row ? concat(name_of(devices.front()), " to ", name_of(devices.back())) : names_of(devices);
}

std::vector<Device> use_devices(const std::string& option, const std::vector<std::string>& names) try {
  std::vector<Device> devices, out;
  for (const std::string& name : names) devices.push_back(parsed(name));
  if (names.empty()) devices.push_back(parsed(device_count(kCUDA) > 0 ? "cuda:0" : "cpu:0"));
  make_cpu_devices(devices);
  for (const Device& device : devices) {
    out.push_back(present(device));
    require(std::ranges::count(out, out.back()) <= 1, "device ", name_of(out.back()), " is listed twice");
  }
  return out;
} catch (const UsageError& error) {
  refuse(option, ": ", error.what());
}

Placement use_placement(const std::vector<std::string>& names, const std::string& root, int64_t shards) {
  Placement out{use_devices("--devices", names), Device(), shards, {}};
  out.root = out.devices.front();
  if (root.empty()) return out;
  try {
    out.root = parsed(root);
  } catch (const UsageError& error) {
    refuse("--root: ", error.what());
  }
  if (!out.root.has_index()) out.root = Device(out.root.type(), 0);
  require(std::ranges::count(out.devices, out.root) > 0, "--root ", root, ": not one of the devices ",
          names_of(out.devices));
  return out;
}

bool share_a_gpu(const std::vector<Device>& devices) {
  std::map<std::string, int> gpus;
  for (const Device& device : devices) {
    if (device.is_cpu()) continue;
    const std::string detail = backend(device).runtime.device_info(device.index()).detail;
    const auto at = detail.find("one of ");
    if (at != std::string::npos && ++gpus[detail.substr(at)] > 1) return true;
  }
  return false;
}

std::string describe_devices(const std::vector<Device>& devices) {
  const Device first = devices.front();
  const DeviceInfo info = backend(first).runtime.device_info(first.index());
  const bool alike = std::ranges::all_of(devices, [&](const Device& d) { return d.type() == first.type(); });
  if (!alike) return "devices of several kinds";
  if (first.is_cpu()) {
    const std::string threads = counted(info.threads, "thread", "threads");
    if (devices.size() == 1) return info.name + ", " + threads;
    return concat(devices.size(), " logical devices on one CPU, ", info.name, ", ", threads, " each");
  }
  if (devices.size() == 1)
    return concat(info.name, info.detail.find("one of ") != std::string::npos ? ", " + info.detail : "", ", ",
                  counted(info.threads, "multiprocessor", "multiprocessors"));
  return concat(devices.size(), share_a_gpu(devices) ? " logical devices on one GPU, " : " GPUs, ", info.name);
}

void use_threads(int threads) {
  require(threads >= 0 && threads <= 4096, "--threads ", threads, ": expected 1 to 4096, or 0 for all cores");
  if (threads == 0) return;
  set_num_threads(threads);
  try {
    device_num_threads();  // starts them
  } catch (const Error& error) {
    refuse("--threads ", threads, ": ", error.what());
  }
}

// Otherwise an epoch's loader would fail only after the folder has been created.
void check_workers(int workers) try { data::detail::JobQueue{workers}; } catch (const Error& error) {
  refuse("--workers ", workers, ": ", error.what());
}

}  // namespace tandem::cli
