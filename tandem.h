// The whole library: tensors, autograd, operations, modules, optimizers, multi-device training, data.
//
//   #include <tandem/tandem.h>
#pragma once
#include "tandem/core/base/cpp20.h"  // first: see there

#include <cmath>  // LibTorch's headers provide it, so programs rely on it

#include "tandem/autograd/autocast.h"
#include "tandem/autograd/checkpoint.h"
#include "tandem/autograd/dlpack.h"
#include "tandem/autograd/engine.h"
#include "tandem/autograd/forward_ad.h"
#include "tandem/autograd/function.h"
#include "tandem/autograd/functional.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/hooks.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/cuda.h"
#include "tandem/core/deprecated_type.h"
#include "tandem/core/global_context.h"
#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/core/print.h"
#include "tandem/core/stream.h"
#include "tandem/core/tensor.h"
#include "tandem/core/threads/parallel_for.h"
#include "tandem/core/version.h"
#include "tandem/nn/nn.h"
#include "tandem/nn/optim/optim.h"
#include "tandem/parallel/parallel.h"
#if __has_include("tandem/datasets/data.h")
#include "tandem/datasets/data.h"
#endif
