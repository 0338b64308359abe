// Training on several devices.
#pragma once
#include "tandem/core/logical_devices.h"
#include "tandem/parallel/data_parallel/data_parallel.h"
#include "tandem/parallel/data_parallel/nested.h"
#include "tandem/parallel/data_parallel/replicate.h"
#include "tandem/parallel/data_parallel/scatter_gather.h"
#include "tandem/parallel/distributed/process_group.h"
#include "tandem/parallel/distributed_data_parallel/distributed_data_parallel.h"
#include "tandem/parallel/parameter_server/parameter_server.h"
#include "tandem/parallel/shared/device_copies.h"
#include "tandem/parallel/shared/parallel_apply.h"
