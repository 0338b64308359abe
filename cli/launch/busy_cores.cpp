#include "tandem/cli/launch/busy_cores.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "tandem/cli/draw/terminal.h"
#include "tandem/core/error.h"
#include "tandem/core/threads/usable_cores.h"

namespace tandem::cli {

double busy_cores() {
  if (usable_cores() != ::sysconf(_SC_NPROCESSORS_ONLN)) return 0;  // the load may be on other cores
  // "2.77 2.46 2.37 3/98 4711": the load of the last minute, …, threads that run now, with this one. A program that has
  // just ended is only in the first, one that has just begun or runs for a moment only in the other.
  double minute = 0, other = 0, running = 0;
  std::ifstream file("/proc/loadavg");
  if (!(file >> minute >> other >> other >> running)) return 0;
  return std::max(0.0, std::min(minute, running - 1));
}

std::string busy_note(int processes, double busy, int cores) {
  const auto used = static_cast<int>(std::min<double>(cores, std::floor(busy)));
  if (processes < 2 || used == 0 || cores - used >= processes) return "";
  return concat(
      "other programs use ", used, " of ", counted(cores, "core", "cores"), "; ", processes,
      " processes wait for each other in every step and will be slow; one, without --processes, suffers less");
}

}  // namespace tandem::cli
