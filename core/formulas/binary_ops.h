// Elementwise binary operations. The result has the arguments' type.
#pragma once
#include "tandem/core/formulas/arithmetic_ops.h"
#include "tandem/core/formulas/bitwise_ops.h"
