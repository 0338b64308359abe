#pragma once
#include "tandem/parallel/distributed_data_parallel/sync_batch_norm.h"  // has moved there; this path goes with version 0.3
