#pragma once
#include "tandem/parallel/data_parallel/data_parallel.h"  // has moved there; this path goes with version 0.3
