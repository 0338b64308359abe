// Kernels of float that load and store a half type: elements are converted on the way.
#pragma once
#include <type_traits>

#include "tandem/core/backend/half_calls.h"
#include "tandem/core/dtype.h"

namespace tandem::cuda_impl {

/// The stored type of elements of type T if floats are stored as `Float`.
template <class T, class Float>
using stored_t = std::conditional_t<std::is_same_v<T, float>, Float, T>;

/// Calls f(Type<Float>{}) for a kernel that computes in T with tensors of dtype `type`: Float is a half type if `type` is
/// one, which requires T = float, and otherwise float, which then has no meaning.
template <class T, class F>
void dispatch_stored(ScalarType type, F f) {
  if constexpr (std::is_same_v<T, float>) {
    if (type == kHalf) return f(Type<Half>{});
    if (type == kBFloat16) return f(Type<BFloat16>{});
  }
  f(Type<float>{});
}

}  // namespace tandem::cuda_impl
