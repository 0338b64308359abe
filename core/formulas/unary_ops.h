// The elementwise functions of one argument: value, derivative and what the derivative needs, each in one
// struct.
#pragma once
#include "tandem/core/formulas/activation_ops.h"
#include "tandem/core/formulas/algebraic_ops.h"
#include "tandem/core/formulas/exponential_ops.h"
#include "tandem/core/formulas/rounding_ops.h"
#include "tandem/core/formulas/trigonometric_ops.h"
