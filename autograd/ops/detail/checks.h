// Argument checks that several operations share. Internal to their sources.
#pragma once
#include <array>

#include "tandem/core/tensor.h"

namespace tandem::autograd {

/// Throws Error naming both tensors unless dtypes and devices are equal.
void check_alike(const char* operation, const char* first_name, const Tensor& first, const char* second_name,
                 const Tensor& second);
/// The same for a parameter of a normalisation, which may also be float32 for an input of a half type.
void check_parameter(const char* operation, const Tensor& input, const char* name, const Tensor& parameter);
/// Sets `pair` from `value`: one number for both, or two with the height first. Throws Error unless value has one or
/// two numbers, each from `least` to INT32_MAX.
void set_pair(const char* operation, const char* what, IntArrayRef value, int64_t least, std::array<int64_t, 2>& pair);

/// Throws Error unless self is floating point.
void check_floating_point(const char* operation, const Tensor& self);
/// Throws Error ("operation: message") for a number outside of [low, high], and for NaN; on CUDA at the next
/// synchronisation. Both strings are literals.
void check_range(const char* operation, const Tensor& values, double low, double high, const char* message);

}  // namespace tandem::autograd
