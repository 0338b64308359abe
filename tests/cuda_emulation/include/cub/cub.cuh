// The part of CUB that device code here uses, on the host: same names and arguments, in stream order.
#pragma once
#include "scan.h"
#include "sort.h"
