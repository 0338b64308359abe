// How kernels' walks over strided tensors are made. Tensors larger than a walk can cover are split on the host into
// pieces that fit (for_pieces): that is the 64-bit path.
#pragma once
#include <array>
#include <cstdint>

#include "tandem/core/loop_plan.h"
#include "tandem/cuda/walk.h"

namespace tandem::cuda_impl {

/// One launch of an elementwise kernel.
template <int N>
struct Piece {
  uint32_t numel = 0;
  std::array<char*, N> data{};  // null: the operand is a number
  /// One dimension in which every operand has stride 1, or stride 0 (the same element throughout).
  bool dense = false;
  Walk<N> walk;
};

inline constexpr int64_t kMaxElements = int64_t{1} << 31;

template <int N>
bool fits_32_bits(const LoopPlan<N>& plan) {
  if (plan.numel >= kMaxElements) return false;
  for (std::size_t k = 0; k < N; ++k) {
    int64_t last = 0;
    for (int d = 0; d < plan.ndim; ++d) last += (plan.sizes[d] - 1) * std::abs(plan.strides[d][k]);
    if (last >= kMaxElements) return false;
  }
  return true;
}

template <int N>
Piece<N> make_piece(const LoopPlan<N>& plan) {
  Piece<N> piece;
  piece.numel = static_cast<uint32_t>(plan.numel);
  piece.data = plan.data;
  piece.walk.ndim = plan.ndim;
  piece.dense = plan.ndim == 1;
  for (int d = 0; d < plan.ndim; ++d) {
    piece.walk.sizes[d] = FastDivide(static_cast<uint32_t>(plan.sizes[d]));
    for (std::size_t k = 0; k < N; ++k) {
      piece.walk.strides[d][k] = static_cast<uint32_t>(plan.strides[d][k]);
      piece.dense &= plan.strides[d][k] == 1 || plan.strides[d][k] == 0;
    }
  }
  piece.dense &= piece.numel <= 1 || plan.strides[0][0] == 1;
  return piece;
}

/// Calls f(piece) for pieces that together cover the plan; not at all if it is empty. A plan that does not
/// fit is halved along its outermost dimension.
template <int N, class F>
void for_pieces(LoopPlan<N> plan, F&& f) {
  if (plan.numel == 0) return;
  if (fits_32_bits(plan)) return f(make_piece(plan));
  int widest = plan.ndim - 1;  // the outermost dimension that can be halved
  while (widest > 0 && plan.sizes[widest] < 2) --widest;
  LoopPlan<N> rest = plan;
  int64_t first = plan.sizes[widest] / 2;
  if (first >= 128) first -= first % 64;  // keeps the second piece aligned
  plan.numel = plan.numel / plan.sizes[widest] * first;
  rest.numel -= plan.numel;
  plan.sizes[widest] = first;
  rest.sizes[widest] -= first;
  for (std::size_t k = 0; k < N; ++k)
    if (rest.data[k] != nullptr) rest.data[k] += first * rest.strides[widest][k] * rest.item_sizes[k];
  for_pieces(plan, f);
  for_pieces(rest, f);
}

}  // namespace tandem::cuda_impl
