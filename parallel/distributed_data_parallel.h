// Has moved. This path goes with version 0.3.
#pragma once
#include "tandem/parallel/distributed_data_parallel/distributed_data_parallel.h"
