// tandem devices, and the choice of a device.
#include <cstdio>

#include "tandem/cli/options.h"
#include "tandem/cli/plot.h"
#include "tandem/core/backend.h"
#include "tandem/core/parallel_for.h"
#include "tandem/core/suggest.h"

namespace tandem::cli {

std::string best_device() { return device_count(kCUDA) > 0 ? "cuda:0" : "cpu:0"; }

Device use_device(const std::string& name) {
  try {
    return resolve(Device(name.empty() ? best_device() : name));
  } catch (const Error& error) {
    const std::vector<std::string> known{"cpu", "cpu:0", "cuda", "cuda:0"};
    const bool misspelt = name.find("cpu") == std::string::npos && name.find("cuda") == std::string::npos;
    const std::string text = error.what();
    throw UsageError(
        text + (misspelt && text.find("did you mean") == std::string::npos ? did_you_mean(name, known) : ""));
  }
}

void use_threads(int threads) {
  if (threads < 0 || threads > 4096)
    throw UsageError(concat("--threads ", threads, ": expected 1 to 4096, or 0 for all cores"));
  if (threads == 0) return;
  set_num_threads(threads);
  try {
    device_num_threads();  // they start here
  } catch (const Error& error) {
    throw UsageError(concat("--threads ", threads, ": ", error.what()));
  }
}

int devices_command() {
  const Terminal terminal = detect_terminal();
  Table table({{"device"},
               {"what"},
               {"threads, SMs", Table::Align::kRight},
               {"memory", Table::Align::kRight},
               {"free", Table::Align::kRight},
               {"backend"}});
  for (const DeviceType type : {kCPU, kCUDA}) {
    if (device_count(type) == 0) continue;
    const RuntimeKernels& runtime = backend(type).runtime;
    std::string versions;
    for (const std::string& version : runtime.versions())
      versions += (versions.empty() ? "" : ", ") + version;
    for (int i = 0; i < device_count(type); ++i) {
      const DeviceInfo info = runtime.device_info(i);
      table.add_row({Device(type, static_cast<DeviceIndex>(i)).str(),
                     info.name + (info.detail.empty() ? "" : ", " + info.detail),
                     std::to_string(info.threads), byte_size(static_cast<double>(info.memory)),
                     byte_size(static_cast<double>(info.memory_free)), versions});
    }
  }
  std::fputs(table.text(terminal).c_str(), stdout);
  if (device_count(kCUDA) == 0) std::printf("cuda: %s\n", cuda_reason());
  return 0;
}

}  // namespace tandem::cli
