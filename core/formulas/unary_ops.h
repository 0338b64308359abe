// Elementwise unary operations. One struct per operation defines its value, its derivative and what the derivative
// needs.
#pragma once
#include "tandem/core/formulas/activation_ops.h"
#include "tandem/core/formulas/algebraic_ops.h"
#include "tandem/core/formulas/exponential_ops.h"
#include "tandem/core/formulas/rounding_ops.h"
#include "tandem/core/formulas/trigonometric_ops.h"
