// The number of cores available to this process.
#pragma once

namespace tandem {
/// According to its CPU affinity; at least 1.
int usable_cores();
}  // namespace tandem
