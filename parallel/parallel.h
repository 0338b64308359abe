// Training on several devices.
#pragma once
#include "tandem/core/logical_devices.h"
#include "tandem/parallel/comm.h"
#include "tandem/parallel/data_parallel.h"
#include "tandem/parallel/distributed/process_group.h"
#include "tandem/parallel/distributed_data_parallel.h"
#include "tandem/parallel/nested.h"
#include "tandem/parallel/parallel_apply.h"
#include "tandem/parallel/parameter_server.h"
#include "tandem/parallel/replicate.h"
#include "tandem/parallel/scatter_gather.h"
