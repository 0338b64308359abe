// Checks of arguments that several operations share. Internal to their sources.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::autograd {

/// Throws Error naming both tensors unless dtypes and devices are equal.
void check_alike(const char* operation, const char* first_name, const Tensor& first, const char* second_name,
                 const Tensor& second);
/// `value` as two numbers, height first. Throws Error unless it has one or two that are >= least.
void set_pair(const char* operation, const char* what, IntArrayRef value, int64_t least, int64_t (&pair)[2]);

/// Throws Error unless self is floating point.
void check_floating_point(const char* operation, const Tensor& self);

}  // namespace tandem::autograd
