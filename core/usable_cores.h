// The cores that this process may use.
#pragma once

namespace tandem {
/// By its affinity; at least 1.
int usable_cores();
}  // namespace tandem
