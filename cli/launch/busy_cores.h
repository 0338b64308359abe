// Finds out whether other programs leave a core to each of several processes.
#pragma once
#include <string>

namespace tandem::cli {

/// How many cores other programs have used for the last minute and use now; 0 where the system does not say.
double busy_cores();
/// What to tell the user before `processes` start, if other programs use `busy` of `cores` cores and leave less than one
/// for each; else "".
std::string busy_note(int processes, double busy, int cores);

}  // namespace tandem::cli
