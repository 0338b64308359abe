#include "tandem/cli/machine_memory.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;

// The number after `name` in a file of lines "name number"; nullopt if there is none. An empty name: the first word.
std::optional<double> number_in(const fs::path& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string first;
    double value = 0;
    if (name.empty() ? static_cast<bool>(words >> value) : words >> first >> value && first == name) return value;
    if (name.empty()) return std::nullopt;  // "max": no limit
  }
  return std::nullopt;
}

struct Version {
  const char *folder, *limit, *usage, *cache;
};
constexpr Version kFirst{"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                         "total_inactive_file"};
constexpr Version kSecond{"sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};

// Lowers `memory` to the limits of a group and of those around it. In a container the group may be the mounted folder
// itself, under another name.
void apply_limits(const fs::path& root, const Version& version, const std::string& group, MachineMemory& memory) {
  const fs::path top = root / version.folder;
  for (fs::path at = top / fs::path(group).relative_path();; at = at.parent_path()) {
    if (const auto limit = number_in(at / version.limit, "")) {
      const double used = number_in(at / version.usage, "").value_or(0);
      const double cache = number_in(at / "memory.stat", version.cache).value_or(0);  // given up for programs
      memory.total = std::min(memory.total, *limit);
      memory.available = std::min(memory.available, std::max(0.0, *limit - used + cache));
    }
    if (at == top || !at.has_relative_path()) return;
  }
}

}  // namespace

MachineMemory machine_memory(const std::string& root_name) {
  const fs::path root = root_name.empty() ? "/" : root_name, info = root / "proc/meminfo";
  const auto kib = [&](const char* name) { return 1024 * number_in(info, name).value_or(0); };
  MachineMemory memory{kib("MemTotal:") + kib("SwapTotal:"), kib("MemAvailable:")};
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "4:cpu,memory:/group", or of version 2 "0::/group"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controllers == ",,") apply_limits(root, kSecond, line.substr(second + 1), memory);
    if (controllers.find(",memory,") != std::string::npos) apply_limits(root, kFirst, line.substr(second + 1), memory);
  }
  return memory;
}

}  // namespace tandem::cli
