// Includes all of data loading: data sets, samplers, transforms, loaders.
#pragma once
#include "tandem/datasets/data_loader.h"
#include "tandem/datasets/device_feeder.h"
#include "tandem/datasets/image_loader.h"
#include "tandem/datasets/loader.h"
#include "tandem/datasets/mnist.h"
#include "tandem/datasets/simple_loader.h"
#include "tandem/datasets/tensor_dataset.h"
