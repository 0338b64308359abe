#pragma once
#include "tandem/parallel/data_parallel/scatter_gather.h"  // has moved there; this path goes with version 0.3
