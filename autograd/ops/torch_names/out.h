// All functions that write to a given tensor.
#pragma once
#include "tandem/autograd/ops/torch_names/out_arithmetic.h"
#include "tandem/autograd/ops/torch_names/out_comparison.h"
#include "tandem/autograd/ops/torch_names/out_factories.h"
#include "tandem/autograd/ops/torch_names/out_index.h"
#include "tandem/autograd/ops/torch_names/out_linalg.h"
#include "tandem/autograd/ops/torch_names/out_names.h"
#include "tandem/autograd/ops/torch_names/out_nn.h"
#include "tandem/autograd/ops/torch_names/out_order.h"
#include "tandem/autograd/ops/torch_names/out_random.h"
#include "tandem/autograd/ops/torch_names/out_reduce.h"
#include "tandem/autograd/ops/torch_names/out_shape.h"
#include "tandem/autograd/ops/torch_names/out_unary.h"
