// tandem devices: lists the available devices.
#include <cstdio>

#include "tandem/cli/commands/add_options.h"
#include "tandem/cli/device_list.h"
#include "tandem/cli/draw/plot.h"
#include "tandem/cli/message.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/runtime.h"
#include "tandem/parallel/distributed/process_group.h"

namespace tandem::cli {
namespace {

int devices_command() {
  const Terminal terminal = detect_terminal();
  Table table({{"device"},
               {"hardware"},
               {"threads, SMs", Table::Align::kRight},
               {"memory", Table::Align::kRight},
               {"free", Table::Align::kRight},
               {"backend"}});
  for (const DeviceType type : {kCPU, kCUDA}) {
    if (device_count(type) == 0) continue;
    const RuntimeKernels& runtime = backend(type).runtime;
    const std::string parts = join(runtime.computes_with(), ", ");
    for (int i = 0; i < device_count(type); ++i) {
      const DeviceInfo info = runtime.device_info(i);
      table.add_row({name_of(Device(type, static_cast<DeviceIndex>(i))),
                     info.name + (info.detail.empty() ? "" : ", " + info.detail), std::to_string(info.threads),
                     byte_size(static_cast<double>(info.memory)), byte_size(static_cast<double>(info.memory_free)),
                     parts});
    }
  }
  std::fputs(table.text(terminal).c_str(), stdout);
  if (device_count(kCUDA) == 0) std::printf("cuda: %s\n", cuda_reason());
  std::printf("\nbetween processes:\n");
  for (const distributed::BackendInfo& info : distributed::backends()) {
    const std::string& text = info.missing.empty() ? info.description : info.missing;
    const bool named = text.starts_with(info.name + ": ");
    std::printf("%s%s\n", named ? "" : (info.name + ": ").c_str(), printable(one_line(text)).c_str());
  }
  return 0;
}

}  // namespace

Command add_devices(CLI::App& app) {
  app.add_subcommand("devices", "list the available devices and their hardware");
  return [](const CommandLine&) { return devices_command(); };
}

}  // namespace tandem::cli
