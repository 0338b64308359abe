// Includes all of data loading: data sets, samplers, transforms, loaders.
//
// There are two loaders, on one engine, because their inputs differ:
//   make_data_loader  any data set and sampler, from which workers make batches (LibTorch's interface);
//                     DataLoader is the same loader with the options of PyTorch's Python interface
//   BatchLoader       tensors: gathers the rows of a batch at once, without examples
// DeviceFeeder is not a loader: it copies a BatchLoader's batches to a device ahead of their use.
#pragma once
#include "tandem/datasets/chunk_dataset.h"
#include "tandem/datasets/data_loader.h"
#include "tandem/datasets/device_feeder.h"
#include "tandem/datasets/image_data.h"
#include "tandem/datasets/loader.h"
#include "tandem/datasets/mnist.h"
#include "tandem/datasets/simple_loader.h"
#include "tandem/datasets/subset.h"
#include "tandem/datasets/tensor_dataset.h"
