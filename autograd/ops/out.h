// All functions that write to a given tensor.
#pragma once
#include "tandem/autograd/ops/out_arithmetic.h"
#include "tandem/autograd/ops/out_comparison.h"
#include "tandem/autograd/ops/out_factories.h"
#include "tandem/autograd/ops/out_index.h"
#include "tandem/autograd/ops/out_linalg.h"
#include "tandem/autograd/ops/out_names.h"
#include "tandem/autograd/ops/out_nn.h"
#include "tandem/autograd/ops/out_order.h"
#include "tandem/autograd/ops/out_random.h"
#include "tandem/autograd/ops/out_reduce.h"
#include "tandem/autograd/ops/out_shape.h"
#include "tandem/autograd/ops/out_unary.h"
