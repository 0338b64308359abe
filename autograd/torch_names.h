// Further names of operations, for programs that were written for LibTorch; <torch/torch.h> includes them. They forward
// to the operations of autograd/ops.h: other names (arcsin, det), functions in namespaces (linalg::det, fft::rfft,
// special::erf), and functions that copy their result to a given tensor (add_out), which saves no memory.
#pragma once
#include "tandem/autograd/ops/torch_names/fft_namespace.h"
#include "tandem/autograd/ops/torch_names/linalg_namespace.h"
#include "tandem/autograd/ops/torch_names/other_names.h"
#include "tandem/autograd/ops/torch_names/out.h"
#include "tandem/autograd/ops/torch_names/special_namespace.h"
