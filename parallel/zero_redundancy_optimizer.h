#pragma once
#include "tandem/parallel/sharded/zero_redundancy_optimizer.h"  // has moved there; this path goes with version 0.3
