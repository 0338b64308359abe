// The bounds of clamp and hardtanh. Internal to their sources.
#pragma once
#include "tandem/autograd/ops/pointwise/unary_op.h"

namespace tandem::autograd {

/// Both bounds as numbers of `type`. A missing bound becomes infinity or the limit of the type; integer types truncate
/// fractions, and take bounds outside of their range. Throws Error if there is no bound, or none of the type's values
/// is within them.
Parameters bounds(const char* operation, const optional<Scalar>& min, const optional<Scalar>& max, ScalarType type);

}  // namespace tandem::autograd
