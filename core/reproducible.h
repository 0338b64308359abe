// TANDEM_REPRODUCIBLE: how much may depend on the processor (docs/reproducibility.md).
#pragma once

namespace tandem {

/// on: computations that depend on the processor are replaced by others, where there are any; strict: the rest are
/// errors.
enum class Reproducible { kOff, kOn, kStrict };

/// The variable's value, which is read once: off (default), on or strict. Throws Error for another one.
Reproducible reproducible();

/// Throws Error that names the operation if TANDEM_REPRODUCIBLE is strict.
void check_reproducible(const char* operation, const char* reason);

}  // namespace tandem
