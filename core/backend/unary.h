// Elementwise kernels of one argument and their gradients. Any strides; one device; out has the inputs' shape and may
// be one of them.
#pragma once
#include "tandem/core/backend/kernel.h"
#include "tandem/core/backend/op_lists.h"

namespace tandem {

/// out and in have one dtype. `parameters` has two entries, or is null for an op without parameters.
using UnarySignature = void(const Tensor& out, const Tensor& in, const Scalar* parameters);
/// Fused gradients, Op::gradient: out, g and saved have one floating point dtype; parameters as in the forward.
using GradientSignature = void(const Tensor& out, const Tensor& g, const Tensor& saved, const Scalar* parameters);

struct UnaryKernels {
  KernelArray<ops::UnaryOps, UnarySignature> value;
  KernelArray<ops::GradientOps, GradientSignature, "_backward"> gradient;
};

}  // namespace tandem
