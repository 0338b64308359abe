// Memory is what the machine has, or less by the limits of control groups.
#include "tandem/cli/machine_memory.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "tandem/tests/temp_folder.h"

using namespace tandem::cli;
using namespace tandem::test;

namespace {

constexpr double kGiB = 1 << 30;

void write(const TempFolder& root, const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(root / path).parent_path());
  write_file(root / path, text);
}

}  // namespace

TEST_CASE("this machine has memory") {
  const MachineMemory memory = machine_memory();
  CHECK(memory.total > 1e6);
  CHECK(memory.available > 0);
  CHECK(memory.available <= memory.total);
}

TEST_CASE("limits of control groups of both versions") {
  TempFolder root;
  CHECK(machine_memory(root.path()).total == 0);
  write(root, "proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\nSwapTotal: 1048576 kB\n");
  CHECK(machine_memory(root.path()).total == 9 * kGiB);
  CHECK(machine_memory(root.path()).available == 4 * kGiB);
  SUBCASE("version 2, where a group around it has the limit") {
    write(root, "proc/self/cgroup", "0::/outer/inner\n");
    write(root, "sys/fs/cgroup/outer/inner/memory.max", "max\n");
    write(root, "sys/fs/cgroup/outer/memory.max", "2147483648\n");
    write(root, "sys/fs/cgroup/outer/memory.current", "1610612736\n");
    write(root, "sys/fs/cgroup/outer/memory.stat", "anon 1\ninactive_file 536870912\n");
    CHECK(machine_memory(root.path()).total == 2 * kGiB);
    CHECK(machine_memory(root.path()).available == 1 * kGiB);
  }
  SUBCASE("version 1, in a container that sees its own group only") {
    write(root, "proc/self/cgroup", "3:cpu,cpuacct:/x\n4:memory:/docker/abc\n0::/\n");
    write(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n");
    write(root, "sys/fs/cgroup/memory/memory.usage_in_bytes", "1073741825\n");
    CHECK(machine_memory(root.path()).total == kGiB);
    CHECK(machine_memory(root.path()).available == 0);
  }
}
