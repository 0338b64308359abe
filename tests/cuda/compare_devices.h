// Compares a kernel's results on the CPU and on CUDA.
#pragma once
#include <doctest/doctest.h>

#include <cmath>

#include "tandem/core/backend/backend.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"
#include "tandem/tests/cuda/skip.h"
#include "tandem/tests/cuda/tolerance.h"

namespace tandem {

inline Device cuda0() { return Device("cuda:0"); }

/// Equal shapes, dtypes and values within `tolerance` of max(1, |b|); NaN equals NaN.
inline bool near(const Tensor& a, const Tensor& b, double tolerance) {
  if (!(a.sizes() == b.sizes()) || a.dtype() != b.dtype()) return false;
  const Tensor x = a.to(kDouble).contiguous(), y = b.to(kDouble).contiguous();
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double u = x.ptr<double>()[i], v = y.ptr<double>()[i];
    if (u == v || (std::isnan(u) && std::isnan(v))) continue;
    if (!(std::abs(u - v) <= tolerance * std::max(1.0, std::abs(v)))) {
      MESSAGE("element ", i, " of ", x.numel(), ": ", u, " and ", v);
      return false;
    }
  }
  return true;
}
inline double tolerance_of(ScalarType type) {
  return unless_strict(type == kFloat ? 2e-5 : type == kDouble ? 1e-12 : 0);
}

/// A tensor with the strides of `like` on the first CUDA device, so kernels see the same layout on both.
inline Tensor to_cuda(const Tensor& like) {
  if (!like.defined()) return like;
  const int64_t n = static_cast<int64_t>(like.storage()->nbytes()) / like.element_size();
  const Tensor whole = alias(like, {n}, {1}, 0).to(cuda0());
  return alias(whole, like.sizes(), like.strides(), like.storage_offset());
}

}  // namespace tandem
