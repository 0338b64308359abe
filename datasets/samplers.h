// Includes all samplers.
#pragma once
#include "tandem/datasets/batch_samplers.h"
#include "tandem/datasets/distributed_samplers.h"
#include "tandem/datasets/index_samplers.h"
#include "tandem/datasets/weighted_sampler.h"
