// All optimizers and schedulers.
#pragma once
#include "tandem/nn/optim/adagrad.h"
#include "tandem/nn/optim/adam.h"
#include "tandem/nn/optim/rmsprop.h"
#include "tandem/nn/optim/schedulers.h"
#include "tandem/nn/optim/sgd.h"
