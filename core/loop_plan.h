// The plan of an elementwise loop over N tensors of one shape (inputs broadcast): dimensions are ordered by
// the output's strides and merged where all operands allow it. Both backends iterate by it.
#pragma once
#include <array>
#include <cstdlib>

#include "tandem/core/tensor.h"

namespace tandem {

/// Calls f(Type<Bits>{}) with a type of `bytes` bytes, unsigned up to 8: for kernels that only move elements.
template <class F>
void dispatch_bits(int64_t bytes, F&& f) {
  switch (bytes) {
    case 1:
      return f(Type<uint8_t>{});
    case 2:
      return f(Type<uint16_t>{});
    case 4:
      return f(Type<uint32_t>{});
    case 8:
      return f(Type<uint64_t>{});
    default:
      return f(Type<Bits16>{});
  }
}

/// Has at least one dimension. If no dimension is left, it is one of size numel with strides 0 (1 for one
/// element).
template <int N>
struct LoopPlan {
  int ndim = 0;
  int64_t numel = 0;
  int64_t sizes[kMaxDims];  // innermost first
  std::array<int64_t, N> strides[kMaxDims];
  std::array<char*, N> data;
  std::array<int64_t, N> item_sizes;
};

/// tensors[0] is the output. A null tensor stands for a scalar operand: stride 0 and null data.
template <int N>
LoopPlan<N> make_plan(const std::array<const Tensor*, N>& tensors) {
  LoopPlan<N> plan;
  const Tensor& out = *tensors[0];
  const IntArrayRef sizes = out.sizes();
  const int n = static_cast<int>(sizes.size());
  plan.numel = out.numel();
  std::array<std::array<int64_t, N>, kMaxDims> strides;
  int order[kMaxDims];
  for (int d = 0; d < n; ++d) {
    if (sizes[static_cast<std::size_t>(d)] == 1) continue;
    for (int k = 0; k < N; ++k) {
      int64_t stride = 0;
      if (tensors[static_cast<std::size_t>(k)] != nullptr) {
        const TensorImpl& impl = *tensors[static_cast<std::size_t>(k)]->impl();
        const int own = d - (n - static_cast<int>(impl.sizes.size()));
        if (own >= 0 && impl.sizes[static_cast<std::size_t>(own)] != 1)
          stride = impl.strides[static_cast<std::size_t>(own)];
      }
      strides[static_cast<std::size_t>(d)][static_cast<std::size_t>(k)] = stride;
    }
    // Insertion sort by the output's stride, innermost first; later dimensions win ties.
    int at = plan.ndim++;
    for (; at > 0 && std::abs(strides[static_cast<std::size_t>(order[at - 1])][0]) <
                         std::abs(strides[static_cast<std::size_t>(d)][0]);
         --at)
      order[at] = order[at - 1];
    order[at] = d;
  }
  // `order` is outermost first now: walk it backwards and merge.
  const int count = plan.ndim;
  plan.ndim = 0;
  for (int i = count - 1; i >= 0; --i) {
    const auto& s = strides[static_cast<std::size_t>(order[i])];
    const int64_t size = sizes[static_cast<std::size_t>(order[i])];
    bool merge = plan.ndim > 0;
    for (int k = 0; merge && k < N; ++k)
      merge = s[static_cast<std::size_t>(k)] ==
              plan.strides[plan.ndim - 1][static_cast<std::size_t>(k)] * plan.sizes[plan.ndim - 1];
    if (merge) {
      plan.sizes[plan.ndim - 1] *= size;
    } else {
      plan.sizes[plan.ndim] = size;
      plan.strides[plan.ndim++] = s;
    }
  }
  if (plan.ndim == 0) {
    plan.ndim = 1;
    plan.sizes[0] = plan.numel;
    plan.strides[0].fill(0);
    if (plan.numel == 1) plan.strides[0].fill(1);
  }
  for (std::size_t k = 0; k < N; ++k) {
    plan.data[k] = tensors[k] != nullptr ? static_cast<char*>(tensors[k]->data_ptr()) : nullptr;
    plan.item_sizes[k] = tensors[k] != nullptr ? tensors[k]->element_size() : 0;
  }
  return plan;
}

}  // namespace tandem
