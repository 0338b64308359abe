// The part of CUB that this project's device code uses, on the host: same names and arguments, in stream
// order.
#pragma once
#include "scan.h"
#include "sort.h"
