// All functional forms: namespace F = tandem::nn::functional. nn/layers/ defines them, beside the modules.
#pragma once
#include "tandem/nn/functional/activation.h"
#include "tandem/nn/functional/attention.h"
#include "tandem/nn/functional/conv.h"
#include "tandem/nn/functional/dropout.h"
#include "tandem/nn/functional/embedding.h"
#include "tandem/nn/functional/grid_sample.h"
#include "tandem/nn/functional/image.h"
#include "tandem/nn/functional/linear.h"
#include "tandem/nn/functional/loss.h"
#include "tandem/nn/functional/norm.h"
#include "tandem/nn/functional/pooling.h"
#include "tandem/nn/functional/pooling3d.h"
