// How far results of two devices may be apart.
#pragma once
#include "tandem/core/reproducible.h"

namespace tandem {

/// `tolerance`, or 0 with TANDEM_REPRODUCIBLE=strict, where both devices have the same bits.
inline double unless_strict(double tolerance) { return reproducible() == Reproducible::kStrict ? 0 : tolerance; }

}  // namespace tandem
