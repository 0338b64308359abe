// All optimizers and schedulers.
#pragma once
#include "tandem/nn/optim/adadelta.h"
#include "tandem/nn/optim/adagrad.h"
#include "tandem/nn/optim/adam.h"
#include "tandem/nn/optim/adamax.h"
#include "tandem/nn/optim/cycles.h"
#include "tandem/nn/optim/lbfgs.h"
#include "tandem/nn/optim/nadam.h"
#include "tandem/nn/optim/plateau.h"
#include "tandem/nn/optim/radam.h"
#include "tandem/nn/optim/rmsprop.h"
#include "tandem/nn/optim/schedulers.h"
#include "tandem/nn/optim/sgd.h"
