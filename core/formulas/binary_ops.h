// The elementwise functions of two arguments with a result of their type.
#pragma once
#include "tandem/core/formulas/arithmetic_ops.h"
#include "tandem/core/formulas/bitwise_ops.h"
