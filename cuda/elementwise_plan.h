// Host-side geometry of elementwise kernels: what a launch covers, and whether its operands are accessed in
// vectors.
#pragma once
#include "tandem/cuda/strided.h"

namespace tandem::cuda_impl {

inline constexpr int kElementThreads = 128;
inline constexpr uint32_t kNoElement = 0xffffffffu;

/// Elements per 16-byte vector; with several types the largest decides.
constexpr int vector_count(std::size_t item) { return static_cast<int>(16 / item); }
/// Vectors per thread and operand: enough loads in flight without too many registers.
constexpr int vectors_a_thread(int count, int inputs) { return count <= 4 && inputs < 3 ? 2 : 1; }

/// Whether aligned vectors of `count` elements never cross a row of the piece, and are in every operand
/// either contiguous or one element repeated along the row.
template <int N>
bool moves_in_vectors(const Piece<N>& piece, const std::array<int64_t, N>& item_sizes, int count) {
  const auto n = static_cast<uint32_t>(count);
  const Walk<N>& walk = piece.walk;
  if (walk.strides[0][0] != 1 || (walk.ndim > 1 && walk.sizes[0].divisor % n != 0)) return false;
  for (int k = 0; k < N; ++k) {
    if (piece.data[static_cast<std::size_t>(k)] == nullptr || walk.strides[0][k] == 0) continue;
    const auto address = reinterpret_cast<std::uintptr_t>(piece.data[static_cast<std::size_t>(k)]);
    if (walk.strides[0][k] != 1 ||
        address % static_cast<std::uintptr_t>(count * item_sizes[static_cast<std::size_t>(k)]) != 0)
      return false;
    for (int d = 1; d < walk.ndim; ++d)
      if (walk.strides[d][k] % n != 0) return false;
  }
  return true;
}

/// What a kernel needs to know of a Piece in addition to its pointers.
template <int N>
struct ElementwisePiece {
  uint32_t numel = 0;
  bool vectors = false;
  Walk<N> walk;
};

/// A type-erased callable, so that the code that splits tensors is compiled once for all kernels.
template <int N>
class PieceCall {
 public:
  template <class F>
  explicit PieceCall(F& f)
      : f_(&f), call_(+[](void* to, const Piece<N>& piece, bool vectors) { (*static_cast<F*>(to))(piece, vectors); }) {}
  void operator()(const Piece<N>& piece, bool vectors) const { call_(f_, piece, vectors); }

 private:
  void* f_;
  void (*call_)(void*, const Piece<N>&, bool);
};

/// Calls f(piece, whether vectors of `count` are used) for the pieces of a walk.
template <int N>
void for_elementwise_pieces(const LoopPlan<N>& plan, int count, const PieceCall<N>& f) {
  for_pieces(plan, [&](const Piece<N>& piece) { f(piece, moves_in_vectors<N>(piece, plan.item_sizes, count)); });
}

}  // namespace tandem::cuda_impl
