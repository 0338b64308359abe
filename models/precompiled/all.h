// Compiled once for all sources of the models.
#include "tandem/autograd/ops.h"
#include "tandem/nn/layers/activation.h"
#include "tandem/nn/layers/batch_norm.h"
#include "tandem/nn/layers/conv.h"
#include "tandem/nn/layers/dropout.h"
#include "tandem/nn/layers/linear.h"
#include "tandem/nn/layers/pooling.h"
#include "tandem/nn/sequential.h"
