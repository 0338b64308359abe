// TANDEM_REPRODUCIBLE: how much may depend on the processor (docs/reproducibility.md).
#pragma once

namespace tandem {

/// on: what depends on the processor is computed in another way, if there is one; strict: anything else that depends on
/// it is an error.
enum class Reproducible { kOff, kOn, kStrict };

/// The variable's value, which is read once: off (default), on or strict. Throws Error for another one.
Reproducible reproducible();

/// Throws Error that names the operation if only what has the same bits on every processor is wanted.
void check_reproducible(const char* operation, const char* reason);

}  // namespace tandem
