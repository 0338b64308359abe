// Forward-mode derivatives with LibTorch's interface: tangents travel with the tensors of a dual level.
//
//   const uint64_t level = autograd::forward_ad::enter_dual_level();
//   const Tensor x = _make_dual(primal, tangent, level);
//   auto [y, derivative] = _unpack_dual(f(x), level);   // derivative = J tangent
//   autograd::forward_ad::exit_dual_level(level);
//
// A tangent is computed when it is asked for, by two backward passes (as functional::jvp does). So every operation with
// a second derivative has one, but dual tensors require gradients and keep their graph, and operations under
// NoGradGuard lose the tangent.
#pragma once
#include <cstdint>
#include <tuple>

#include "tandem/core/tensor.h"

namespace tandem::autograd::forward_ad {

/// Starts the only dual level of the process, and returns its number, 0. Throws Error if one is active.
uint64_t enter_dual_level();
/// Ends it: its tensors lose their tangents. Throws Error if this level is not active.
void exit_dual_level(uint64_t level);

}  // namespace tandem::autograd::forward_ad

namespace tandem {

/// A tensor with the memory and history of `primal`, and a tangent of the same shape, dtype and device. In-place
/// operations on it write to `primal`. Throws Error for a level that is not active, for dtypes without gradients, and
/// for a primal that is a dual tensor already.
Tensor _make_dual(const Tensor& primal, const Tensor& tangent, int64_t level);
/// `dual` itself and its tangent; undefined if it depends on no dual tensor.
std::tuple<Tensor, Tensor> _unpack_dual(const Tensor& dual, int64_t level);

}  // namespace tandem
