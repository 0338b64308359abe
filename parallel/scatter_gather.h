// Has moved. This path goes with version 0.3.
#pragma once
#include "tandem/parallel/data_parallel/scatter_gather.h"
