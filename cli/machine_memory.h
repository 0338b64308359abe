// The memory that this process can get.
#pragma once
#include <string>

namespace tandem::cli {

struct MachineMemory {
  double total = 0;      ///< bytes with swap, or the limit of a control group if that is smaller; 0: unknown
  double available = 0;  ///< without swapping, and without what other processes use
};

/// Reads /proc/meminfo, and the limits of this process's control group and of those around it (versions 1 and 2).
/// `root`: what to read instead of "/", for tests.
MachineMemory machine_memory(const std::string& root = "");

}  // namespace tandem::cli
