#pragma once
#include "tandem/parallel/distributed_data_parallel/distributed_data_parallel.h"  // has moved there; this path goes with version 0.3
