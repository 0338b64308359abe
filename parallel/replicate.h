#pragma once
#include "tandem/parallel/data_parallel/replicate.h"  // has moved there; this path goes with version 0.3
