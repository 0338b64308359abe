// where on CUDA devices: selects elements as raw bytes, independent of dtype.
#include "tandem/core/backend/ternary.h"
#include "tandem/core/formulas/store.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/elementwise.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
namespace {

template <class Bits>
struct Choice {
  Bits* out;
  Input<bool> condition;
  Input<Bits> a, b;
  ElementwisePiece<4> piece;
};

// Each thread processes one vector, or that many single elements: see elementwise_kernel.
template <class Bits>
__global__ void where_kernel(const Choice<Bits> p) {
  constexpr int V = widest_vector<Bits>;
  const uint32_t first = blockIdx.x * static_cast<uint32_t>(kElementThreads * V);
  const uint32_t(&strides)[4] = p.piece.walk.strides[0];
  if (p.piece.vectors && p.piece.numel - first >= kElementThreads * V) {
    const uint32_t positions[1] = {first + threadIdx.x * V};
    uint32_t at[4][1];
    walk(p.piece.walk, positions, at);
    bool condition[V];
    Bits a[V], b[V];
    p.condition.template vectors<V>(at[1], strides[1] == 0, condition);
    p.a.template vectors<V>(at[2], strides[2] == 0, a);
    p.b.template vectors<V>(at[3], strides[3] == 0, b);
    Pack<Bits, V> values;
#pragma unroll
    for (int v = 0; v < V; ++v) values.x[v] = condition[v] ? a[v] : b[v];
    *reinterpret_cast<Pack<Bits, V>*>(p.out + at[0][0]) = values;
    return;
  }
  for (int v = 0; v < V; ++v) {
    const uint32_t position = first + v * kElementThreads + threadIdx.x;
    if (position >= p.piece.numel) return;
    const auto [at] = p.piece.walk.offsets(position);
    p.out[at[0]] = p.condition.element(at[1]) ? p.a.element(at[2]) : p.b.element(at[3]);
  }
}

template <class Bits>
void where_bits(const Tensor& out, const Tensor& condition, const Operand& a, const Operand& b) {
  Choice<Bits> p{};
  p.a.number = bits_of<Bits>(a.scalar, out.dtype());
  p.b.number = bits_of<Bits>(b.scalar, out.dtype());
  Context& c = context(out.device());
  constexpr int count = widest_vector<Bits>;
  auto start = [&](const Piece<4>& piece, bool vectors) {
    p.out = reinterpret_cast<Bits*>(piece.data[0]);
    p.condition.data = reinterpret_cast<const bool*>(piece.data[1]);
    p.a.data = reinterpret_cast<const Bits*>(piece.data[2]);
    p.b.data = reinterpret_cast<const Bits*>(piece.data[3]);
    p.piece = {piece.numel, vectors, piece.walk};
    launch("where", c, grid_for(piece.numel, count, kElementThreads), where_kernel<Bits>, p);
  };
  for_elementwise_pieces<4>(make_plan<4>({&out, &condition, a.tensor, b.tensor}), count, PieceCall<4>(start));
}

}  // namespace

void where(const Tensor& out, const Tensor& condition, const Operand& a, const Operand& b) {
  if (out.numel() == 0) return;
  dispatch_bits(out.element_size(), [&]<class Bits>(Type<Bits>) { where_bits<Bits>(out, condition, a, b); });
}

}  // namespace tandem::cuda_impl
